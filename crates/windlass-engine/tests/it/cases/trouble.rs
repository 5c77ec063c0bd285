//! Trouble with the database: what is tried again, how often and how late, and what
//! becomes of a range when that did not help.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::chain::{B256, BlockRef};
use windlass_core::code::Code;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::job::JobState;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_core::store::Door;
use windlass_core::table::{RowHead, Rows};
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;
use windlass_engine::collect::rewind::Rewound;

use super::flaky::away;
use super::logbook::Logbook;
use super::stage::{Collector, Orders, Stage, from_block};
use crate::database::Kind;

const WHOLE: BlockRange = BlockRange { from: 1, to: 20 };
const STORED: Backfilled = Backfilled::Collected { blocks: WHOLE, events: 20 };

/// A past of twenty blocks, in one range.
async fn planned(stage: &Stage) -> Collector {
    stage.mine_up_to(23);
    let mut collector = stage.collector("a", &from_block(1));
    assert_eq!(collector.follow().await, Followed::Planned);
    stage.store.calls();
    collector
}

/// What happened from the first try of an operation on: each call with the pause before
/// it, in whole seconds.
fn from_first(calls: Vec<(&'static str, Duration)>, operation: &str) -> Vec<(&'static str, u64)> {
    let begun = calls.into_iter().skip_while(|(call, _)| *call != operation);
    begun.map(|(call, pause)| (call, pause.as_secs())).collect()
}

pub(super) async fn a_write_is_tried_three_times_with_growing_pauses_and_the_store_asked_first(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.store.fail("commit", [away(), away()]);
    assert_eq!(collector.backfill().await, STORED);
    let calls = from_first(stage.store.calls(), "commit");
    assert_eq!(calls, [("commit", 0), ("now", 2), ("commit", 0), ("now", 4), ("commit", 0)]);
    assert_eq!(stage.fees().await.len(), 20);
}

pub(super) async fn what_succeeds_at_the_second_try_is_not_repeated(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.store.fail("claim_range", [away()]);
    assert_eq!(collector.backfill().await, STORED);
    let calls = stage.store.calls();
    let tries = calls.iter().filter(|(call, _)| *call == "claim_range").count();
    assert_eq!(tries, 2);
    assert_eq!(stage.reader.asked(), [WHOLE], "the claim that failed took no range");
}

pub(super) async fn a_store_that_does_not_answer_is_tried_all_the_same(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.store.fail("commit", [away(), away()]);
    stage.store.fail("now", [away(), away()]);
    assert_eq!(collector.backfill().await, STORED);
    let calls = from_first(stage.store.calls(), "commit");
    assert_eq!(calls, [("commit", 0), ("now", 2), ("commit", 0), ("now", 4), ("commit", 0)]);
}

pub(super) async fn what_would_fail_the_same_way_is_tried_once(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.store.fail("commit", [StoreError::Invalid("too much".to_owned())]);
    let (said, _listening) = Logbook::open();
    assert_eq!(collector.backfill().await, Backfilled::Failed { blocks: WHOLE });
    assert_eq!(said.count("a range failed"), 1);
    let calls = from_first(stage.store.calls(), "commit");
    assert_eq!(calls, [("commit", 0), ("fail_job", 0)]);
}

pub(super) async fn a_range_that_cannot_be_stored_now_is_released_and_read_again(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.store.fail("commit", [away(), away(), away()]);
    let error = collector.backfiller.step().await.expect_err("three times was not enough");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    assert_eq!(stage.fees().await, []);
    // The next step releases it, and the release may fail as well.
    stage.store.fail("release_jobs", [away()]);
    let error = collector.backfiller.step().await.expect_err("it is away");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    assert_eq!(collector.backfill().await, STORED, "no lease is waited for, and no attempt was counted");
    assert_eq!(stage.fees().await.len(), 20);
}

/// The store may go away at any call between the claim of a range and its end.
pub(super) async fn a_range_is_not_left_held_wherever_the_store_goes_away(kind: Kind) {
    for operation in ["state", "commit", "release_jobs"] {
        for tries in [1, 3] {
            let stage = Stage::new(kind, 3).await;
            let mut collector = planned(&stage).await;
            let (store, is_first) = (stage.store.clone(), AtomicBool::new(true));
            stage.reader.judge(move |_| {
                let is_first = is_first.swap(false, Ordering::SeqCst);
                if is_first {
                    store.fail(operation, vec![away(); tries]);
                }
                let is_refused = is_first && operation == "release_jobs";
                is_refused.then(|| ChainError::new(ChainErrorKind::RateLimited, "wait"))
            });
            let mut failures = 0;
            while stage.fees().await.len() < 20 {
                match collector.backfiller.step().await {
                    Ok(_) => {}
                    Err(error) => {
                        assert!(matches!(error.retry(), RetryAdvice::After(_)), "{operation}: {error}");
                        failures += 1;
                    }
                }
                assert!(failures <= 5, "{operation}: the range is left held");
            }
        }
    }
}

pub(super) async fn a_failure_that_cannot_be_written_now_is_written_later(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.reader.learn(1);
    stage.reader.judge(|range| (range.from == 1).then(|| ChainError::new(ChainErrorKind::Refused, "no")));
    stage.store.fail("fail_job", [away(), away(), away()]);
    let error = collector.backfiller.step().await.expect_err("it is away");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    let calls = from_first(stage.store.calls(), "fail_job");
    assert_eq!(calls, [("fail_job", 0), ("now", 2), ("fail_job", 0), ("now", 4), ("fail_job", 0)]);
    let first = BlockRange { from: 1, to: 1 };
    assert_eq!(collector.backfill().await, Backfilled::Failed { blocks: first });
    let failed = stage.jobs(false).await.pop().expect("it is open");
    assert_eq!((failed.state, failed.attempts), (JobState::Retrying, 1));
}

pub(super) async fn trouble_before_a_range_is_held_is_waited_out(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = planned(&stage).await;
    stage.store.fail("claim_jobs", [away(), away(), away()]);
    let error = collector.backfiller.step().await.expect_err("three times was not enough");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    assert_eq!(stage.jobs(false).await, [], "no range was taken");
    stage.reader.set_down(true);
    let error = stage.collector("b", &from_block(1)).backfiller.step().await.expect_err("it is down");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    stage.reader.set_down(false);
    assert_eq!(collector.backfill().await, STORED);
}

pub(super) async fn a_plan_that_could_not_be_written_is_made_by_the_next_step(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(23);
    let mut collector = stage.collector("a", &from_block(1));
    stage.store.fail("commit", [away()]);
    let error = collector.follower.step().await.expect_err("it is away");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    assert_eq!((stage.position().await, stage.plan_version().await), (None, None));
    assert_eq!(collector.follow().await, Followed::Planned);
    assert_eq!((stage.position().await, stage.plan_version().await), (Some(20), Some(1)));
}

pub(super) async fn the_head_survives_a_database_that_fails_anywhere(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    for operation in ["acquire_lease", "cursor", "state", "commit", "blocks", "rows", "count_jobs"] {
        stage.mine_up_to(stage.chain.head() + 2);
        collector.settle().await;
        // A reorg, so that headers are read too.
        stage.chain.take_off(1);
        stage.mine(&[1_000]);
        stage.mine(&[1_001]);
        stage.store.fail(operation, [away()]);
        let mut failures = 0;
        for _ in 0..10 {
            if let Err(error) = collector.follower.step().await {
                assert!(matches!(error.retry(), RetryAdvice::After(_)), "{operation}: {error}");
                failures += 1;
            }
        }
        assert!(failures <= 1, "{operation} failed {failures} times");
        collector.settle().await;
        stage.assert_complete(&Orders::default()).await;
        stage.assert_headers(stage.chain.finalized()..=stage.chain.head()).await;
    }
}

pub(super) async fn a_row_of_another_block_stops_its_chain_and_not_the_process(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    let mut rows = Rows::new(stage.table.clone());
    let stored = stage.rows().await.pop().expect("a row");
    let head = RowHead { block: BlockRef { number: 21, hash: B256::repeat_byte(9) }, ..stored.head };
    let put = rows.push_with(head, |into| {
        into.extend(stored.values);
        Ok::<(), ()>(())
    });
    assert_eq!(put, Ok(true));
    stage.store.commit(Commit::of(vec![Write::Rows(rows)])).await.expect("written");
    stage.mine(&[21]);
    let (chain, shutdown) = (collector.chain.clone(), CancellationToken::new());
    let run = tokio::spawn(collector.follower.run(shutdown.clone()));
    let told = || chain.pulse().trouble(Instant::now() + Duration::from_secs(3_600));
    // An hour later a head that has not moved yet is trouble as well.
    let is_conflict = || told().is_some_and(|failing| failing.code == Code::EventConflict);
    while !is_conflict() && !run.is_finished() {
        tokio::task::yield_now().await;
    }
    assert!(is_conflict());
    shutdown.cancel();
    run.await.expect("no panic").expect("it was told to stop, and had not stopped before");
}

pub(super) async fn ranges_whose_jobs_were_deleted_or_damaged_are_collected_again(kind: Kind) {
    let second = format!("(SELECT id FROM lane WHERE key = '{:020}')", 6);
    let damaged = match kind {
        Kind::Sqlite => "CAST(x'ff' AS TEXT)",
        Kind::Postgres => "'{\"from\":6'",
    };
    for statement in [
        format!("DELETE FROM job WHERE lane_id = {second}"),
        "DELETE FROM job".to_owned(),
        format!("UPDATE job SET payload = {damaged} WHERE lane_id = {second}"),
        format!("UPDATE job SET payload = {damaged}"),
        "UPDATE lane SET done_seq = tail_seq".to_owned(),
        "UPDATE lane SET available_at_ms = 99999999999999".to_owned(),
        "UPDATE job SET not_before_ms = 99999999999999".to_owned(),
        "UPDATE job SET payload = '{\"from\":1,\"to\":18446744073709551615}'".to_owned(),
        "UPDATE job SET payload = '{\"from\":900,\"to\":10}'".to_owned(),
    ] {
        let (stage, intruder) = Stage::open_to_all(kind, 3).await;
        let mut collector = planned(&stage).await;
        let five = BlockRange { from: 1, to: 5 };
        let suggested = move || ChainErrorKind::RangeTooLarge { suggested: Some(five) };
        stage.reader.judge(move |range| {
            (range.count() > 5).then(|| ChainError::new(suggested(), "at most 5 blocks"))
        });
        assert_eq!(collector.backfill().await, Backfilled::Split { blocks: WHOLE, pieces: 4 });
        assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: five, events: 5 });
        intruder.run(std::slice::from_ref(&statement)).await;
        let did = collector.work_off().await;
        assert!(!did.iter().any(|step| matches!(step, Backfilled::Failed { .. })), "{statement}: {did:?}");
        stage.reader.forgive();
        collector.settle().await;
        collector.work_off().await;
        collector.settle().await;
        stage.assert_complete(&from_block(1)).await;
        let plan = stage.plan_version().await;
        assert_eq!(
            (stage.jobs(false).await, stage.jobs(true).await),
            (Vec::new(), Vec::new()),
            "{statement}"
        );
        assert!(plan.is_some_and(|version| version > 1), "the campaign is over: {statement}");
    }
}

