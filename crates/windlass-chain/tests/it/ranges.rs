//! Ranges find their size with every provider's limits and words.

use std::sync::Arc;

use windlass_chain::evm::PoolOptions;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainErrorKind, ChainReader, LogSpan};
use windlass_devnet::faults::{Kind, Provider};
use windlass_devnet::synthetic::{Density, SyntheticNode};

use crate::served::{Served, all_its_logs, pool_of, serve_node, serve_seeded, synthetic};

const BLOCKS: u64 = 60_000;

/// Reads the whole chain as a loop would: as many blocks as the reader says, fewer when
/// that is refused. How many requests it took.
async fn read_all(reader: &impl ChainReader, node: &SyntheticNode) -> u64 {
    let filter = all_its_logs();
    let (mut from, mut found, mut requests) = (1, 0, 0);
    while from <= BLOCKS {
        let range = BlockRange::next(from, reader.range_size(&filter), BLOCKS).expect("a range");
        requests += 1;
        assert!(requests < 10_000, "it gets nowhere");
        match reader.logs(LogSpan::Range(range), &filter).await {
            Ok(logs) => {
                for log in &logs {
                    assert_eq!(log.block.number, node.log(found).block_number);
                    found += 1;
                }
                from = range.to + 1;
            }
            Err(error) => {
                assert!(matches!(error.kind, ChainErrorKind::RangeTooLarge { .. }), "{error}");
                let blocks = range.to - range.from + 1;
                assert!(reader.range_size(&filter) < blocks, "something smaller is asked for next");
            }
        }
    }
    assert_eq!(found, node.log_count());
    requests
}

fn refusals(served: &Served) -> u64 {
    served.faults.counts().get(Kind::LogLimit)
}

async fn limited(node: &Arc<SyntheticNode>, provider: Provider, limit: u64) -> Served {
    serve_node(Arc::<SyntheticNode>::clone(node), &format!("logs={}:{limit}", provider.name())).await
}

#[tokio::test]
async fn every_providers_limit_is_met_in_few_requests() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(10));
    for provider in Provider::ALL {
        // At least thirty requests, if each took as much as it may.
        let by_results = matches!(
            provider,
            Provider::Alchemy | Provider::Infura | Provider::Reth | Provider::Base | Provider::QueryTimeout
        );
        let served = limited(&node, provider, if by_results { 200 } else { 2_000 }).await;
        let requests = read_all(&served.reader(), &node).await;
        let refused = refusals(&served);
        assert!(requests <= 60, "{provider:?}: {requests} requests");
        assert!((1..=12).contains(&refused), "{provider:?}: {refused} refusals");
    }
}

#[tokio::test]
async fn sparse_and_dense_filters_without_limits() {
    let sparse = synthetic(BLOCKS, Density::EveryBlocks(1_000));
    let served = serve_node(Arc::<SyntheticNode>::clone(&sparse), "").await;
    assert!(read_all(&served.reader(), &sparse).await <= 4);
    let dense = synthetic(BLOCKS, Density::PerBlock(4));
    let served = serve_node(Arc::<SyntheticNode>::clone(&dense), "").await;
    let requests = read_all(&served.reader(), &dense).await;
    assert!((24..=32).contains(&requests), "{requests} requests of about ten thousand logs");
}

#[tokio::test]
async fn a_suggested_range_is_used() {
    let node = synthetic(BLOCKS, Density::PerBlock(1));
    let served = limited(&node, Provider::Infura, 77).await;
    let reader = served.reader();
    let range = LogSpan::Range(BlockRange { from: 100, to: 1_099 });
    let error = reader.logs(range, &all_its_logs()).await.expect_err("too large");
    let suggested = Some(BlockRange { from: 100, to: 176 });
    assert_eq!(error.kind, ChainErrorKind::RangeTooLarge { suggested });
    assert_eq!(reader.range_size(&all_its_logs()), 77);
}

#[tokio::test]
async fn what_was_learned_survives_a_restart() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(10));
    let served = limited(&node, Provider::Ankr, 3_000).await;
    let pool = pool_of(&[&served], PoolOptions::default());
    read_all(&pool, &node).await;
    let (size, before) = (pool.range_size(&all_its_logs()), refusals(&served));
    assert!(before > 0);
    let saved = pool.export();
    let again = pool_of(&[&served], PoolOptions::default());
    for nonsense in ["", "nonsense", "{}", r#"{"version":9,"endpoints":[]}"#] {
        again.restore(nonsense);
        assert_eq!(again.range_size(&all_its_logs()), 1_000);
    }
    again.restore(&saved);
    assert_eq!(again.range_size(&all_its_logs()), size);
    assert_eq!(again.export(), saved);
    read_all(&again, &node).await;
    assert_eq!(refusals(&served), before, "nothing is tried that was refused before");
}

