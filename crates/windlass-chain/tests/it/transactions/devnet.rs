//! The devnet through the port, without trouble.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use serde_json::{Value, json};
use windlass_chain::evm::PoolOptions;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{NonceTag, SendAnswer, TransactionChain};
use windlass_core::reader::{BlockTag, ChainErrorKind};
use windlass_devnet::chain::{Chain, ChainOptions};
use windlass_devnet::node::{Node, RpcError};

use super::payer::{Payer, plenty};
use super::vault;
use crate::served::{Served, Twisted, pool_of, serve_node};

async fn automatic() -> Served {
    serve_node(Arc::new(Chain::new(ChainOptions::default())), "").await
}

#[tokio::test]
async fn the_vault_pays_once_and_says_why_not() {
    vault::pays_once_and_says_why_not(&automatic().await.reader()).await;
}

#[tokio::test]
async fn the_vault_takes_approvals_through_a_pool() {
    let served = automatic().await;
    vault::takes_approvals(&pool_of(&[&served], PoolOptions::default())).await;
}

#[tokio::test]
async fn its_words_are_understood() {
    let chain = Chain::new(ChainOptions::deterministic());
    let served = serve_node(Arc::new(chain.clone()), "").await;
    let (reader, payer) = (served.reader(), Payer::new(2));
    let first = payer.small(0, plenty());
    assert_eq!(reader.send(&first.raw).await, [SendAnswer::Accepted]);
    assert_eq!(reader.send(&first.raw).await, [SendAnswer::Known]);
    let cheaper = GasFees { max_fee: 99_000_000_000, priority_fee: 1_000_000_000 };
    assert_eq!(reader.send(&payer.small(0, cheaper).raw).await, [SendAnswer::Underpriced]);
    let bumped = plenty().bumped(plenty(), u128::MAX).expect("no cap");
    assert_eq!(reader.send(&payer.small(0, bumped).raw).await, [SendAnswer::Accepted]);
    chain.mine();
    assert_eq!(reader.send(&first.raw).await, [SendAnswer::NonceTooLow]);
    let rich = GasFees { max_fee: u128::MAX >> 32, priority_fee: 1 };
    assert_eq!(reader.send(&payer.small(1, rich).raw).await, [SendAnswer::NoFunds]);
    let answer = reader.send(&vec![2, 1].into()).await;
    assert!(matches!(&answer[..], [SendAnswer::Refused(words)] if words.contains("rlp")), "{answer:?}");
}

#[tokio::test]
async fn receipts_and_accounts_at_a_block() {
    let chain = Chain::new(ChainOptions { finality_depth: 4, ..ChainOptions::deterministic() });
    let served = serve_node(Arc::new(chain.clone()), "").await;
    let (reader, payer) = (served.reader(), Payer::new(3));
    let sent = payer.small(0, plenty());
    reader.send(&sent.raw).await;
    assert_eq!(reader.receipt(sent.hash).await, Ok(None), "it waits");
    assert_eq!(reader.nonce(payer.address(), NonceTag::Pending).await, Ok(1));
    assert_eq!(reader.nonce(payer.address(), NonceTag::Block(BlockTag::Latest)).await, Ok(0));
    let block = chain.mine();
    let receipt = reader.receipt(sent.hash).await.expect("an answer").expect("mined");
    assert_eq!((receipt.block.number, receipt.block.hash), (block.number(), block.hash()));
    assert_eq!(reader.nonce(payer.address(), NonceTag::Block(BlockTag::Finalized)).await, Ok(0));
    chain.mine_many(4);
    assert_eq!(reader.nonce(payer.address(), NonceTag::Block(BlockTag::Finalized)).await, Ok(1));
    let at = BlockTag::Hash(chain.block(0).expect("genesis").hash());
    assert_eq!(reader.nonce(payer.address(), NonceTag::Block(at)).await, Ok(0));
    let balance = reader.balance(payer.address(), BlockTag::Latest).await.expect("a balance");
    assert_eq!(balance, chain.balance(payer.address()));
    assert!(reader.balance(payer.address(), at).await.expect("a balance") > balance);
    assert_eq!(reader.balance(Address::repeat_byte(9), BlockTag::Latest).await, Ok(U256::ZERO));
    for nowhere in [BlockTag::Hash(B256::repeat_byte(1)), BlockTag::Number(99)] {
        let error = reader.balance(payer.address(), nowhere).await.expect_err("no such block");
        assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
    }
}

/// A chain with tips of two gwei, of which some methods are not offered.
async fn without(methods: &'static [&'static str]) -> GasFees {
    let chain = Chain::new(ChainOptions::deterministic());
    for nonce in 0..3 {
        chain.send_raw(&Payer::new(1).small(nonce, plenty()).raw).expect("taken");
        chain.mine();
    }
    let refuse = move |method: &str, answer: Result<Value, RpcError>| {
        if methods.contains(&method) { Err(RpcError::method_not_found(method)) } else { answer }
    };
    let served = serve_node(Twisted::new(Arc::new(chain) as Arc<dyn Node>, refuse), "").await;
    served.reader().gas_fees().await.expect("fees")
}

#[tokio::test]
async fn fees_are_found_out_in_whatever_way_there_is() {
    let by_history = without(&[]).await;
    assert_eq!(by_history.priority_fee, 2_000_000_000, "what was paid");
    let by_proposal = without(&["eth_feeHistory"]).await;
    assert_eq!(by_proposal.priority_fee, 1_000_000_000, "what the node proposes");
    let by_price = without(&["eth_feeHistory", "eth_maxPriorityFeePerGas"]).await;
    assert_eq!(by_price, by_proposal, "what its price leaves beyond the base fee");
    let base_fee = (by_history.max_fee - by_history.priority_fee) / 2;
    assert!((500_000_000..1_000_000_000).contains(&base_fee), "{base_fee}");
}

/// Chains that have no base fee take what is offered as the price.
#[tokio::test]
async fn without_a_base_fee_the_price_is_the_tip() {
    let old =
        Twisted::new(Arc::new(Chain::new(ChainOptions::deterministic())), |method, answer| match method {
            "eth_feeHistory" | "eth_maxPriorityFeePerGas" => Err(RpcError::method_not_found(method)),
            "eth_gasPrice" => Ok(json!("0x7")),
            _ => answer.map(|mut block| {
                if let Some(fields) = block.as_object_mut() {
                    fields.remove("baseFeePerGas");
                }
                block
            }),
        });
    let served = serve_node(old, "").await;
    assert_eq!(served.reader().gas_fees().await, Ok(GasFees { max_fee: 7, priority_fee: 7 }));
}
