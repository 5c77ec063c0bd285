//! Logs: checked, in order, and with their times.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use alloy_primitives::B256;
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use windlass_chain::evm::{EvmPool, EvmReader, EvmRpc, PoolOptions};
use windlass_core::chain::BlockRef;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, LogFilter, LogSpan};
use windlass_devnet::node::{Announcement, Node, RpcError};
use windlass_devnet::synthetic::{Density, SyntheticNode, SyntheticOptions};

use crate::served::{Served, Twisted, all_its_logs, chain_id, pool_of, serve_node, synthetic};

const RANGE: LogSpan = LogSpan::Range(BlockRange { from: 1, to: 300 });

#[tokio::test]
async fn times_come_from_headers_where_logs_have_none() {
    for (with_timestamp, headers) in [(true, 0), (false, 60)] {
        let options = SyntheticOptions {
            blocks: 600,
            density: Density::EveryBlocks(5),
            with_timestamp,
            ..SyntheticOptions::default()
        };
        let node = Arc::new(SyntheticNode::new(options));
        let served = serve_node(Arc::<SyntheticNode>::clone(&node), "").await;
        let logs = served.reader().logs(RANGE, &all_its_logs()).await.expect("logs");
        assert_eq!(logs.len(), 60);
        for (log, number) in logs.iter().zip(0..) {
            let truth = node.log(number);
            assert_eq!((log.block.number, log.block.hash), (truth.block_number, truth.block_hash));
            assert_eq!(log.timestamp_s, truth.block_time_s);
        }
        assert_eq!(served.calls("eth_getBlockByHash"), headers, "one for each block that has logs");
    }
}

#[tokio::test]
async fn a_block_that_is_gone_when_its_time_is_asked_for() {
    let node = Twisted::new(synthetic(600, Density::PerBlock(1)), |method, answer| match method {
        "eth_getBlockByHash" => Ok(Value::Null),
        "eth_getLogs" => answer.map(|mut logs| {
            each(&mut logs, |log| log["blockTimestamp"] = Value::Null);
            logs
        }),
        _ => answer,
    });
    let served = serve_node(node, "").await;
    let error = served.reader().logs(RANGE, &all_its_logs()).await.expect_err("gone");
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock);
}

#[tokio::test]
async fn a_time_is_only_taken_from_the_right_header() {
    let node = Twisted::new(synthetic(600, Density::PerBlock(1)), |method, answer| {
        let mut value = answer?;
        match method {
            "eth_getBlockByHash" => value["hash"] = json!(B256::ZERO),
            "eth_getLogs" => each(&mut value, |log| log["blockTimestamp"] = Value::Null),
            _ => {}
        }
        Ok(value)
    });
    let served = serve_node(node, "").await;
    let error = served.reader().logs(RANGE, &all_its_logs()).await.expect_err("another header");
    assert_eq!(error.kind, ChainErrorKind::Malformed);
}

fn each(logs: &mut Value, change: impl Fn(&mut Value)) {
    logs.as_array_mut().expect("a list").iter_mut().for_each(change);
}

async fn twisted(change: fn(&mut Vec<Value>)) -> Served {
    let change = move |logs: &mut Value| change(logs.as_array_mut().expect("a list"));
    serve_node(Twisted::result_of(synthetic(600, Density::PerBlock(2)), "eth_getLogs", change), "").await
}

#[tokio::test]
async fn logs_are_put_in_order() {
    let served = twisted(|logs| logs.reverse()).await;
    let logs = served.reader().logs(RANGE, &all_its_logs()).await.expect("logs");
    assert_eq!(logs.len(), 600);
    assert!(logs.is_sorted_by_key(|log| (log.block.number, log.log_index)));
}

#[tokio::test]
async fn an_answer_to_another_question_is_refused() {
    for (change, words) in [
        ((|logs| logs[7]["blockNumber"] = "0x12d".into()) as fn(&mut Vec<Value>), "not asked for"),
        (|logs| logs[7]["address"] = json!(alloy_primitives::Address::ZERO), "the filter excludes"),
        (|logs| logs.push(logs[7].clone()), "twice"),
        (|logs| logs[7]["blockHash"] = json!(B256::ZERO), "two blocks"),
        (|logs| logs[7]["removed"] = true.into(), "removed"),
        (|logs| logs[7]["blockNumber"] = Value::Null, "makes no sense"),
    ] {
        let served = twisted(change).await;
        let error = served.reader().logs(RANGE, &all_its_logs()).await.expect_err(words);
        assert_eq!(error.kind, ChainErrorKind::Malformed, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.message.contains(&served.server.addr().to_string()), "{error}");
    }
}