#[tokio::test]
async fn an_endpoint_that_answers_no_single_block_either_teaches_nothing_about_ranges() {
    let node = synthetic(BLOCKS, Density::PerBlock(1));
    let served = serve_node(node, "timeout=1@eth_getLogs").await;
    let options =
        PoolOptions { request_timeout: std::time::Duration::from_millis(50), ..PoolOptions::default() };
    let pool = pool_of(&[&served], options);
    // On a busy machine even a short answer may come too late.
    while pool.chain_id().await.is_err() {}
    let range = LogSpan::Range(BlockRange { from: 1, to: 1_000 });
    let error = pool.logs(range, &all_its_logs()).await.expect_err("no answer");
    assert_eq!(error.kind, ChainErrorKind::Unreachable);
    assert_eq!(pool.range_size(&all_its_logs()), 1_000);
}

/// A server behind a plan whose wordings are drawn from this seed.
async fn seeded(node: &Arc<SyntheticNode>, plan: &str, seed: u64) -> Served {
    serve_seeded(Arc::<SyntheticNode>::clone(node), plan, seed).await
}

/// Most providers that are written down nowhere: whatever they say, the range shrinks to what
/// they take, and the whole chain is read.
#[tokio::test]
async fn a_limit_in_words_that_nobody_knows_is_learned() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(100));
    for seed in 1..=12 {
        let served = seeded(&node, "logs=random:2000", seed).await;
        let reader = served.reader();
        let requests = read_all(&reader, &node).await;
        let (size, refused) = (reader.range_size(&all_its_logs()), refusals(&served));
        assert!((1_000..=2_000).contains(&size), "seed {seed}: {size} blocks are learned");
        assert!(requests <= 90 && refused <= 20, "seed {seed}: {requests} requests, {refused} refused");
    }
}

#[tokio::test]
async fn the_free_tiers_words_and_a_limit_that_sounds_like_a_rate_are_ranges() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(100));
    for plan in ["logs=drpc:100", "logs=limit-exceeded:100", "logs=cut:100"] {
        let served = seeded(&node, plan, 7).await;
        let reader = served.reader();
        read_all(&reader, &node).await;
        let size = reader.range_size(&all_its_logs());
        assert!((50..=100).contains(&size), "{plan}: {size} blocks are learned");
    }
}

/// Every request may fail: that says nothing about the size.
#[tokio::test]
async fn an_endpoint_that_refuses_single_blocks_too_is_failing_and_keeps_its_size() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(100));
    for plan in ["refuse=1@eth_getLogs", "503=1@eth_getLogs", "truncate=1@eth_getLogs"] {
        let served = seeded(&node, plan, 3).await;
        let reader = served.reader();
        let range = LogSpan::Range(BlockRange { from: 1, to: 1_000 });
        let error = reader.logs(range, &all_its_logs()).await.expect_err("it fails");
        assert!(!matches!(error.kind, ChainErrorKind::RangeTooLarge { .. }), "{plan}: {error}");
        assert_eq!(reader.range_size(&all_its_logs()), 1_000, "{plan}");
    }
}

/// One block of many that is told wrongly is found by ever smaller ranges.
#[tokio::test]
async fn a_range_with_a_block_that_is_told_wrongly_is_too_large() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(100));
    let served = seeded(&node, "lie=repeat", 3).await;
    let (reader, filter) = (served.reader(), all_its_logs());
    let range = LogSpan::Range(BlockRange { from: 1, to: 1_000 });
    let error = reader.logs(range, &filter).await.expect_err("a log comes twice");
    assert!(matches!(error.kind, ChainErrorKind::RangeTooLarge { .. }), "{error}");
    assert!(reader.range_size(&filter) < 1_000);
    let error = reader.logs(LogSpan::Range(BlockRange { from: 100, to: 100 }), &filter).await;
    assert_eq!(error.expect_err("a log comes twice").kind, ChainErrorKind::Malformed);
}

/// One request in ten fails by chance: ranges stay about as long as they could be.
#[tokio::test]
async fn passing_faults_do_not_shrink_ranges_for_long() {
    let node = synthetic(BLOCKS, Density::EveryBlocks(100));
    for plan in ["refuse=0.1@eth_getLogs", "503=0.1@eth_getLogs", "truncate=0.1@eth_getLogs"] {
        let served = seeded(&node, plan, 5).await;
        let (reader, filter) = (served.reader(), all_its_logs());
        let (mut from, mut requests) = (1, 0);
        while from <= BLOCKS {
            let range =
                BlockRange::next(from, reader.range_size(&filter).min(1_000), BLOCKS).expect("a range");
            requests += 1;
            assert!(requests < 1_000, "{plan}: it gets nowhere");
            if reader.logs(LogSpan::Range(range), &filter).await.is_ok() {
                from = range.to + 1;
            }
        }
        assert!(requests <= 120, "{plan}: {requests} for sixty ranges");
    }
}
