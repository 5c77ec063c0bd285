//! Endpoints that have different heads.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, advance, sleep};
use windlass_core::chain::Address;
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, LogFilter, LogSpan};

use super::fake::{Fault, block, header as header_of};
use super::pool;
use crate::evm::pool::EvmPool;

async fn head(pool: &EvmPool) -> u64 {
    pool.header(BlockTag::Latest).await.expect("an answer").expect("a head").block.number
}

#[tokio::test(start_paused = true)]
async fn what_one_does_not_have_is_asked_of_another() {
    let (pool, fakes) = pool(3);
    fakes[0].manner().head = 90;
    fakes[1].manner().head = 95;
    for number in 80..=100 {
        let found = pool.header(BlockTag::Number(number)).await.expect("an answer");
        assert_eq!(found.map(|header| header.block.number), Some(number));
        let logs = pool.logs(LogSpan::Block(block(number)), &LogFilter::default()).await;
        assert_eq!(logs, Ok(vec![]), "block {number}");
    }
    let found = pool.headers(&[94, 95, 96, 97]).await.expect("headers");
    assert!(found.iter().all(Option::is_some));
    let block = pool.header(BlockTag::Number(100)).await.expect("an answer").expect("a block").block;
    fakes.iter().take(2).for_each(|fake| fake.manner().tells_receipts = false);
    assert!(pool.receipts(&block).await.expect("an answer").is_some());
}

