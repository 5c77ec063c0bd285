//! Limits, refusals and wrong chains.

use std::time::Duration;

use tokio::time::{Instant, advance};
use windlass_core::chain::{Address, Bytes};
use windlass_core::error::RetryAdvice;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, LogFilter, LogSpan};

use super::fake::{Fault, block};
use super::{chain, pool, pool_with};
use crate::evm::pool::{EvmPool, PoolOptions};

async fn code(pool: &EvmPool) -> Result<Bytes, ChainError> {
    pool.code(Address::ZERO, BlockTag::Latest).await
}

#[tokio::test(start_paused = true)]
async fn one_endpoint_alone_is_asked_once_and_its_errors_are_told() {
    let (pool, fakes) = pool(1);
    code(&pool).await.expect("code");
    assert_eq!((fakes[0].asked(), fakes[0].chain_ids()), (2, 1));
    code(&pool).await.expect("code");
    assert_eq!(fakes[0].asked(), 3);
    fakes[0].manner().fault = Some(Fault::Refuses);
    assert_eq!(code(&pool).await.expect_err("refused").kind, ChainErrorKind::Refused);
    assert_eq!(fakes[0].asked(), 4);
    assert!(pool.status()[0].healthy, "a refusal may be the question's fault");
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_limits_is_waited_out() {
    let (pool, fakes) = pool(1);
    code(&pool).await.expect("code");
    fakes[0].manner().fault = Some(Fault::Limited(Duration::from_secs(3)));
    let error = code(&pool).await.expect_err("limited");
    assert_eq!(error.retry, RetryAdvice::After(Duration::from_secs(3)));
    let (start, asked) = (Instant::now(), fakes[0].asked());
    fakes[0].manner().fault = None;
    for _ in 0..5 {
        code(&pool).await.expect("after a wait");
    }
    assert!(start.elapsed() >= Duration::from_secs(3), "not asked before that");
    assert_eq!(fakes[0].asked(), asked + 5);
    assert_eq!(pool.status()[0].limited, 3, "a question is put again when the endpoint can be asked");
}

/// No other question is under way whose end would make the pool look again.
#[tokio::test(start_paused = true)]
async fn a_second_endpoint_is_asked_as_soon_as_it_is_back() {
    let (pool, fakes) = pool(2);
    fakes[1].manner().fault = Some(Fault::Limited(Duration::from_secs(3)));
    for _ in 0..10 {
        code(&pool).await.expect("code");
    }
    assert!(pool.status()[1].limited > 0, "it was asked, and is left out now");
    fakes[1].manner().fault = None;
    fakes[0].manner().latency = Duration::from_secs(60);
    let start = Instant::now();
    code(&pool).await.expect("the second answers");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_long_limit_is_told_with_its_length_and_nobody_is_asked() {
    let (pool, fakes) = pool(2);
    for fake in &fakes {
        fake.manner().fault = Some(Fault::Limited(Duration::from_secs(100)));
    }
    code(&pool).await.expect_err("both limited");
    let asked: u64 = fakes.iter().map(|fake| fake.asked()).sum();
    advance(Duration::from_secs(10)).await;
    for _ in 0..50 {
        let error = code(&pool).await.expect_err("left out");
        assert_eq!(error.kind, ChainErrorKind::RateLimited);
        assert_eq!(error.retry, RetryAdvice::After(Duration::from_secs(90)));
        assert!(error.message.contains("http://a") && error.message.contains("http://b"), "{error}");
    }
    assert_eq!(fakes.iter().map(|fake| fake.asked()).sum::<u64>(), asked);
    assert_eq!(pool.concurrency(), 0);
}

#[tokio::test(start_paused = true)]
async fn while_one_is_limited_the_other_answers() {
    let (pool, fakes) = pool(2);
    fakes[0].manner().fault = Some(Fault::Limited(Duration::from_secs(60)));
    for _ in 0..100 {
        code(&pool).await.expect("code");
    }
    assert_eq!(fakes[0].asked(), 1);
    assert!(pool.status()[0].left_out_ms.is_some_and(|ms| ms > 50_000));
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_of_another_chain_is_left_out_and_named() {
    let (pool, fakes) = pool(3);
    fakes[1].manner().chain = 5;
    for _ in 0..20 {
        code(&pool).await.expect("code");
    }
    assert_eq!(pool.chain_id().await, Ok(chain()));
    let status = &pool.status()[1];
    assert!(!status.healthy);
    assert_eq!(status.trouble.as_deref(), Some("http://b serves chain 5, not 137"));
    assert_eq!(fakes[1].asked(), fakes[1].chain_ids(), "it is asked nothing else");
}

#[tokio::test(start_paused = true)]
async fn if_all_serve_another_chain_the_error_says_so() {
    let (pool, fakes) = pool_with(5, PoolOptions { patience: Duration::ZERO, ..PoolOptions::default() });
    fakes.iter().for_each(|fake| fake.manner().chain = 5);
    let error = pool.chain_id().await.expect_err("wrong");
    assert_eq!(error.kind, ChainErrorKind::Refused);
    assert!(error.message.ends_with("serves chain 5, not 137"), "{error}");
    let error = pool.chain_id().await.expect_err("still wrong");
    assert!(error.message.contains("http://e serves chain 5"), "{error}");
    fakes[4].manner().chain = 137;
    advance(Duration::from_secs(60)).await;
    assert_eq!(pool.chain_id().await, Ok(chain()), "it has been put right");
}

#[tokio::test(start_paused = true)]
async fn who_refuses_what_another_answers_is_left_out() {
    let (pool, fakes) = pool(2);
    fakes[0].manner().fault = Some(Fault::Refuses);
    for _ in 0..100 {
        code(&pool).await.expect("the other answers");
    }
    assert!(fakes[0].asked() <= 8, "{}", fakes[0].asked());
    fakes[1].manner().fault = Some(Fault::Refuses);
    advance(Duration::from_secs(60)).await;
    let before = fakes[1].asked();
    for _ in 0..10 {
        assert_eq!(code(&pool).await.expect_err("both refuse").kind, ChainErrorKind::Refused);
    }
    assert_eq!(fakes[1].asked() - before, 10, "what nobody answers is held against nobody");
}

#[tokio::test(start_paused = true)]
async fn questions_that_nobody_waits_for_hold_no_turn() {
    let (pool, fakes) = pool(1);
    code(&pool).await.expect("code");
    fakes[0].manner().fault = Some(Fault::Silent);
    for _ in 0..50 {
        let asked = tokio::time::timeout(Duration::from_millis(10), code(&pool)).await;
        assert!(asked.is_err(), "it is silent");
    }
    fakes[0].manner().fault = None;
    code(&pool).await.expect("there is a turn");
    assert_eq!(pool.status()[0].in_flight, 0);
}

/// The network is away for minutes, and all endpoints with it: when it is back, so are they, and
/// whatever they would have been left out for beside others does not matter.
#[tokio::test(start_paused = true)]
async fn where_all_are_left_out_each_is_tried_again_soon() {
    for count in [1, 2] {
        let (pool, fakes) = pool(count);
        code(&pool).await.expect("code");
        for fault in [Fault::Dead, Fault::Limited(Duration::from_millis(100))] {
            fakes.iter().for_each(|fake| fake.manner().fault = Some(fault));
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(300) {
                code(&pool).await.expect_err("all are away");
                advance(Duration::from_millis(500)).await;
            }
            let asked: u64 = fakes.iter().map(|fake| fake.asked() + fake.chain_ids()).sum();
            assert!(asked < 1_000, "{asked}: they are not asked without a pause");
            fakes.iter().for_each(|fake| fake.manner().fault = None);
            let back = Instant::now();
            while code(&pool).await.is_err() {
                advance(Duration::from_millis(100)).await;
            }
            assert!(back.elapsed() <= Duration::from_secs(5), "{count} endpoints: {:?}", back.elapsed());
        }
    }
}

/// It has answered such questions before, and answers others: what it refuses is not too much.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_refuses_all_logs_is_not_called_rate_limiting() {
    let (pool, fakes) = pool(1);
    let all = LogFilter::default();
    let logs = async || pool.logs(LogSpan::Block(block(12)), &all).await;
    logs().await.expect("logs");
    fakes[0].manner().fault = Some(Fault::RefusesLogs);
    for _ in 0..60 {
        pool.header(BlockTag::Number(12)).await.expect("an answer");
        assert_eq!(logs().await.expect_err("refused").kind, ChainErrorKind::Refused);
        assert!(!pool.status()[0].is_limited, "{:?}", pool.status()[0]);
        advance(Duration::from_millis(250)).await;
    }
    assert_eq!(pool.status()[0].calls_per_s, None, "what seemed a limit is forgotten");
    fakes[0].manner().fault = None;
    logs().await.expect("logs");
    assert_eq!(pool.status()[0].calls_per_s, None);
}