#[tokio::test]
async fn logs_of_one_block_are_of_that_block() {
    let node = synthetic(600, Density::PerBlock(2));
    let (number, hash) = (node.log(20).block_number, node.log(20).block_hash);
    let span = LogSpan::Block(BlockRef { number, hash });
    let served = serve_node(Arc::<SyntheticNode>::clone(&node), "").await;
    let logs = served.reader().logs(span, &LogFilter::default()).await.expect("logs");
    assert_eq!(logs.len(), 2);
    for (field, lie) in [("blockHash", json!(B256::ZERO)), ("blockNumber", json!("0x7fff"))] {
        let other = Twisted::result_of(node.clone(), "eth_getLogs", move |logs| {
            each(logs, |log| log[field] = lie.clone());
        });
        let served = serve_node(other, "").await;
        let error = served.reader().logs(span, &LogFilter::default()).await.expect_err(field);
        assert_eq!(error.kind, ChainErrorKind::Malformed, "{field}: {error}");
    }
}

#[tokio::test]
async fn a_range_beyond_the_head_is_not_too_large_but_unknown() {
    let chain = windlass_devnet::chain::Chain::new(windlass_devnet::chain::ChainOptions::deterministic());
    let served = serve_node(Arc::new(chain), "").await;
    let error = served.reader().logs(RANGE, &LogFilter::default()).await.expect_err("beyond");
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
}

/// Refuses `eth_getLogs` by a block's hash while it is told to; everything else is as it should be.
struct NoBlockHash {
    node: Arc<SyntheticNode>,
    words: &'static str,
    is_refused: AtomicBool,
    refusals: AtomicU64,
}

impl NoBlockHash {
    fn new(words: &'static str) -> Arc<Self> {
        let (node, refusals) = (synthetic(600, Density::EveryBlocks(5)), AtomicU64::new(0));
        Arc::new(Self { node, words, is_refused: AtomicBool::new(true), refusals })
    }
}

impl Node for NoBlockHash {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let is_by_hash = params.is_some_and(|params| params.get().contains("blockHash"));
        if method == "eth_getLogs" && is_by_hash && self.is_refused.load(Ordering::Relaxed) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Err(RpcError::invalid_params(self.words));
        }
        self.node.call(method, params)
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.node.announcements()
    }
}

/// How many logs these blocks have, each asked for by its hash.
pub(crate) async fn logs_of(pool: &EvmPool, numbers: std::ops::RangeInclusive<u64>) -> usize {
    let mut found = 0;
    for number in numbers {
        let block = pool.header(BlockTag::Number(number)).await.expect("an answer").expect("a block").block;
        let logs = pool.logs(LogSpan::Block(block.block_ref()), &all_its_logs()).await.expect("logs");
        assert!(logs.iter().all(|log| log.block == block.block_ref()));
        found += logs.len();
    }
    found
}

#[tokio::test]
async fn the_words_of_a_refusal_do_not_tell_whether_the_block_hash_is_taken() {
    for words in ["no such luck", "filters by block hash are for others", "0"] {
        let node = NoBlockHash::new(words);
        let served = serve_node(Arc::<NoBlockHash>::clone(&node), "").await;
        let pool = pool_of(&[&served], PoolOptions::default());
        assert_eq!(logs_of(&pool, 1..=20).await, 4, "{words}");
        assert_eq!(node.refusals.load(Ordering::Relaxed), 3, "{words}");
    }
}

