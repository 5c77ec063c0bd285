//! One pass: a range is claimed, asked for, stored, and its job ended.

use windlass_core::job::JobState;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;

use super::stage::{Orders, Stage, fee, from_block, values};
use crate::collect::chain::COLLECTORS;
use crate::database::Kind;

fn blocks(from: u64, to: u64) -> BlockRange {
    BlockRange { from, to }
}

fn refused() -> ChainError {
    ChainError::new(ChainErrorKind::Refused, "no such method")
}

pub(super) async fn a_range_is_asked_for_as_it_was_claimed_and_ends_with_its_rows(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(40);
    stage.reader.learn(10);
    let mut collector = stage.collector("a", &from_block(5));
    assert_eq!(collector.follow().await, Followed::Planned);
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: blocks(5, 14), events: 10 });
    let questions = stage.reader.questions();
    assert_eq!(questions.len(), 1);
    let (range, filter) = &questions[0];
    assert_eq!((*range, &filter.addresses), (blocks(5, 14), &vec![COLLECTORS[0]]));
    let rows = stage.rows().await;
    assert_eq!(rows.len(), 10);
    for (row, number) in rows.iter().zip(5..) {
        assert_eq!((row.head.block.number, &row.values), (number, &values(&fee(number))));
    }
    assert_eq!(stage.jobs(false).await, []);
}

pub(super) async fn a_range_without_events_ends_its_job_too(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_empty(40);
    stage.reader.learn(10);
    let mut collector = stage.collector("a", &from_block(1));
    collector.follow().await;
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: blocks(1, 10), events: 0 });
    assert_eq!((stage.rows().await.len(), stage.jobs(false).await.len()), (0, 0));
    assert_eq!(stage.messages().await, [], "there is nothing to say");
}

pub(super) async fn the_past_is_gone_over_in_adjacent_ranges(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_empty(1_003);
    stage.reader.learn(300);
    let mut collector = stage.collector("a", &from_block(42));
    collector.follow().await;
    collector.work_off().await;
    let expected = [blocks(42, 341), blocks(342, 641), blocks(642, 941), blocks(942, 1_000)];
    assert_eq!(stage.reader.asked(), expected);
}

pub(super) async fn nothing_is_left_once_the_past_is_stored(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &Orders::default());
    assert_eq!(collector.backfill().await, Backfilled::Idle, "there is no plan yet");
    collector.settle().await;
    assert_eq!(collector.backfill().await, Backfilled::Idle);
    assert_eq!(collector.follow().await, Followed::Idle);
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.position().await, Some(30));
}

pub(super) async fn a_range_that_failed_comes_before_a_new_one(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(40);
    stage.reader.learn(10);
    let mut collector = stage.collector("a", &from_block(1));
    collector.follow().await;
    stage.reader.judge(|_| Some(refused()));
    collector.backfiller.step().await.expect_err("it is waited for");
    stage.reader.forgive();
    stage.clock.advance_ms(10);
    let mut other = stage.collector("b", &from_block(1));
    assert_eq!(other.backfill().await, Backfilled::Collected { blocks: blocks(1, 10), events: 10 });
    assert_eq!(other.backfill().await, Backfilled::Collected { blocks: blocks(11, 20), events: 10 });
}

pub(super) async fn a_failed_range_keeps_its_reason_and_the_loop_goes_on(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(40);
    stage.reader.learn(1);
    let mut collector = stage.collector("a", &from_block(1));
    collector.follow().await;
    stage.reader.judge(|range| (range.from == 1).then(refused));
    assert_eq!(collector.backfill().await, Backfilled::Failed { blocks: blocks(1, 1) });
    let failed = stage.jobs(false).await.pop().expect("it is open");
    assert_eq!((failed.state, failed.attempts, failed.owner), (JobState::Retrying, 1, None));
    assert_eq!(failed.error.as_deref(), Some("blocks 1 to 1: no such method"));
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: blocks(2, 2), events: 1 });
}

pub(super) async fn two_processes_that_begin_at_once_make_one_plan(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(40);
    let (mut a, mut b) = (stage.collector("a", &from_block(7)), stage.collector("b", &from_block(20)));
    let (one, other) = tokio::join!(a.follower.step(), b.follower.step());
    let mut did = [one.expect("a step"), other.expect("a step")];
    did.sort_by_key(|step| *step == Followed::NotOurs);
    assert_eq!(did, [Followed::Planned, Followed::NotOurs]);
    assert_eq!(stage.plan_version().await, Some(1), "the second changes nothing");
}

pub(super) async fn a_restart_asks_for_nothing_that_is_stored(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(40);
    let mut first = stage.collector("a", &Orders::default());
    first.settle().await;
    first.follower.release().await;
    stage.reader.asked();
    stage.mine_up_to(42);
    stage.collector("b", &Orders::default()).settle().await;
    assert!(stage.reader.asked().iter().all(|range| range.from > 37), "only what has become final since");
    stage.assert_complete(&Orders::default()).await;
}
