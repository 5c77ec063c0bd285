//! How questions are shared out.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::Instant;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind, ChainReader, LogFilter, LogSpan};

use super::fake::{Fake, Fault};
use crate::evm::pool::{EvmPool, PoolOptions};

/// A pool of endpoints that have every block.
fn pool(count: usize) -> (EvmPool, Vec<Arc<Fake>>) {
    pool_with(count, PoolOptions::default())
}

fn pool_with(count: usize, options: PoolOptions) -> (EvmPool, Vec<Arc<Fake>>) {
    let (pool, fakes) = super::pool_with(count, options);
    fakes.iter().for_each(|fake| fake.manner().head = u64::MAX);
    (pool, fakes)
}

/// Asks for many ranges, some at once; how many failed, and how long it took.
async fn backfill(pool: &EvmPool, ranges: u64, at_once: usize) -> (usize, Duration) {
    let start = Instant::now();
    let asked: Vec<_> = (0..ranges).map(|number| ask(pool, number * 100, 100)).collect();
    let failed =
        stream::iter(asked).buffer_unordered(at_once).filter(|answer| std::future::ready(answer.is_err()));
    (failed.count().await, start.elapsed())
}

async fn ask(pool: &EvmPool, from: u64, blocks: u64) -> Result<(), ChainError> {
    let range = BlockRange { from, to: from + blocks - 1 };
    pool.logs(LogSpan::Range(range), &LogFilter::default()).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn equals_share_and_the_faster_gets_more() {
    let (pool, fakes) = pool(3);
    fakes[2].manner().latency = Duration::from_millis(500);
    let (failed, _) = backfill(&pool, 2_000, 12).await;
    assert_eq!(failed, 0);
    let asked: Vec<u64> = fakes.iter().map(|fake| fake.asked()).collect();
    assert!(asked[0] < asked[1] * 2 && asked[1] < asked[0] * 2, "{asked:?}");
    assert!(asked[2] * 3 < asked[0] && asked[2] >= 3, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn what_one_shows_of_the_chain_the_others_learn() {
    let (pool, fakes) = pool(3);
    let (failed, _) = backfill(&pool, 60, 3).await;
    assert_eq!(failed, 0);
    for fake in &fakes {
        let answered = fake.asked() - fake.chain_ids() - fake.heads();
        assert_eq!(fake.observed.load(Ordering::Relaxed), 60 - answered);
    }
}

#[tokio::test(start_paused = true)]
async fn no_endpoint_gets_more_at_once_than_its_limit() {
    let (pool, fakes) = pool_with(2, PoolOptions { max_concurrency: 6, ..PoolOptions::default() });
    let (failed, _) = backfill(&pool, 500, 100).await;
    assert_eq!(failed, 0);
    for fake in &fakes {
        assert!(fake.most_under_way() <= 6, "{}", fake.most_under_way());
    }
    assert_eq!(pool.concurrency(), 12);
    assert!(pool.status().iter().all(|status| status.in_flight == 0));
}

#[tokio::test(start_paused = true)]
async fn a_dead_endpoint_among_three_does_not_slow_the_others_down() {
    let with_all = backfill(&pool(2).0, 1_000, 8).await.1;
    for fault in [Fault::Dead, Fault::Silent] {
        let (pool, fakes) = pool(3);
        fakes[1].manner().fault = Some(fault);
        let (failed, took) = backfill(&pool, 1_000, 8).await;
        assert_eq!(failed, 0);
        assert!(took < with_all * 2, "{took:?} instead of {with_all:?}");
        assert!(fakes[1].asked() < 20, "{}", fakes[1].asked());
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_comes_back_is_asked_again_after_naming_its_chain() {
    let (pool, fakes) = pool(2);
    backfill(&pool, 50, 4).await;
    fakes[0].manner().fault = Some(Fault::Dead);
    backfill(&pool, 2_000, 64).await;
    assert!(!pool.status()[0].healthy);
    assert!(pool.status()[0].trouble.as_deref().is_some_and(|words| words.contains("http://a")));
    let (asked, named) = (fakes[0].asked(), fakes[0].chain_ids());
    fakes[0].manner().fault = None;
    tokio::time::advance(Duration::from_secs(60)).await;
    backfill(&pool, 300, 40).await;
    assert!(fakes[0].asked() > asked + 20);
    assert_eq!(fakes[0].chain_ids(), named + 1);
    assert!(pool.status()[0].healthy);
}

#[tokio::test(start_paused = true)]
async fn a_slow_question_is_put_to_a_second_endpoint() {
    let slowest = |hedge_percent| async move {
        let (pool, fakes) = pool_with(2, PoolOptions { hedge_percent, ..PoolOptions::default() });
        for fake in &fakes {
            fake.manner().hiccup = Some((33, Duration::from_secs(10)));
        }
        backfill(&pool, 200, 2).await;
        let mut times = Vec::new();
        for number in 0..400 {
            let start = Instant::now();
            ask(&pool, number * 100, 100).await.expect("an answer");
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let asked: u64 = fakes.iter().map(|fake| fake.asked()).sum();
        (times[395], asked)
    };
    let (with_hedges, asked) = slowest(5).await;
    let (without, _) = slowest(0).await;
    assert_eq!(without, Duration::from_secs(10));
    assert!(with_hedges < Duration::from_millis(500), "{with_hedges:?}");
    assert!(asked < 660, "hedges are few: {asked} for 600");
}

#[tokio::test(start_paused = true)]
async fn a_range_that_one_refuses_is_asked_of_another() {
    let (pool, fakes) = pool(2);
    fakes[0].manner().max_blocks = 10;
    assert_eq!(pool.range_size(&LogFilter::default()), 1_000);
    for number in 0..50 {
        ask(&pool, number * 500, 500).await.expect("logs");
    }
    assert_eq!(fakes[0].asked(), 0, "it is known to refuse such ranges");
    let error = ask(&pool, 0, 5).await;
    assert_eq!(error, Ok(()));
    fakes[1].manner().max_blocks = 100;
    let error = ask(&pool, 0, 500).await.expect_err("refused by both");
    let suggested = Some(BlockRange { from: 0, to: 99 });
    assert_eq!(error.kind, ChainErrorKind::RangeTooLarge { suggested }, "the larger of two proposals");
    fakes[1].manner().fault = Some(Fault::Dead);
    for _ in 0..3 {
        ask(&pool, 0, 50).await.expect_err("one refuses, one is dead");
    }
    assert_eq!(pool.range_size(&LogFilter::default()), 10, "what those can take that are there");
}