#[tokio::test]
async fn an_endpoint_that_refuses_block_hashes_later_is_asked_by_number_and_by_hash_again() {
    let node = NoBlockHash::new("not any more");
    node.is_refused.store(false, Ordering::Relaxed);
    let served = serve_node(Arc::<NoBlockHash>::clone(&node), "").await;
    let pool = pool_of(&[&served], PoolOptions::default());
    assert_eq!(logs_of(&pool, 1..=10).await, 2);
    node.is_refused.store(true, Ordering::Relaxed);
    assert_eq!(logs_of(&pool, 11..=30).await, 4);
    assert_eq!(node.refusals.load(Ordering::Relaxed), 3);
    let status = &pool.status()[0];
    assert_eq!((status.limited, status.healthy), (0, true), "{status:?}");
    logs_of(&pool, 31..=300).await;
    assert_eq!(node.refusals.load(Ordering::Relaxed), 4, "one in 256 is tried by hash");
    node.is_refused.store(false, Ordering::Relaxed);
    let before = served.calls("eth_getLogs");
    logs_of(&pool, 301..=580).await;
    assert!(served.calls("eth_getLogs") - before < 2 * 280, "by number, empty blocks cost two questions");
}

#[tokio::test]
async fn a_refusal_of_a_block_that_is_not_there_yet_is_told_as_an_unknown_block() {
    let node = NoBlockHash::new("unknown block");
    let served = serve_node(Arc::<NoBlockHash>::clone(&node), "").await;
    let reader = served.reader();
    let ahead = BlockRef { number: 9_000, hash: B256::repeat_byte(7) };
    let error = reader.logs(LogSpan::Block(ahead), &all_its_logs()).await.expect_err("it is not there yet");
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
}

#[tokio::test]
async fn an_endpoint_that_takes_no_block_hash_is_asked_by_number() {
    let node = NoBlockHash::new("unexpected field");
    let served = serve_node(Arc::<NoBlockHash>::clone(&node), "").await;
    let pool = pool_of(&[&served], PoolOptions::default());
    assert_eq!(logs_of(&pool, 1..=20).await, 4);
    assert_eq!(node.refusals.load(Ordering::Relaxed), 3, "it has been learned");
    let status = &pool.status()[0];
    assert_eq!((status.limited, status.healthy), (0, true), "{status:?}");
    // Another block at that height is not taken for the one that was asked for.
    for number in [5, 6] {
        let other = BlockRef { number, hash: B256::repeat_byte(7) };
        let error = pool.logs(LogSpan::Block(other), &all_its_logs()).await.expect_err("it is gone");
        assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
    }
}

#[tokio::test]
async fn a_range_is_of_the_chain_that_has_a_block() {
    let served = serve_node(synthetic(600, Density::PerBlock(1)), "").await;
    let url = served.server.http_url();
    let pool = EvmPool::new(&[&url], chain_id(), PoolOptions::default()).expect("a pool");
    let header = pool.header(BlockTag::Number(500)).await.expect("an answer").expect("a block");
    let blocks = BlockRange { from: 1, to: 20 };
    let of = |anchor| LogSpan::RangeOnChain { blocks, anchor };
    let anchor = header.block.block_ref();
    assert_eq!(pool.logs(of(anchor), &all_its_logs()).await.expect("logs").len(), 20);
    let other = BlockRef { hash: B256::repeat_byte(7), ..anchor };
    let ahead = BlockRef { number: 10_000, ..anchor };
    for anchor in [other, ahead] {
        let error = pool.logs(of(anchor), &all_its_logs()).await.expect_err("another chain");
        assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
    }
}

/// Ranges that are answered while the endpoint is asked for the block share the next question.
#[tokio::test]
async fn one_question_covers_the_ranges_that_were_answered_before_it() {
    let served = serve_node(synthetic(600, Density::PerBlock(1)), "latency=300ms@eth_getBlockByNumber").await;
    let rpc = EvmRpc::new(&served.server.http_url()).expect("a client");
    let reader = EvmReader::new(rpc, chain_id());
    let header = reader.header(BlockTag::Number(500)).await.expect("an answer").expect("a block");
    let (all, before) = (all_its_logs(), served.calls("eth_getBlockByNumber"));
    let asked = (0..10).map(|place| {
        let blocks = BlockRange { from: place * 20 + 1, to: place * 20 + 20 };
        reader.logs(LogSpan::RangeOnChain { blocks, anchor: header.block.block_ref() }, &all)
    });
    for logs in futures_util::future::join_all(asked).await {
        assert_eq!(logs.expect("logs").len(), 20);
    }
    let more = served.calls("eth_getBlockByNumber") - before;
    assert!((1..=5).contains(&more), "{more}");
}
