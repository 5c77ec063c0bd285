//! Too many results: ranges that an endpoint refuses, down to a single block.

use windlass_core::job::JobState;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_core::store::Jobs;
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;

use super::stage::{Collector, Stage, from_block};
use crate::database::Kind;

fn too_large(suggested: Option<BlockRange>) -> ChainError {
    ChainError::new(ChainErrorKind::RangeTooLarge { suggested }, "query returned more than 10000 results")
}

/// A past of twenty blocks that is gone over in one range, if the endpoint lets it.
async fn twenty_blocks(stage: &Stage) -> Collector {
    stage.mine_up_to(23);
    let mut collector = stage.collector("a", &from_block(1));
    assert_eq!(collector.follow().await, Followed::Planned);
    collector
}

pub(super) async fn a_refused_range_is_halved_until_it_is_taken(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    stage.reader.judge(|range| (range.count() > 2).then(|| too_large(None)));
    let did = collector.work_off().await;
    assert!(!did.iter().any(|step| matches!(step, Backfilled::Failed { .. })), "{did:?}");
    let mut sizes: Vec<u64> = stage.reader.asked().iter().map(BlockRange::count).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes, [1, 2, 5, 10, 20], "of five, two times two and one are left");
    assert_eq!(stage.fees().await, (1..=20).map(|block| (block, block)).collect::<Vec<_>>());
    assert_eq!(stage.jobs(false).await, []);
}

pub(super) async fn a_suggested_range_is_taken_up(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    let first = |range: BlockRange| BlockRange { to: range.from + 6, ..range };
    stage.reader.judge(move |range| (range.count() > 7).then(|| too_large(Some(first(range)))));
    let whole = BlockRange { from: 1, to: 20 };
    assert_eq!(collector.backfill().await, Backfilled::Split { blocks: whole, pieces: 3 });
    collector.work_off().await;
    let sizes: Vec<u64> = stage.reader.asked().iter().map(BlockRange::count).collect();
    assert_eq!(sizes, [20, 7, 7, 6]);
}

pub(super) async fn a_block_that_is_refused_by_itself_is_given_up_and_can_be_retried(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    stage.reader.judge(|range| (range.from..=range.to).contains(&7).then(|| too_large(None)));
    let did = collector.work_off().await;
    let seven = BlockRange { from: 7, to: 7 };
    let failures = did.iter().filter(|step| **step == Backfilled::Failed { blocks: seven }).count();
    assert_eq!(failures, 10, "{did:?}");
    let dead = stage.jobs(true).await;
    assert_eq!(dead.len(), 1, "nothing else is given up");
    assert_eq!((dead[0].state, dead[0].attempts), (JobState::Dead, 10));
    let reason = "blocks 7 to 7: query returned more than 10000 results";
    assert_eq!(dead[0].error.as_deref(), Some(reason));
    let missing: Vec<(u64, u64)> = (1..=20).filter(|block| *block != 7).map(|block| (block, block)).collect();
    assert_eq!(stage.fees().await, missing, "the others are there");

    stage.reader.forgive();
    assert_eq!(collector.backfill().await, Backfilled::Idle, "it waits for a person");
    stage.store.requeue_dead_jobs(&[dead[0].id]).await.expect("it was dead");
    collector.settle().await;
    stage.assert_complete(&from_block(1)).await;
    assert_eq!((stage.jobs(false).await, stage.jobs(true).await), (vec![], vec![]));
}

/// Whatever else an endpoint answers, the range is not to blame: it waits, whole.
pub(super) async fn another_refusal_leaves_the_range_as_it_is(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    let whole = BlockRange { from: 1, to: 20 };
    for kind in [ChainErrorKind::Malformed, ChainErrorKind::Refused, ChainErrorKind::Unreachable] {
        stage.reader.judge(move |_| Some(ChainError::new(kind, "an unrelated error")));
        for _ in 0..20 {
            collector.backfiller.step().await.expect_err("it is waited for");
        }
        assert!(stage.reader.asked().iter().all(|range| *range == whole), "{kind:?}");
        assert_eq!(stage.jobs(true).await, []);
    }
    stage.reader.forgive();
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: whole, events: 20 });
}

pub(super) async fn an_endpoint_that_is_down_costs_a_range_no_attempt(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    stage.reader.judge(|_| Some(ChainError::new(ChainErrorKind::RateLimited, "slow down")));
    for _ in 0..20 {
        collector.backfiller.step().await.expect_err("it is waited out");
    }
    assert_eq!(stage.jobs(true).await, []);
    stage.reader.forgive();
    let whole = BlockRange { from: 1, to: 20 };
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: whole, events: 20 });
}