/// Guards against a made-up height: the honest endpoint was named as being behind, and the lag was
/// that to a block that does not exist.
#[tokio::test(start_paused = true)]
async fn a_newest_block_without_its_parent_is_not_believed_and_its_endpoint_named() {
    for lies_from in [100, 120] {
        let (pool, fakes) = pool(2);
        for number in 100..140 {
            fakes.iter().for_each(|fake| fake.manner().head = number);
            let lies = number >= lies_from;
            fakes[1].manner().invented_head = lies.then_some(1_000_000_000);
            assert_eq!(head(&pool).await, number, "lies from {lies_from} on");
            advance(Duration::from_secs(1)).await;
        }
        let [honest, liar] = [0, 1].map(|place| pool.status()[place].trouble.clone());
        assert_eq!(honest, None);
        assert!(liar.is_none_or(|liar| liar.contains("does not have the block before it")));
        assert!(fakes[1].asked() < 60, "{}", fakes[1].asked());
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_has_is_none_after_a_bounded_number_of_questions() {
    let (pool, fakes) = pool(5);
    head(&pool).await;
    let before: u64 = fakes.iter().map(|fake| fake.asked() - fake.chain_ids()).sum();
    assert_eq!(pool.header(BlockTag::Number(101)).await, Ok(None));
    let unknown = pool.logs(LogSpan::Block(block(101)), &LogFilter::default()).await.expect_err("unknown");
    assert_eq!(unknown.kind, ChainErrorKind::UnknownBlock);
    let after: u64 = fakes.iter().map(|fake| fake.asked() - fake.chain_ids()).sum();
    assert_eq!(after - before, 6, "three each");
    assert_eq!(pool.headers(&[100, 101]).await.expect("headers").iter().flatten().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_endpoint_is_asked_about_heads_while_it_is_well() {
    let (pool, fakes) = pool(3);
    for number in 100..160 {
        fakes.iter().for_each(|fake| fake.manner().head = number);
        assert_eq!(head(&pool).await, number);
        pool.header(BlockTag::Number(number)).await.expect("an answer");
        pool.logs(LogSpan::Block(block(number)), &LogFilter::default()).await.expect("logs");
    }
    let mut asked: Vec<u64> = fakes.iter().map(|fake| fake.asked()).collect();
    asked.sort_unstable();
    assert!(asked[2] >= 170 && asked[1] <= 10, "{asked:?}");

    let favourite = fakes.iter().max_by_key(|fake| fake.asked()).expect("one");
    favourite.manner().fault = Some(Fault::Dead);
    let before = favourite.asked();
    for number in 160..200 {
        fakes.iter().for_each(|fake| fake.manner().head = number);
        assert_eq!(head(&pool).await, number);
    }
    assert!(favourite.asked() - before <= 4, "it is not insisted on");
}

#[tokio::test(start_paused = true)]
async fn a_favourite_that_stands_still_does_not_stop_the_heads() {
    let (pool, fakes) = pool(2);
    assert_eq!(head(&pool).await, 100);
    let stuck = usize::from(fakes[1].asked() > fakes[0].asked());
    fakes[1 - stuck].manner().head = 150;
    let mut seen = 100;
    for _ in 0..10 {
        advance(Duration::from_secs(1)).await;
        seen = head(&pool).await;
    }
    assert_eq!(seen, 150);
    let before = fakes[stuck].asked();
    for number in 151..171 {
        fakes[1 - stuck].manner().head = number;
        assert_eq!(head(&pool).await, number);
    }
    assert!(fakes[stuck].asked() - before <= 1, "the other is the favourite now");
}

#[tokio::test(start_paused = true)]
async fn logs_of_a_block_are_asked_of_who_told_of_the_block() {
    let (pool, fakes) = pool(2);
    head(&pool).await;
    let favourite = usize::from(fakes[1].asked() > fakes[0].asked());
    fakes[1 - favourite].manner().head = 120;
    assert!(pool.header(BlockTag::Number(120)).await.expect("an answer").is_some());
    let before = fakes[favourite].asked();
    pool.logs(LogSpan::Block(block(120)), &LogFilter::default()).await.expect("logs");
    assert_eq!(fakes[favourite].asked(), before);
}

/// One of two hangs from the beginning, or from some time on: the other's heads come in time.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_does_not_hold_up_the_heads() {
    for hangs_from in [0, 30] {
        let (pool, fakes) = pool(2);
        let start = tokio::time::Instant::now();
        let mut slowest = Duration::ZERO;
        for number in 100..200 {
            if number == 100 + hangs_from {
                let favourite = usize::from(fakes[1].asked() > fakes[0].asked());
                fakes[favourite].manner().fault = Some(Fault::Silent);
            }
            fakes.iter().for_each(|fake| fake.manner().head = number);
            let began = Instant::now();
            assert_eq!(head(&pool).await, number);
            slowest = slowest.max(began.elapsed());
            advance(Duration::from_secs(1)).await;
        }
        let waited = start.elapsed() - Duration::from_secs(100);
        assert!(slowest <= Duration::from_secs(2), "{slowest:?}");
        assert!(waited <= Duration::from_secs(20), "{waited:?} for a hundred heads");
    }
}

/// One of two hangs while the other fails: whoever asks is told soon, and can ask again.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_is_not_waited_for_when_the_other_fails() {
    let (pool, fakes) = pool(2);
    fakes[0].manner().fault = Some(Fault::Silent);
    fakes[1].manner().fault = Some(Fault::Dead);
    let began = Instant::now();
    pool.headers(&[1, 2]).await.expect_err("nobody answers");
    pool.header(BlockTag::Latest).await.expect_err("nobody answers");
    pool.logs(LogSpan::Block(block(12)), &LogFilter::default()).await.expect_err("nobody answers");
    assert!(began.elapsed() <= Duration::from_secs(16), "{:?}", began.elapsed());
}

/// One of two is busy because it hangs; the other has just failed.
#[tokio::test(start_paused = true)]
async fn a_turn_with_an_endpoint_that_hangs_is_not_waited_for() {
    let (pool, fakes) = pool(2);
    fakes[0].manner().fault = Some(Fault::Silent);
    fakes[1].manner().fault = Some(Fault::Dead);
    let other = pool.clone();
    let hanging = tokio::spawn(async move { other.code(Address::ZERO, BlockTag::Latest).await });
    advance(Duration::from_millis(10)).await;
    assert_eq!((fakes[0].asked(), fakes[1].asked()), (1, 0), "it hangs at the first");
    let began = Instant::now();
    pool.header(BlockTag::Latest).await.expect_err("nobody answers");
    assert!(began.elapsed() <= Duration::from_secs(2), "{:?}", began.elapsed());
    hanging.abort();
}

/// A favourite that always has blocks, and always fewer than the other.
#[tokio::test(start_paused = true)]
async fn a_favourite_that_moves_behind_the_other_is_left() {
    let (pool, fakes) = pool(2);
    head(&pool).await;
    let behind = usize::from(fakes[1].asked() > fakes[0].asked());
    let mut seen = 0;
    for number in 100..160 {
        fakes[behind].manner().head = number;
        fakes[1 - behind].manner().head = number + 20;
        seen = head(&pool).await;
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(seen, 179);
    let notes = pool.endpoint_notes();
    let place = &pool.status()[behind].place;
    assert_eq!(notes, [format!("{place} is 20 blocks behind another endpoint")]);
    for number in 200..230 {
        fakes.iter().for_each(|fake| fake.manner().head = number);
        head(&pool).await;
        advance(Duration::from_secs(1)).await;
    }
    assert!(pool.endpoint_notes().is_empty(), "{:?}", pool.endpoint_notes());
}

/// One of two has refused everything for a while, so that it is asked seldom; then the other hangs
/// for a moment. Heads do not stay with the one that has to wait for its rate.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_waits_for_its_rate_does_not_hold_up_the_heads() {
    let (pool, fakes) = pool(2);
    fakes[1].manner().fault = Some(Fault::Limited(Duration::from_secs(1)));
    let mut number = 100;
    let mut next_head = async |pool: &EvmPool| {
        number += 1;
        fakes.iter().for_each(|fake| fake.manner().head = number);
        let began = Instant::now();
        assert_eq!(head(pool).await, number);
        let took = began.elapsed();
        advance(Duration::from_secs(1)).await;
        took
    };
    for _ in 0..60 {
        pool.header_from_each(BlockTag::Finalized).await;
        next_head(&pool).await;
    }
    assert!(pool.status()[1].calls_per_s.is_some_and(|per_s| per_s < 1.0), "{:?}", pool.status()[1]);
    fakes[1].manner().fault = None;
    fakes[0].manner().fault = Some(Fault::Silent);
    next_head(&pool).await;
    fakes[0].manner().fault = None;
    let mut slowest = Duration::ZERO;
    for _ in 0..10 {
        slowest = slowest.max(next_head(&pool).await);
    }
    assert!(slowest <= Duration::from_secs(1), "{slowest:?}");
}

/// A quick endpoint is far behind, and moves as the chain does; the other is slower.
#[tokio::test(start_paused = true)]
async fn a_quick_endpoint_that_is_far_behind_does_not_hide_the_head() {
    let (pool, fakes) = pool(2);
    fakes[1].manner().latency = Duration::from_millis(100);
    let mut lags = Vec::new();
    for second in 0..120 {
        let newest = 1_000 + second;
        fakes[0].manner().head = newest - 200;
        fakes[1].manner().head = newest;
        lags.push(newest - head(&pool).await);
        sleep(Duration::from_millis(900)).await;
    }
    let late = lags.iter().skip(10).filter(|lag| **lag > 0).count();
    assert!(late <= 2, "{lags:?}");
}

/// Many blocks are compared at an endpoint that takes few requests a second, and the other is away:
/// heads do not wait until all of them were asked about.
#[tokio::test(start_paused = true)]
async fn comparisons_do_not_hold_up_the_heads() {
    let (pool, fakes) = pool(2);
    fakes[1].manner().fault = Some(Fault::Limited(Duration::from_millis(500)));
    for _ in 0..20 {
        pool.header_from_each(BlockTag::Finalized).await;
        head(&pool).await;
        advance(Duration::from_millis(500)).await;
    }
    fakes[1].manner().fault = None;
    while pool.header_from_each(BlockTag::Finalized).await[1].answer.is_err() {
        sleep(Duration::from_secs(1)).await;
    }
    let per_s = pool.status()[1].calls_per_s.expect("a limit");
    let compared = join_all((1..=40).map(|number| pool.header_from_each(BlockTag::Number(number))));
    let followed = async {
        sleep(Duration::from_millis(100)).await;
        fakes[0].manner().fault = Some(Fault::Dead);
        let began = Instant::now();
        for number in 101..=103 {
            fakes[1].manner().head = number;
            while !pool.header(BlockTag::Latest).await.is_ok_and(|header| header == Some(header_of(number))) {
                sleep(Duration::from_millis(50)).await;
            }
        }
        began.elapsed()
    };
    let (_, took) = tokio::join!(compared, followed);
    assert!(took <= Duration::from_secs_f64(8.0 / per_s), "{took:?} at {per_s} a second");
}

/// Where headers hash to their hashes, one that does not is made up: another endpoint is asked.
/// Where none does, they are taken as they are.
#[tokio::test(start_paused = true)]
async fn a_header_that_hashes_to_its_hash_is_taken_before_one_that_does_not() {
    let (pool, fakes) = pool(2);
    fakes.iter().for_each(|fake| fake.manner().proves_headers = true);
    for number in 1..=20 {
        pool.header(BlockTag::Number(number)).await.expect("an answer");
        pool.header_from_each(BlockTag::Number(number)).await;
    }
    fakes[0].manner().proves_headers = false;
    for number in 21..=60 {
        let header = pool.header(BlockTag::Number(number)).await.expect("an answer").expect("a header");
        assert!(header.is_hash_proven, "block {number}");
        let headers = pool.headers(&[number, number + 1]).await.expect("headers");
        assert!(headers.iter().flatten().all(|header| header.is_hash_proven), "block {number}");
    }
    fakes[1].manner().proves_headers = false;
    let header = pool.header(BlockTag::Number(70)).await.expect("an answer");
    assert!(header.is_some_and(|header| !header.is_hash_proven));
}
