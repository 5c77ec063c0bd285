//! Refusals and failures, and what is said about trying again.

use std::net::TcpListener;
use std::time::Duration;

use windlass_chain::evm::{EvmRpc, MAX_SMALL_BODY_BYTES, RangeAdvice, RpcError};
use windlass_core::code::Code;
use windlass_core::error::RetryAdvice;
use windlass_core::range::BlockRange;
use windlass_core::reader::LogFilter;

use crate::server::{NOBODY, answer, error, http, install_tls, result, serve};

async fn failure(answer: impl Into<Vec<u8>>) -> RpcError {
    let error = serve(answer).client().chain_id().await.expect_err("refused");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    error
}

async fn log_failure(answer: String) -> RpcError {
    let range = BlockRange { from: 0, to: 9_999 };
    serve(answer).client().logs(range, &LogFilter::default()).await.expect_err("refused")
}

#[tokio::test]
async fn a_rate_limit_says_how_long_to_wait() {
    let error = failure(http("429 Too Many Requests", "retry-after: 7\r\n", "slow down")).await;
    assert_eq!(error.retry(), RetryAdvice::After(Duration::from_secs(7)));
    assert_eq!(error.code(), Code::RpcLimited);
}

#[tokio::test]
async fn a_rate_limit_in_the_body_is_one_too() {
    for (code, words) in [(-32005, "limit"), (429, "no"), (-32000, "Too Many Requests for this key")] {
        let error = failure(error("200 OK", code, words)).await;
        assert!(matches!(error, RpcError::RateLimited { retry_after: None, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_range_that_is_too_large_comes_with_the_providers_advice() {
    let error = log_failure(error("400 Bad Request", -32602, "Try with this block range [0x0, 0xff].")).await;
    let RpcError::RangeTooLarge { advice, .. } = error else { panic!("{error:?}") };
    assert_eq!(advice, RangeAdvice::Range(BlockRange { from: 0, to: 255 }));
}

#[tokio::test]
async fn a_refusal_keeps_its_words_and_loses_the_key() {
    let error = failure(error("200 OK", -32600, "no plan for hunter2hunter2")).await;
    assert_eq!(error.retry(), RetryAdvice::Never);
    assert!(error.to_string().ends_with("refused eth_chainId: no plan for *** (code -32600)"), "{error}");
}

/// What a user part becomes on the wire is no more to be shown than the part itself.
#[tokio::test]
async fn a_provider_that_repeats_the_authorization_gives_nothing_away() {
    let server = answer(|head| {
        let sent = head.lines().find(|line| line.to_lowercase().starts_with("authorization:"));
        error("200 OK", -32600, sent.expect("credentials")).into()
    });
    let client = EvmRpc::new(&server.url.replace("://", "://me:hunter2@")).expect("a client");
    let refused = client.chain_id().await.expect_err("refused").to_string().to_lowercase();
    assert!(refused.ends_with("authorization: basic *** (code -32600)"), "{refused}");
}

#[tokio::test]
async fn statuses_without_a_reason() {
    for (status, retried) in [("401 Unauthorized", false), ("503 Service Unavailable", true)] {
        let error = failure(http(status, "", "<html>")).await;
        assert!(matches!(error, RpcError::Status { .. }), "{error:?}");
        assert_eq!(matches!(error.retry(), RetryAdvice::After(_)), retried, "{status}");
    }
}

#[tokio::test]
async fn answers_that_make_no_sense() {
    for body in ["", "<html>", "[]", r#"{"result":17}"#, r#"{"result":"0xzz"}"#, r#"{"result":null}"#, "{}"] {
        let error = failure(http("200 OK", "", body)).await;
        assert!(matches!(error, RpcError::Malformed { .. }), "{body}: {error:?}");
    }
    assert!(matches!(failure(result(r#""0x0""#)).await, RpcError::Malformed { .. }));
}

#[tokio::test]
async fn an_answer_to_another_call_is_none() {
    for body in [
        r#"{"jsonrpc":"2.0","id":2,"result":"0x1"}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":"0x1"}"#,
        r#"{"jsonrpc":"2.0","result":"0x1"}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"no"}}"#,
    ] {
        let error = failure(http("200 OK", "", body)).await;
        assert!(matches!(error, RpcError::Malformed { .. }), "{body}: {error:?}");
    }
    let unread = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    assert!(matches!(failure(http("200 OK", "", unread)).await, RpcError::Refused { code: -32700, .. }));
}

#[tokio::test]
async fn a_number_may_not_be_as_long_as_logs() {
    let number = result(&format!("{}\"0x1\"", " ".repeat(MAX_SMALL_BODY_BYTES)));
    let error = failure(number).await;
    assert!(matches!(error, RpcError::BodyTooLarge { limit_bytes: MAX_SMALL_BODY_BYTES, .. }), "{error:?}");
    let range = BlockRange { from: 0, to: 0 };
    let logs = result(&format!("{}[]", " ".repeat(MAX_SMALL_BODY_BYTES)));
    assert_eq!(serve(logs).client().logs(range, &LogFilter::default()).await, Ok(vec![]));
}

#[tokio::test]
async fn a_connection_that_breaks_or_never_was() {
    let whole = result(r#""0x1""#);
    let cut = &whole.as_bytes()[..whole.len() - 5];
    assert!(matches!(failure(cut).await, RpcError::Connection { was_connected: true, .. }));
    let nobody = EvmRpc::new(&format!("http://{NOBODY}/hunter2hunter2")).expect("a client");
    let error = nobody.chain_id().await.expect_err("nobody listens");
    assert!(matches!(error, RpcError::Connection { was_connected: false, .. }), "{error:?}");
    assert_eq!(error.code(), Code::RpcUnreachable);
    assert!(error.to_string().starts_with(&format!("http://{NOBODY}/*** cannot be reached: ")), "{error}");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_not_waited_for() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    install_tls();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().expect("an address").port());
    let client = EvmRpc::with_timeout(&url, Duration::from_millis(50)).expect("a client");
    assert!(matches!(client.chain_id().await, Err(RpcError::Timeout { limit_ms: 50, .. })));
}