pub(super) async fn an_endpoint_that_has_fallen_behind_costs_a_range_no_attempt(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    let unknown = || ChainError::new(ChainErrorKind::UnknownBlock, "it does not have block 20 yet");
    stage.reader.judge(move |_| Some(unknown()));
    stage.reader.set_head(Some(12));
    for _ in 0..20 {
        stage.clock.advance_ms(10);
        collector.backfiller.step().await.expect_err("it is waited for");
    }
    stage.reader.set_head(None);
    let whole = BlockRange { from: 1, to: 20 };
    stage.reader.forgive();
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: whole, events: 20 });
}

/// An endpoint that answers everything but some ranges, for which its gateway has an error.
fn bad_gateway() -> ChainError {
    ChainError::new(ChainErrorKind::Unreachable, "the endpoint answered with status 502")
}

pub(super) async fn a_second_look_that_an_endpoint_keeps_failing_at_becomes_smaller(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    collector.work_off().await;
    stage.reader.judge(|range| (range.count() > 5).then(bad_gateway));
    for _ in 0..30 {
        // What fails is tried again.
        let _ = collector.follower.step().await;
    }
    assert_eq!(stage.rechecked().await, Some(20));
}

pub(super) async fn a_block_that_an_endpoint_keeps_failing_at_is_given_up(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    stage.reader.judge(|range| {
        let whole = if range.count() > 1 { too_large(None) } else { bad_gateway() };
        (range.from..=range.to).contains(&7).then_some(whole)
    });
    let did = collector.work_off().await;
    let seven = BlockRange { from: 7, to: 7 };
    let failures = did.iter().filter(|step| **step == Backfilled::Failed { blocks: seven }).count();
    assert_eq!(failures, 10, "{did:?}");
    let dead = stage.jobs(true).await;
    let reasons: Vec<_> = dead.iter().map(|job| job.error.as_deref().unwrap_or_default()).collect();
    assert_eq!(reasons, ["blocks 7 to 7: the endpoint answered with status 502"]);
    assert_eq!(stage.fees().await.len(), 19, "the others are there");
}

/// A block fails, and so does every other one: the endpoint fails.
pub(super) async fn a_block_that_fails_as_all_others_do_is_not_given_up(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = twenty_blocks(&stage).await;
    stage.reader.learn(1);
    stage.reader.judge(|_| Some(bad_gateway()));
    for _ in 0..50 {
        stage.clock.advance_ms(10);
        collector.backfiller.step().await.expect_err("it is waited for");
    }
    assert_eq!(stage.jobs(true).await, []);
    stage.reader.forgive();
    collector.work_off().await;
    assert_eq!(stage.fees().await.len(), 20);
}

pub(super) async fn the_second_look_keeps_to_what_the_endpoint_takes(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(23);
    stage.reader.learn(5);
    stage.reader.judge(|range| (range.count() > 5).then(|| too_large(None)));
    let mut collector = stage.collector("a", &from_block(1));
    collector.settle().await;
    assert_eq!(stage.rechecked().await, Some(20));
    stage.assert_complete(&from_block(1)).await;
}

/// Part of the past cannot be had, say because the endpoint does not keep it: the rest is
/// collected, and that part waits.
pub(super) async fn ranges_that_nobody_can_read_do_not_hold_up_the_others(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.learn(5);
    let mut collector = twenty_blocks(&stage).await;
    let pruned = || ChainError::new(ChainErrorKind::Refused, "history has been pruned for this block");
    stage.reader.judge(move |range| (range.from <= 7).then(pruned));
    for _ in 0..8 {
        let _ = collector.backfiller.step().await;
    }
    assert_eq!(stage.fees().await, (11..=20).map(|block| (block, block)).collect::<Vec<_>>());
    assert_eq!((stage.jobs(false).await.len(), stage.jobs(true).await.len()), (2, 0));
    stage.reader.forgive();
    collector.settle().await;
    stage.assert_complete(&from_block(1)).await;
}

/// A single block that an endpoint does not have yet, beside one that it has, is no failure.
pub(super) async fn a_block_that_an_endpoint_does_not_have_yet_is_waited_for(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.learn(1);
    let mut collector = twenty_blocks(&stage).await;
    let unknown = || ChainError::new(ChainErrorKind::UnknownBlock, "its newest block is 19");
    stage.reader.judge(move |range| (range.to >= 20).then(unknown));
    for _ in 0..60 {
        let _ = collector.backfiller.step().await;
    }
    assert_eq!(stage.jobs(true).await, []);
    stage.reader.forgive();
    collector.settle().await;
    stage.assert_complete(&from_block(1)).await;
}
