//! Foundry's anvil through the port: its words, its reverts, its receipts.

use alloy_primitives::{Address, B256, U256};
use windlass_chain::evm::{EvmPool, EvmReader, EvmRpc, PoolOptions};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{NonceTag, SendAnswer, TransactionChain};
use windlass_core::reader::BlockTag;
use windlass_testkit::foundry::Anvil;

use crate::served::chain_id;
use crate::server::install_tls;
use crate::transactions::payer::{Payer, plenty};
use crate::transactions::vault;

fn reader(anvil: &Anvil) -> EvmReader {
    install_tls();
    EvmReader::new(EvmRpc::new(&anvil.url).expect("a client"), chain_id())
}

#[tokio::test]
async fn the_vault_pays_once_and_says_why_not() {
    let anvil = Anvil::start(&[]);
    vault::pays_once_and_says_why_not(&reader(&anvil)).await;
}

#[tokio::test]
async fn the_vault_takes_approvals_through_a_pool() {
    let anvil = Anvil::start(&[]);
    install_tls();
    let pool = EvmPool::new(&[&anvil.url], chain_id(), PoolOptions::default()).expect("a pool");
    vault::takes_approvals(&pool).await;
}

#[tokio::test]
async fn its_words_are_understood() {
    let anvil = Anvil::start(&["--no-mining"]);
    let chain = reader(&anvil);
    let payer = Payer::new(2);
    let first = payer.small(0, plenty());
    assert_eq!(chain.send(&first.raw).await, [SendAnswer::Accepted]);
    assert_eq!(chain.send(&first.raw).await, [SendAnswer::Known]);
    let cheaper = GasFees { max_fee: 99_000_000_000, priority_fee: 1_000_000_000 };
    assert_eq!(chain.send(&payer.small(0, cheaper).raw).await, [SendAnswer::Underpriced]);
    assert_eq!(chain.nonce(payer.address(), NonceTag::Pending).await, Ok(1));
    assert_eq!(chain.nonce(payer.address(), NonceTag::Block(BlockTag::Latest)).await, Ok(0));
    assert_eq!(chain.receipt(first.hash).await, Ok(None), "it waits");

    let mine = serde_json::value::to_raw_value(&serde_json::json!([])).expect("json");
    EvmRpc::new(&anvil.url).expect("a client").raw("evm_mine", &mine).await.expect("a block");
    let receipt = chain.receipt(first.hash).await.expect("an answer").expect("mined");
    assert!(receipt.is_success && receipt.gas_used == 21_000 && receipt.contract.is_none(), "{receipt:?}");
    assert_eq!(chain.send(&payer.small(0, cheaper).raw).await, [SendAnswer::NonceTooLow]);
    let rich = GasFees { max_fee: u128::MAX >> 32, priority_fee: 1 };
    assert_eq!(chain.send(&payer.small(1, rich).raw).await, [SendAnswer::NoFunds]);
    assert_eq!(chain.receipt(B256::ZERO).await, Ok(None));
    let balance = chain.balance(Address::repeat_byte(0x99), BlockTag::Latest).await;
    assert_eq!(balance, Ok(U256::ZERO));
}
