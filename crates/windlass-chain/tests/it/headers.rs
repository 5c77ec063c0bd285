//! Many headers in few messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_chain::evm::{EvmReader, EvmRpc};
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader};
use windlass_devnet::chain::{Chain, ChainOptions};
use windlass_devnet::faults::Kind;
use windlass_devnet::node::RpcError;
use windlass_devnet::synthetic::Density;

use crate::gateway;
use crate::served::{Twisted, chain_id, serve_node, synthetic};

/// Every third block, some beyond the head, and in no order.
fn numbers() -> Vec<u64> {
    (0..220).map(|at| (at * 97) % 660).collect()
}

async fn check(reader: &impl ChainReader) {
    let wanted = numbers();
    let found = reader.headers(&wanted).await.expect("headers");
    assert_eq!(found.len(), wanted.len());
    for (number, header) in wanted.into_iter().zip(found) {
        assert_eq!(header.map(|header| header.block.number), (number <= 600).then_some(number));
    }
}

#[tokio::test]
async fn headers_come_in_the_order_of_the_numbers() {
    let served = serve_node(synthetic(600, Density::PerBlock(1)), "").await;
    check(&served.reader()).await;
    assert_eq!(served.calls("eth_getBlockByNumber"), 220, "nothing is asked twice");
    assert_eq!(served.reader().headers(&[]).await, Ok(vec![]));
}

#[tokio::test]
async fn a_provider_that_takes_few_calls_at_once_is_given_few() {
    for limit in [1, 7, 30] {
        let served = serve_node(synthetic(600, Density::PerBlock(1)), &format!("batch={limit}")).await;
        let reader = served.reader();
        for _ in 0..8 {
            check(&reader).await;
        }
        let refusals = served.faults.counts().get(Kind::BatchLimit);
        assert!((1..=40).contains(&refusals), "limit {limit}: {refusals}");
        check(&reader).await;
        assert_eq!(served.faults.counts().get(Kind::BatchLimit), refusals, "limit {limit} is known by now");
    }
}

#[tokio::test]
async fn a_call_that_fails_alone_is_made_again_alone() {
    let calls = AtomicU64::new(0);
    let node = Twisted::new(synthetic(600, Density::PerBlock(1)), move |_, answer| {
        match calls.fetch_add(1, Ordering::Relaxed) {
            5 => Err(RpcError::server("not now")),
            _ => answer,
        }
    });
    let served = serve_node(node, "").await;
    check(&served.reader()).await;
    assert_eq!(served.calls("eth_getBlockByNumber"), 221);
}

#[tokio::test]
async fn a_rate_limit_within_a_batch_is_one() {
    let served = serve_node(synthetic(600, Density::PerBlock(1)), "ratelimit=0.2").await;
    let error = served.reader().headers(&numbers()).await.expect_err("limited");
    assert_eq!(error.kind, ChainErrorKind::RateLimited);
}

#[tokio::test]
async fn a_header_of_another_block_is_refused() {
    let node = Twisted::result_of(synthetic(600, Density::PerBlock(1)), "eth_getBlockByNumber", |header| {
        if header["number"] == "0x5" {
            header["number"] = "0x6".into();
        }
    });
    let served = serve_node(node, "").await;
    let reader = served.reader();
    let error = reader.headers(&[4, 5]).await.expect_err("another block");
    assert_eq!(error.kind, ChainErrorKind::Malformed);
    assert!(error.message.contains(&served.server.addr().to_string()), "{error}");
    assert_eq!(
        reader.header(BlockTag::Number(5)).await.expect_err("another").kind,
        ChainErrorKind::Malformed
    );
    assert!(reader.header(BlockTag::Number(6)).await.expect("a header").is_some());
}

#[tokio::test]
async fn a_gateway_that_mixes_up_the_ids_of_a_batch_is_asked_one_by_one() {
    for fault in ["swap", "repeat"] {
        let served = serve_node(synthetic(600, Density::PerBlock(1)), "").await;
        let gateway = gateway::start(&served.server.http_url(), move |answers| {
            let Some(answers) = answers.as_array_mut().filter(|answers| answers.len() > 1) else { return };
            let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
            for (place, answer) in answers.iter_mut().enumerate() {
                let other = if fault == "swap" { place ^ 1 } else { place & !1 };
                answer["id"] = ids.get(other).unwrap_or(&ids[place]).clone();
            }
        })
        .await;
        let reader = EvmReader::new(EvmRpc::new(&gateway).expect("a client"), chain_id());
        for _ in 0..3 {
            check(&reader).await;
        }
    }
}

/// How often a header's time is altered, which of a chain's headers hash to their hashes.
async fn altered(times: u64, is_single: bool) -> (bool, u64) {
    let chain = Chain::new(ChainOptions::deterministic());
    chain.mine_many(8);
    let altered = AtomicU64::new(0);
    let node = Twisted::result_of(Arc::new(chain), "eth_getBlockByNumber", move |header| {
        if header["number"] == "0x5" && altered.fetch_add(1, Ordering::Relaxed) < times {
            header["timestamp"] = "0x1".into();
        }
    });
    let served = serve_node(node, "").await;
    let reader = served.reader();
    assert!(reader.header(BlockTag::Number(4)).await.expect("a header").expect("a block").is_hash_proven);
    let header = match is_single {
        true => reader.header(BlockTag::Number(5)).await.expect("a header"),
        false => reader.headers(&[4, 5, 6]).await.expect("headers").swap_remove(1),
    };
    (header.expect("a block").is_hash_proven, served.calls("eth_getBlockByNumber"))
}

#[tokio::test]
async fn a_header_that_was_altered_is_asked_for_again() {
    for times in 0..=2 {
        assert_eq!(altered(times, true).await, (true, 2 + times));
        assert_eq!(altered(times, false).await, (true, 4 + times));
    }
    // It may be what the chain's headers are like from now on.
    assert_eq!(altered(9, true).await, (false, 4));
}

#[tokio::test]
async fn a_header_that_is_gone_or_strange_when_asked_again_stays() {
    for second in ["null", "another"] {
        let chain = Chain::new(ChainOptions::deterministic());
        chain.mine_many(8);
        let asked = AtomicU64::new(0);
        let node = Twisted::result_of(Arc::new(chain), "eth_getBlockByNumber", move |header| {
            if header["number"] != "0x5" {
                return;
            }
            header["timestamp"] = "0x1".into();
            match (asked.fetch_add(1, Ordering::Relaxed), second) {
                (0, _) => {}
                (_, "null") => *header = serde_json::Value::Null,
                _ => header["number"] = "0x7".into(),
            }
        });
        let served = serve_node(node, "").await;
        let reader = served.reader();
        reader.header(BlockTag::Number(4)).await.expect("a header").expect("a block");
        let headers = reader.headers(&[4, 5, 6]).await.expect("headers");
        assert!(headers.iter().all(Option::is_some), "{second}");
    }
}
