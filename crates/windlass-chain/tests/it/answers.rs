//! Answers as nodes give them.

use alloy_primitives::{Address, B256};
use serde_json::json;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, LogFilter};

use crate::server::{result, serve};

fn word(byte: u8) -> String {
    format!("0x{}", format!("{byte:02x}").repeat(32))
}

#[tokio::test]
async fn numbers_and_ids() {
    let server = serve(result(r#""0x89""#));
    assert_eq!(server.client().chain_id().await.expect("an id").as_u64(), 137);
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [] });
    assert_eq!(server.request(), asked);
    let server = serve(result(r#""0x4af4fa0""#));
    assert_eq!(server.client().block_number().await, Ok(78_598_048));
}

#[tokio::test]
async fn a_header_or_none() {
    let header = json!({
        "number": "0x10", "hash": word(1), "parentHash": word(2), "timestamp": "0x64",
        "logsBloom": format!("0x{}", "fe".repeat(256)), "receiptsRoot": word(3), "uncles": [], "size": "0x1",
    });
    let server = serve(result(&header.to_string()));
    let found = server.client().header(BlockTag::Number(16)).await.expect("an answer").expect("a header");
    assert_eq!((found.block.number, found.block.hash), (16, B256::repeat_byte(1)));
    assert_eq!(found.logs_bloom.as_slice(), [0xfe; 256]);
    assert_eq!(server.request()["params"], json!(["0x10", false]));

    let server = serve(result("null"));
    assert_eq!(server.client().header(BlockTag::Hash(B256::ZERO)).await, Ok(None));
}

#[tokio::test]
async fn logs_of_a_range_and_of_a_block() {
    let log = json!({
        "address": Address::repeat_byte(7), "blockHash": word(1), "blockNumber": "0x10", "data": "0x",
        "logIndex": "0x0", "removed": false, "topics": [word(9)], "transactionHash": word(2),
        "transactionIndex": "0x0", "blockTimestamp": "0x64",
    });
    let server = serve(result(&json!([log, log]).to_string()));
    let filter = LogFilter { addresses: vec![Address::repeat_byte(7)], topics: vec![] };
    let logs = server.client().logs(BlockRange { from: 1, to: 16 }, &filter).await.expect("logs");
    assert_eq!(logs.len(), 2);
    assert_eq!(logs[0].timestamp_s, Some(100));
    let asked = server.request();
    assert_eq!(asked["params"][0]["toBlock"], "0x10");
    assert_eq!(asked["params"][0]["address"], json!([Address::repeat_byte(7)]));

    let server = serve(result("[]"));
    assert_eq!(server.client().logs_by_hash(B256::repeat_byte(1), &LogFilter::default()).await, Ok(vec![]));
    assert_eq!(server.request()["params"][0], json!({ "blockHash": word(1) }));
}

#[tokio::test]
async fn code_balance_and_anything_else() {
    let server = serve(result(r#""0x6001""#));
    let code = server.client().code(Address::ZERO, BlockTag::Latest).await.expect("code");
    assert_eq!(code.as_ref(), [0x60, 0x01]);
    let server = serve(result(r#""0x10000000000000000""#));
    let balance = server.client().balance(Address::ZERO, BlockTag::Number(0)).await.expect("a balance");
    assert_eq!(balance.to_string(), "18446744073709551616");
    let server = serve(result(r#"{"any":1}"#));
    let params = serde_json::value::to_raw_value(&json!([1, "x"])).expect("json");
    let raw = server.client().raw("any_method", &params).await.expect("an answer");
    assert_eq!(raw.get(), r#"{"any":1}"#);
    assert_eq!(server.request()["params"], json!([1, "x"]));
}
