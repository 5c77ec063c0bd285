//! Receipts hash to what their header says, and to nothing else.

use std::sync::Arc;

use alloy_consensus::{TxEip1559, TxEip2930, TxEip7702, TxLegacy};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use serde_json::Value;
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan};
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount};
use windlass_devnet::synthetic::Density;

use crate::served::{Twisted, serve_node, synthetic};

const FEE: u128 = 100_000_000_000;

/// Logs its first word as a topic, and fails if there is none: JUMPI over INVALID.
const LOGGER: &[u8] = &hex!("600c600c600039600c6000f336600557fe5b5f355f5fa100");

/// A chain with transactions of every type it can make, some of which fail.
fn chain() -> Chain {
    let chain = Chain::new(ChainOptions::deterministic());
    let accounts = chain.accounts();
    let logger = chain.deploy(&accounts[0], Bytes::from_static(LOGGER)).expect("deployed");
    chain.mine();
    for round in 0..6_u8 {
        for account in &accounts[1..=usize::from(round % 4) + 1] {
            send_each_type(&chain, account, logger, round);
        }
        chain.mine();
        chain.mine();
    }
    chain
}

fn send_each_type(chain: &Chain, account: &DevAccount, logger: Address, round: u8) {
    let chain_id = chain.chain_id();
    let input = |at: u8| Bytes::copy_from_slice(&B256::repeat_byte(round * 16 + at)[..]);
    let (to, gas_limit) = (TxKind::Call(logger), 200_000);
    let nonce = || chain.next_nonce(account.address());
    let send = |tx| chain.send(tx).expect("accepted");
    send(
        account
            .sign_any(TxLegacy {
                chain_id: Some(chain_id),
                nonce: nonce(),
                gas_price: FEE,
                gas_limit,
                to,
                value: U256::ZERO,
                input: input(0),
            })
            .expect("signed"),
    );
    let access_list = AccessList(vec![AccessListItem { address: logger, storage_keys: vec![B256::ZERO] }]);
    send(
        account
            .sign_any(TxEip2930 {
                chain_id,
                nonce: nonce(),
                gas_price: FEE,
                gas_limit,
                to,
                value: U256::ZERO,
                access_list,
                input: input(1),
            })
            .expect("signed"),
    );
    let plain = TxEip1559 {
        chain_id,
        gas_limit,
        max_fee_per_gas: FEE,
        max_priority_fee_per_gas: 1,
        to,
        ..TxEip1559::default()
    };
    send(account.sign(TxEip1559 { nonce: nonce(), input: input(2), ..plain.clone() }).expect("signed"));
    send(account.sign(TxEip1559 { nonce: nonce(), ..plain }).expect("signed"));
    send(
        account
            .sign_any(TxEip7702 {
                chain_id,
                nonce: nonce(),
                gas_limit,
                max_fee_per_gas: FEE,
                max_priority_fee_per_gas: 1,
                to: logger,
                authorization_list: vec![nobodys_authorization(chain_id)],
                input: input(3),
                ..TxEip7702::default()
            })
            .expect("signed"),
    );
}

/// One that is skipped, since nobody has signed it: the type is what matters here.
fn nobodys_authorization(chain_id: u64) -> SignedAuthorization {
    let authorization = Authorization { chain_id: U256::from(chain_id), address: Address::ZERO, nonce: 0 };
    authorization.into_signed(Signature::test_signature())
}

async fn header(reader: &impl ChainReader, number: u64) -> Header {
    reader.header(BlockTag::Number(number)).await.expect("an answer").expect("a header")
}

#[tokio::test]
async fn receipts_of_every_block_hash_to_the_headers_root() {
    let chain = chain();
    let served = serve_node(Arc::new(chain.clone()), "").await;
    let reader = served.reader();
    let mut types = std::collections::BTreeSet::new();
    let mut logged = 0;
    for number in 0..=chain.head().number() {
        let header = header(&reader, number).await;
        let receipts = reader.receipts(&header.block).await.expect("an answer").expect("receipts");
        assert_eq!(receipts.root, header.receipts_root, "block {number}");
        let span = LogSpan::Block(header.block.block_ref());
        let logs = reader.logs(span, &LogFilter::default()).await.expect("logs");
        assert_eq!(receipts.logs, logs, "block {number}");
        logged += logs.len();
        let block = chain.block(number).expect("a block");
        types.extend(block.transactions.iter().map(|tx| tx.signed().inner().tx_type() as u8));
    }
    assert_eq!(types.into_iter().collect::<Vec<_>>(), [0, 1, 2, 4], "all the devnet makes");
    assert!(logged > 40, "{logged}");
}

#[tokio::test]
async fn what_was_altered_hashes_to_something_else() {
    for change in [
        (|receipts: &mut Vec<Value>| {
            receipts[0]["logs"][0]["topics"][0] = serde_json::json!(B256::repeat_byte(0xee))
        }) as fn(&mut Vec<Value>),
        |receipts| receipts[0]["logs"][0]["data"] = "0x00".into(),
        |receipts| receipts[0]["logs"] = Value::Array(vec![]),
        |receipts| receipts[0]["status"] = "0x0".into(),
        |receipts| drop(receipts.pop()),
    ] {
        let change = move |value: &mut Value| {
            if let Some(list) = value.as_array_mut().filter(|list| list.len() > 1) {
                change(list);
            }
        };
        let served =
            serve_node(Twisted::result_of(Arc::new(chain()), "eth_getBlockReceipts", change), "").await;
        let reader = served.reader();
        let header = header(&reader, 2).await;
        let receipts = reader.receipts(&header.block).await.expect("an answer").expect("receipts");
        assert_ne!(receipts.root, header.receipts_root);
    }
}

#[tokio::test]
async fn a_node_that_cannot_tell_says_none() {
    let served = serve_node(Arc::new(chain()), "nullreceipts=1").await;
    let reader = served.reader();
    let block = header(&reader, 2).await.block;
    assert_eq!(reader.receipts(&block).await, Ok(None));
    assert_eq!(reader.receipts(&block).await, Ok(None));
    assert_eq!(served.calls("eth_getBlockReceipts"), 2, "that may pass");

    let served = serve_node(synthetic(10, Density::PerBlock(1)), "").await;
    let reader = served.reader();
    let block = header(&reader, 2).await.block;
    for _ in 0..5 {
        assert_eq!(reader.receipts(&block).await, Ok(None));
    }
    assert_eq!(served.calls("eth_getBlockReceipts"), 1, "a method that is not there is not asked for again");
}

#[tokio::test]
async fn an_unknown_type_is_no_root() {
    let change = |receipts: &mut Value| receipts[0]["type"] = "0x6a".into();
    let served = serve_node(Twisted::result_of(Arc::new(chain()), "eth_getBlockReceipts", change), "").await;
    let reader = served.reader();
    let block = header(&reader, 2).await.block;
    assert_eq!(reader.receipts(&block).await, Ok(None));
}

#[tokio::test]
async fn receipts_of_a_block_that_was_replaced_are_not_passed_off() {
    let chain = chain();
    let served = serve_node(Arc::new(chain.clone()), "").await;
    let reader = served.reader();
    let mut block = header(&reader, 2).await.block;
    block.hash = B256::repeat_byte(1);
    let error = reader.receipts(&block).await.expect_err("another block");
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock);
}