/// The plan is changed before the job was put back.
pub(super) async fn ranges_whose_jobs_were_deleted_are_not_taken_for_stored(kind: Kind) {
    let (stage, intruder) = Stage::open_to_all(kind, 3).await;
    let mut collector = planned(&stage).await;
    let five = BlockRange { from: 1, to: 5 };
    let suggested = move || ChainErrorKind::RangeTooLarge { suggested: Some(five) };
    stage
        .reader
        .judge(move |range| (range.count() > 5).then(|| ChainError::new(suggested(), "at most 5 blocks")));
    assert_eq!(collector.backfill().await, Backfilled::Split { blocks: WHOLE, pieces: 4 });
    assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: five, events: 5 });
    stage.reader.forgive();
    collector.settle_head().await;
    intruder.run(&["DELETE FROM job".to_owned()]).await;
    let listed = stage.jobs(false).await;
    assert_eq!(listed.len(), 3, "{listed:?}");
    collector.follower.release().await;
    let rewound = collector.chain.rewind(3).await.expect("an answer");
    assert!(matches!(rewound, Rewound::Done { .. }), "{rewound:?}");
    let mut restarted = stage.collector("b", &from_block(1));
    restarted.settle().await;
    restarted.work_off().await;
    restarted.settle().await;
    stage.assert_complete(&from_block(1)).await;
}

