//! Endpoints that do not have the blocks of a range: they would answer that there are no logs.

use std::time::Duration;

use tokio::time::advance;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind, ChainReader, LogFilter, LogSpan};

use super::fake::Fake;
use super::pool;
use crate::evm::pool::EvmPool;

async fn ask(pool: &EvmPool, to: u64) -> Result<(), ChainError> {
    let range = BlockRange { from: to - 9, to };
    pool.logs(LogSpan::Range(range), &LogFilter::default()).await.map(drop)
}

/// How many ranges it was asked for.
fn ranges(fake: &Fake) -> u64 {
    fake.asked() - fake.chain_ids() - fake.heads()
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_have_the_blocks_is_not_asked_for_a_range() {
    let (pool, fakes) = pool(2);
    fakes[1].manner().head = 1_000;
    for to in 501..=600 {
        ask(&pool, to).await.expect("the other has them");
    }
    assert_eq!((ranges(&fakes[0]), ranges(&fakes[1])), (0, 100));
    fakes[0].manner().head = 1_000;
    advance(Duration::from_secs(5)).await;
    for to in 501..=600 {
        ask(&pool, to).await.expect("both have them");
    }
    assert!(ranges(&fakes[0]) > 0, "it has caught up");
}

#[tokio::test(start_paused = true)]
async fn if_nobody_has_the_blocks_that_is_told_and_no_silence_taken_for_an_answer() {
    for count in [1, 4] {
        let (pool, fakes) = pool(count);
        let error = ask(&pool, 101).await.expect_err("nobody has it");
        assert_eq!(error.kind, ChainErrorKind::UnknownBlock);
        assert!(error.message.ends_with("does not have block 101 yet, its newest is 100"), "{error}");
        assert!(fakes.iter().all(|fake| ranges(fake) == 0 && fake.heads() == 1), "all were looked at");
        assert!(pool.status().iter().all(|status| status.healthy), "it is no fault");
        fakes[count - 1].manner().head = 101;
        ask(&pool, 101).await.expect("one has it now");
    }
}

#[tokio::test(start_paused = true)]
async fn while_an_endpoint_is_known_to_have_the_blocks_its_head_costs_nothing() {
    let (pool, fakes) = pool(1);
    fakes[0].manner().head = 10_000;
    for to in 101..=400 {
        ask(&pool, to).await.expect("logs");
    }
    assert_eq!((ranges(&fakes[0]), fakes[0].heads()), (300, 1));
    fakes[0].manner().head = 300;
    advance(Duration::from_secs(60)).await;
    ask(&pool, 301).await.expect_err("what it had long ago it may have lost");
    ask(&pool, 300).await.expect("logs");
    assert_eq!((ranges(&fakes[0]), fakes[0].heads()), (301, 2));
}
