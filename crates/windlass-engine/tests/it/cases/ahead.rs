//! The head reads ahead: few questions for many blocks, and progress under any share of
//! failures below all of them.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use windlass_core::event::LogEvent;
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_engine::collect::head::{Followed, Follower};

use super::panel::Panel;
use super::scripted::Scripted;
use super::stage::{Collector, Orders, Stage};
use crate::collect::endpoint::Endpoint;
use crate::database::Kind;

/// A chain of which nothing becomes final here.
const NEVER_FINAL: u64 = 10_000;

/// A collector that has made its plan, far behind the head.
async fn behind(stage: &Stage, blocks: u64) -> Collector {
    let mut collector = stage.collector("a", &Orders::default());
    assert_eq!(collector.follow().await, Followed::Planned);
    stage.mine_up_to(blocks);
    collector
}

pub(super) async fn many_blocks_take_few_questions(kind: Kind) {
    let stage = Stage::new(kind, NEVER_FINAL).await;
    let mut collector = behind(&stage, 300).await;
    stage.reader.count();
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 300, events: 300 });
    // Newest, final and first block; the fake answers headers one by one; ranges of 128 blocks.
    assert_eq!(stage.reader.count(), 3 + 299 + 3);
    stage.assert_complete(&Orders::default()).await;
}

/// An endpoint that does not keep old blocks is not asked for the first one with each step.
pub(super) async fn a_first_block_that_is_refused_is_asked_for_a_few_times(kind: Kind) {
    let stage = Stage::new(kind, NEVER_FINAL).await;
    let mut collector = behind(&stage, 20).await;
    stage.reader.refuse_first_block();
    for head in 21..=60 {
        stage.mine_up_to(head);
        assert!(matches!(collector.follow().await, Followed::Advanced { .. }));
    }
    assert_eq!(stage.reader.first_block_refusals(), 5);
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn a_new_block_takes_one_question_besides_the_look(kind: Kind) {
    let stage = Stage::new(kind, NEVER_FINAL).await;
    let mut collector = behind(&stage, 20).await;
    collector.settle().await;
    stage.reader.count();
    for head in 21..=40 {
        stage.mine_up_to(head);
        assert_eq!(collector.follow().await, Followed::Advanced { blocks: 1, events: 1 });
    }
    // Newest and final block, and the logs; and now and then one to prove the chain's blooms.
    let asked = stage.reader.count();
    assert!((60..=62).contains(&asked), "{asked}");
}

/// So many of a hundred questions fail: what the others brought is stored all the same.
pub(super) async fn failing_questions_cost_themselves_alone(kind: Kind) {
    for percent in [5, 20, 50, 80] {
        let stage = Stage::new(kind, NEVER_FINAL).await;
        let mut collector = behind(&stage, 150).await;
        stage.reader.fail_percent(percent);
        let mut steps = 0;
        while stage.position().await != Some(150) {
            // What fails is asked again.
            let _ = collector.follower.step().await;
            steps += 1;
            assert!(steps < 20_000, "no progress while {percent} % fail");
        }
        stage.reader.fail_percent(0);
        stage.assert_complete(&Orders::default()).await;
    }
}

/// Ranges above the last final block are refused: the head goes on block by block.
pub(super) async fn a_head_whose_ranges_are_refused_goes_on_by_single_blocks(kind: Kind) {
    let stage = Stage::new(kind, NEVER_FINAL).await;
    let mut collector = behind(&stage, 30).await;
    let too_large = || ChainError::new(ChainErrorKind::RangeTooLarge { suggested: None }, "one at a time");
    stage.reader.judge(move |_| Some(too_large()));
    collector.follower.step().await.expect_err("the range is refused");
    stage.reader.learn(1);
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 30, events: 30 });
    stage.assert_complete(&Orders::default()).await;
}

/// The chain is reorganised between headers and logs: nothing of the old branch is stored
/// under a new hash, and the new branch is followed.
pub(super) async fn a_reorg_between_headers_and_logs_stores_one_branch_only(kind: Kind) {
    let stage = Stage::new(kind, NEVER_FINAL).await;
    let mut collector = behind(&stage, 10).await;
    collector.settle().await;
    stage.mine_up_to(14);
    let chain = stage.chain.clone();
    stage.reader.judge(move |range| {
        if range.from == 11 && chain.head() == 14 {
            chain.take_off(3);
            chain.mine(4, 1);
        }
        None
    });
    for _ in 0..10 {
        let _ = collector.follower.step().await;
    }
    stage.reader.forgive();
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.position().await, Some(15));
}

/// A block was read, and its logs were not, when the chain left it. Nobody has it by its hash any
/// more, and the newest block is a later one of the new branch.
pub(super) async fn a_block_without_logs_that_the_chain_has_left_is_read_anew(kind: Kind) {
    let stage = Stage::new(kind, NEVER_FINAL).await;
    let mut collector = behind(&stage, 40).await;
    collector.settle().await;
    for head in 41..=60 {
        // Until the chain's blooms are proven.
        stage.mine_up_to(head);
        collector.settle().await;
    }
    stage.mine_up_to(61);
    stage.reader.tamper(|_, logs| logs.iter().chain(&logs).cloned().collect());
    collector.follower.step().await.expect_err("logs that come twice are refused");
    stage.reader.be_honest();
    stage.chain.take_off(1);
    stage.mine_up_to(64);
    for _ in 0..3 {
        let _ = collector.follower.step().await;
    }
    assert_eq!(stage.position().await, Some(64));
    stage.assert_complete(&Orders::default()).await;
}

/// Ranges are not answered any more, single blocks are: the second look waits for its answer, and
/// the head goes on meanwhile.
pub(super) async fn a_second_look_that_is_not_answered_does_not_hold_up_the_head(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    assert_eq!(stage.rechecked().await, Some(17));
    let gate = stage.reader.hold_ranges();
    follow_past(&stage, collector.follower, &gate).await;
    stage.assert_complete(&Orders::default()).await;
}

/// Follows blocks 21 to 23 while the second look waits at the gate, then opens it.
async fn follow_past(stage: &Stage, follower: Follower, gate: &Semaphore) {
    let shutdown = CancellationToken::new();
    let run = tokio::spawn(follower.run(shutdown.clone()));
    for head in [21, 22, 23] {
        stage.mine_up_to(head);
        while stage.position().await != i64::try_from(head).ok() {
            assert!(!run.is_finished());
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(stage.rechecked().await, Some(17), "nobody has answered");
    gate.add_permits(1_000);
    while stage.rechecked().await != Some(20) {
        assert!(!run.is_finished());
        tokio::task::yield_now().await;
    }
    shutdown.cancel();
    run.await.expect("no panic").expect("a clean end");
}

/// One of two endpoints makes up a log, and the receipts that settle it are not told for long.
pub(super) async fn settling_a_contradiction_does_not_hold_up_the_head(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let liar = Arc::new(Scripted::new(Arc::new(Endpoint::new(stage.chain.clone(), 0))));
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), liar.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel.clone());
    collector.settle().await;
    liar.tamper(|_, mut logs| {
        if let Some(log) = logs.iter().find(|log| log.block.number == 18).cloned() {
            logs.push(LogEvent { log_index: log.log_index + 9, ..log });
            logs.sort_by_key(|log| (log.block.number, log.log_index));
        }
        logs
    });
    stage.reader.tell_receipts();
    let gate = stage.reader.hold_receipts();
    follow_past(&stage, collector.follower, &gate).await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(panel.names().into_iter().collect::<Vec<_>>(), ["b"]);
}