/// A range that was given up is not lost with the lanes that are made anew.
pub(super) async fn a_range_that_was_given_up_outlasts_lanes_that_were_altered(kind: Kind) {
    let (stage, intruder) = Stage::open_to_all(kind, 3).await;
    let mut collector = planned(&stage).await;
    let five = BlockRange { from: 1, to: 5 };
    stage.reader.judge(move |range| {
        let too_large = ChainErrorKind::RangeTooLarge { suggested: Some(five) };
        match range {
            _ if range.count() > 5 || (range.count() > 1 && range.contains(7)) => {
                Some(ChainError::new(too_large, "at most 5 blocks"))
            }
            _ if range.contains(7) => Some(ChainError::new(ChainErrorKind::Malformed, "nonsense")),
            _ if range.contains(18) => Some(ChainError::new(ChainErrorKind::Unreachable, "it is down")),
            _ => None,
        }
    });
    for _ in 0..200 {
        stage.clock.advance_ms(10);
        let _ = collector.backfiller.step().await;
        if !stage.jobs(true).await.is_empty() {
            break;
        }
    }
    assert_eq!(stage.jobs(true).await.len(), 1, "block 7 was given up");
    intruder.run(&["UPDATE lane SET available_at_ms = 99999999999999".to_owned()]).await;
    stage.reader.forgive();
    collector.settle().await;
    collector.work_off().await;
    collector.settle().await;
    stage.assert_complete(&from_block(1)).await;
}
