//! Gateways that fail at `eth_getLogs` by `blockHash`, each in a way of its own, or ignore the field.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use axum::Json;
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use windlass_chain::evm::{EvmPool, EvmReader, EvmRpc, PoolOptions};
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, LogSpan};
use windlass_devnet::synthetic::Density;

use crate::gateway;
use crate::logs::logs_of;
use crate::served::{Served, all_its_logs, chain_id, serve_node, synthetic};

/// What a gateway answers to a question.
type Failure = fn(&Value) -> Response;

const FAILURES: [(&str, Failure); 7] = [
    ("status 400", |_| StatusCode::BAD_REQUEST.into_response()),
    ("status 403", |_| StatusCode::FORBIDDEN.into_response()),
    ("status 404", |_| StatusCode::NOT_FOUND.into_response()),
    ("status 500", |_| StatusCode::INTERNAL_SERVER_ERROR.into_response()),
    ("no JSON", |_| "<html>".into_response()),
    ("no result", |question| result(question, Value::Null)),
    ("a connection that breaks", |_| {
        let cut = [Ok(Bytes::from_static(b"{")), Err(io::Error::other("cut"))];
        Response::new(Body::from_stream(stream::iter(cut)))
    }),
];

fn result(question: &Value, result: Value) -> Response {
    Json(json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).into_response()
}

fn is_by_hash(question: &Value) -> bool {
    question["method"] == "eth_getLogs" && question["params"][0].get("blockHash").is_some()
}

/// A gateway that gives an answer of its own to certain questions while it is told to, and counts
/// them.
struct Faulty {
    served: Served,
    url: String,
    is_faulty: Arc<AtomicBool>,
    count: Arc<AtomicU64>,
}

impl Faulty {
    async fn new(density: Density, is_meant: fn(&Value) -> bool, failure: Failure) -> Self {
        let served = serve_node(synthetic(600, density), "").await;
        let (is_faulty, count) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let (now, counted) = (Arc::clone(&is_faulty), Arc::clone(&count));
        let own_answer = move |question: &Value| {
            let is_answered = is_meant(question) && now.load(Ordering::Relaxed);
            is_answered.then(|| {
                counted.fetch_add(1, Ordering::Relaxed);
                failure(question)
            })
        };
        let url = gateway::start_answering(&served.server.http_url(), own_answer).await;
        Self { served, url, is_faulty, count }
    }

    fn pool(&self) -> EvmPool {
        EvmPool::new(&[&self.url], chain_id(), PoolOptions::default()).expect("a pool")
    }

