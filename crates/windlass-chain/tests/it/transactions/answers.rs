//! Answers as nodes give them, and those that are none.

use alloy_primitives::{Address, B256, Bytes, keccak256};
use serde_json::{Value, json};
use windlass_chain::evm::{MAX_SMALL_BODY_BYTES, RpcError};
use windlass_core::payout::submit::{Call, CallOutcome, GasEstimate, SendAnswer};
use windlass_core::reader::BlockTag;

use crate::server::{Server, error, http, result, serve};

const RAW: Bytes = Bytes::from_static(&[2, 0xc0]);

fn call() -> Call {
    Call { from: Address::repeat_byte(1), to: Some(Address::repeat_byte(2)), data: RAW }
}

/// A JSON-RPC error as it is.
fn refusing(error: &Value) -> Server {
    serve(http("200 OK", "", &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)))
}

#[tokio::test]
async fn a_call_is_asked_for_in_fields_that_every_node_knows() {
    let server = serve(result(r#""0x0102""#));
    let outcome = server.client().call_contract(&call(), BlockTag::Finalized).await;
    assert_eq!(outcome, Ok(CallOutcome::Returned(Bytes::from_static(&[1, 2]))));
    let asked = json!({ "from": call().from, "to": call().to, "data": "0x02c0" });
    assert_eq!(server.request()["params"], json!([asked, "finalized"]));
    let server = serve(result(r#""0x5208""#));
    assert_eq!(server.client().estimate_gas(&call()).await, Ok(GasEstimate::Gas(21_000)));
    assert_eq!(server.request()["params"], json!([asked]));
}

#[tokio::test]
async fn a_revert_is_an_answer_and_keeps_no_key() {
    let told = json!({ "code": 3, "message": "execution reverted: rate limit of hunter2hunter2", "data": "0xd93c0665" });
    let outcome = refusing(&told).client().call_contract(&call(), BlockTag::Latest).await;
    let data = Bytes::from_static(&[0xd9, 0x3c, 0x06, 0x65]);
    let message = "execution reverted: rate limit of ***".to_owned();
    assert_eq!(outcome, Ok(CallOutcome::Reverted { data: data.clone(), message }));
    let told = json!({ "code": -32015, "message": "VM execution error.", "data": "Reverted 0xd93c0665" });
    let outcome = refusing(&told).client().estimate_gas(&call()).await;
    assert_eq!(outcome, Ok(GasEstimate::Reverted { data, message: "VM execution error.".to_owned() }));
}

#[tokio::test]
async fn other_errors_of_a_call_are_errors() {
    let server = serve(error("200 OK", -32000, "out of gas"));
    let failed = server.client().call_contract(&call(), BlockTag::Latest).await;
    assert!(matches!(failed, Err(RpcError::Refused { code: -32000, .. })), "{failed:?}");
    let limited = serve(error("429 Too Many Requests", -32005, "limit")).client().estimate_gas(&call()).await;
    assert!(matches!(limited, Err(RpcError::RateLimited { .. })), "{limited:?}");
    for nothing in ["null", r#""0x0""#, "7"] {
        let strange = serve(result(nothing)).client().call_contract(&call(), BlockTag::Latest).await;
        assert!(matches!(strange, Err(RpcError::Malformed { .. })), "{nothing}: {strange:?}");
    }
}

#[tokio::test]
async fn a_transaction_was_taken_only_if_its_own_hash_is_told() {
    let server = serve(result(&json!(keccak256(RAW)).to_string()));
    assert_eq!(server.client().send_transaction(&RAW).await, Ok(SendAnswer::Accepted));
    let asked = server.request();
    assert_eq!((&asked["method"], &asked["params"]), (&json!("eth_sendRawTransaction"), &json!(["0x02c0"])));
    for other in [json!(B256::ZERO), json!("0x"), json!(true), Value::Null] {
        let strange = serve(result(&other.to_string())).client().send_transaction(&RAW).await;
        assert!(matches!(strange, Err(RpcError::Malformed { .. })), "{other}: {strange:?}");
    }
}

#[tokio::test]
async fn what_is_said_to_a_transaction_is_read_whatever_the_status_and_code() {
    for (status, code, words, answer) in [
        ("200 OK", -32000, "already known", SendAnswer::Known),
        ("400 Bad Request", -32003, "transaction already imported", SendAnswer::Known),
        ("500 Internal Server Error", -32005, "nonce too low", SendAnswer::NonceTooLow),
        ("200 OK", -32010, "ReplacementNotAllowed", SendAnswer::Underpriced),
        ("200 OK", -32601, "no plan for hunter2hunter2", SendAnswer::Refused("no plan for ***".to_owned())),
    ] {
        let said = serve(error(status, code, words)).client().send_transaction(&RAW).await;
        assert_eq!(said, Ok(answer), "{words}");
    }
    let limited = serve(error("200 OK", -32005, "daily request limit")).client().send_transaction(&RAW).await;
    assert!(matches!(limited, Err(RpcError::RateLimited { .. })), "{limited:?}");
}

#[tokio::test]
async fn anothers_receipt_is_none() {
    let receipt = |hash: B256| json!({ "transactionHash": hash, "blockHash": B256::ZERO, "blockNumber": "0x1", "status": "0x1", "gasUsed": "0x1" });
    let (ours, other) = (B256::repeat_byte(1), B256::repeat_byte(2));
    let found = serve(result(&receipt(ours).to_string())).client().transaction_receipt(ours).await;
    assert!(found.expect("an answer").is_some_and(|receipt| receipt.is_success));
    let strange = serve(result(&receipt(other).to_string())).client().transaction_receipt(ours).await;
    assert!(matches!(strange, Err(RpcError::Malformed { .. })), "{strange:?}");
    assert_eq!(serve(result("null")).client().transaction_receipt(ours).await, Ok(None));
    let long = format!("{}{}", " ".repeat(MAX_SMALL_BODY_BYTES), receipt(ours));
    let found = serve(result(&long)).client().transaction_receipt(ours).await;
    assert!(found.expect("an answer").is_some(), "a batch has many logs");
}