    /// How many questions it has answered itself.
    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn whatever_fails_by_block_hash_and_not_by_number_is_asked_by_number() {
    for (what, failure) in FAILURES {
        let faulty = Faulty::new(Density::EveryBlocks(5), is_by_hash, failure).await;
        let pool = faulty.pool();
        assert_eq!(logs_of(&pool, 1..=20).await, 4, "{what}");
        assert_eq!(faulty.count(), 3, "{what}: it has been learned");
        let status = &pool.status()[0];
        assert_eq!((status.healthy, status.errors), (true, 0), "{what}: {status:?}");
    }
}

/// How many logs these blocks have, whose headers are known.
async fn logs_of_headers(pool: &EvmPool, numbers: std::ops::RangeInclusive<u64>) -> usize {
    let mut found = 0;
    for number in numbers {
        let header = pool.header(BlockTag::Number(number)).await.expect("an answer").expect("a block");
        found += pool.block_logs(&header, &all_its_logs()).await.expect("logs").len();
    }
    found
}

#[tokio::test]
async fn an_endpoint_that_has_no_logs_by_block_hash_against_the_bloom_is_asked_by_number() {
    let none: Failure = |question| result(question, json!([]));
    let faulty = Faulty::new(Density::PerBlock(1), is_by_hash, none).await;
    let pool = faulty.pool();
    assert_eq!(logs_of_headers(&pool, 1..=20).await, 20);
    assert_eq!(faulty.count(), 3, "it has been learned");
    assert_eq!(faulty.served.calls("eth_getLogs"), 20, "nothing is asked twice");
    assert_eq!(logs_of(&pool, 21..=40).await, 20, "nor where the header is not known");
    assert_eq!(faulty.count(), 3);
}

#[tokio::test]
async fn an_endpoint_that_begins_to_ignore_block_hashes_is_found_out() {
    let none: Failure = |question| result(question, json!([]));
    let faulty = Faulty::new(Density::PerBlock(1), is_by_hash, none).await;
    faulty.is_faulty.store(false, Ordering::Relaxed);
    let pool = faulty.pool();
    assert_eq!(logs_of_headers(&pool, 1..=3).await, 3);
    faulty.is_faulty.store(true, Ordering::Relaxed);
    assert_eq!(logs_of_headers(&pool, 4..=20).await, 17);
    assert_eq!(faulty.count(), 4, "one question more: its word was good before");
}

#[tokio::test]
async fn an_endpoint_that_ignores_block_hashes_is_not_called_false_beside_another() {
    let none: Failure = |question| result(question, json!([]));
    let faulty = Faulty::new(Density::PerBlock(1), is_by_hash, none).await;
    let urls = [faulty.url.clone(), faulty.served.server.http_url()];
    let pool = EvmPool::new(&urls, chain_id(), PoolOptions::default()).expect("a pool");
    assert_eq!(logs_of_headers(&pool, 1..=60).await, 60);
    assert_eq!(pool.status().iter().map(|status| status.false_answers).sum::<u64>(), 0);
}

fn unknown_block(question: &Value) -> Response {
    let error = json!({ "code": -32000, "message": "unknown block" });
    Json(json!({ "jsonrpc": "2.0", "id": question["id"], "error": error })).into_response()
}

#[tokio::test]
async fn an_endpoint_that_calls_every_block_hash_unknown_is_asked_by_number_in_the_end() {
    let faulty = Faulty::new(Density::EveryBlocks(5), is_by_hash, unknown_block).await;
    let pool = faulty.pool();
    let (mut found, mut refused) = (0, 0);
    for number in 1..=40 {
        let header = pool.header(BlockTag::Number(number)).await.expect("an answer").expect("a block");
        let span = LogSpan::Block(header.block.block_ref());
        for _ in 0..20 {
            match pool.logs(span, &all_its_logs()).await {
                Ok(logs) => {
                    found += logs.len();
                    break;
                }
                Err(error) => {
                    assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert_eq!(found, 8);
    assert!(refused <= 10, "{refused}");
    assert!(faulty.count() <= 20, "it has been learned: {}", faulty.count());
}

/// Of two nodes behind one URL the one that is asked for logs has fallen behind.
#[tokio::test]
async fn no_logs_by_number_are_no_answer_where_the_block_is_unknown_by_hash() {
    let is_about_logs: fn(&Value) -> bool = |question| question["method"] == "eth_getLogs";
    let lagging: Failure = |question| match is_by_hash(question) {
        true => unknown_block(question),
        false => result(question, json!([])),
    };
    for has_answered_before in [true, false] {
        let faulty = Faulty::new(Density::PerBlock(1), is_about_logs, lagging).await;
        let pool = faulty.pool();
        if has_answered_before {
            faulty.is_faulty.store(false, Ordering::Relaxed);
            assert_eq!(logs_of(&pool, 1..=2).await, 2);
            faulty.is_faulty.store(true, Ordering::Relaxed);
        }
        for number in 3..=7 {
            let header = pool.header(BlockTag::Number(number)).await.expect("an answer").expect("a block");
            let logs = pool.logs(LogSpan::Block(header.block.block_ref()), &all_its_logs()).await;
            assert_eq!(logs.expect_err("nobody knows the block").kind, ChainErrorKind::UnknownBlock);
        }
        faulty.is_faulty.store(false, Ordering::Relaxed);
        assert_eq!(logs_of(&pool, 3..=20).await, 18);
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_at_all_logs_is_seldom_asked_twice() {
    let is_about_logs: fn(&Value) -> bool = |question| question["method"] == "eth_getLogs";
    let failure: Failure = |_| StatusCode::INTERNAL_SERVER_ERROR.into_response();
    let faulty = Faulty::new(Density::PerBlock(1), is_about_logs, failure).await;
    let reader = EvmReader::new(EvmRpc::new(&faulty.url).expect("a client"), chain_id());
    let header = reader.header(BlockTag::Number(7)).await.expect("an answer").expect("a block");
    let span = LogSpan::Block(header.block.block_ref());
    for _ in 0..80 {
        let error = reader.logs(span, &all_its_logs()).await.expect_err("it fails");
        assert_eq!(error.kind, ChainErrorKind::Unreachable, "{error}");
    }
    assert_eq!(faulty.count(), 80 + 12);
}
