//! Collecting blocks anew: what was a replay is an audit that repairs.

use std::sync::Arc;

use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write};
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainErrorKind, ChainReader};
use windlass_core::store::Door;
use windlass_core::table::RowHead;
use windlass_engine::collect::audit::{Audit, Audited, Proof};
use windlass_engine::collect::compare::Compared;
use windlass_engine::collect::error::CollectError;

use super::scripted::Scripted;
use super::stage::{Collector, Orders, Stage, from_block};
use crate::collect::endpoint::Endpoint;
use crate::database::Kind;

const ALL: BlockRange = BlockRange { from: 0, to: 17 };

/// A chain of twenty blocks that was collected whole.
async fn collected(kind: Kind) -> (Stage, Collector) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    (stage, collector)
}

async fn audit(collector: &Collector, second: Option<Arc<dyn ChainReader>>) -> Audit {
    Audit::new(collector.chain.clone(), second).await.expect("an audit")
}

async fn audited(collector: &Collector, repairs: bool) -> Audited {
    audit(collector, None).await.page(ALL, repairs).await.expect("a page")
}

fn differences(audited: &Audited) -> Compared {
    audited.differences.values().next().cloned().expect("a table")
}

async fn erase(stage: &Stage, block: u64) {
    let blocks = BlockRange { from: block, to: block };
    let erase = Write::EraseRows { table: stage.table.name.clone(), blocks, contracts: vec![] };
    stage.store.commit(Commit::of(vec![erase])).await.expect("erased");
}

pub(super) async fn what_was_taken_changed_or_added_is_named_and_collected_anew(kind: Kind) {
    let (stage, collector) = collected(kind).await;
    let [taken, changed, added] = [stage.row_of(3).await, stage.row_of(9).await, stage.row_of(12).await];
    erase(&stage, 3).await;
    erase(&stage, 9).await;
    stage.write_row(changed.head, 999).await;
    let extra = RowHead { log_index: 7, ..added.head };
    stage.write_row(extra, 12).await;
    let named = Compared {
        missing: vec![taken.head.key()],
        altered: vec![changed.head.key()],
        extra: vec![extra.key()],
    };
    assert_eq!(differences(&audited(&collector, false).await), named);
    let repaired = audited(&collector, true).await;
    assert_eq!((differences(&repaired), repaired.repaired), (named, 3));
    stage.assert_complete(&Orders::default()).await;
    let again = audited(&collector, true).await;
    assert_eq!((again.is_clean(), again.repaired), (true, 0), "a second time changes nothing");
}

pub(super) async fn only_the_blocks_that_are_asked_for_are_collected_anew(kind: Kind) {
    let (stage, collector) = collected(kind).await;
    erase(&stage, 3).await;
    erase(&stage, 9).await;
    let some = BlockRange { from: 5, to: 17 };
    let found = audit(&collector, None).await.page(some, true).await.expect("a page");
    assert_eq!(found.repaired, 1);
    let blocks: Vec<u64> = stage.fees().await.iter().map(|(block, _)| *block).collect();
    assert!(!blocks.contains(&3) && blocks.contains(&9), "{blocks:?}");
}

pub(super) async fn blocks_that_are_not_there_cannot_be_collected_anew(kind: Kind) {
    let (stage, collector) = collected(kind).await;
    let before = stage.rows().await;
    let beyond = BlockRange { from: 15, to: 25 };
    let error = audit(&collector, None).await.page(beyond, true).await.expect_err("there are twenty");
    let CollectError::Chain(error) = error else { panic!("{error}") };
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock);
    assert_eq!(stage.rows().await, before);
}

pub(super) async fn what_two_endpoints_disagree_about_is_left_as_it_is(kind: Kind) {
    let (stage, collector) = collected(kind).await;
    erase(&stage, 3).await;
    erase(&stage, 9).await;
    let second = Scripted::new(Arc::new(Endpoint::new(stage.chain.clone(), 0)));
    second.hide(&[(9, 0)]);
    let found = audit(&collector, Some(Arc::new(second))).await.page(ALL, true).await.expect("a page");
    assert_eq!(found.disputed.iter().copied().collect::<Vec<_>>(), [9]);
    assert_eq!(found.repaired, 1);
    // The one without a log too: on this chain a bloom does not tell of every log.
    assert_eq!(found.proofs.get(&Proof::TwoEndpoints), Some(&17), "{:?}", found.proofs);
    let blocks: Vec<u64> = stage.fees().await.iter().map(|(block, _)| *block).collect();
    assert!(blocks.contains(&3) && !blocks.contains(&9), "{blocks:?}");
}

pub(super) async fn the_extent_reaches_from_the_first_start_to_the_last_final_block(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &from_block(5));
    let extent = audit(&collector, None).await.extent().await.expect("an extent");
    assert_eq!(extent, None, "nothing was collected yet");
    collector.settle().await;
    let extent = audit(&collector, None).await.extent().await.expect("an extent");
    assert_eq!(extent, Some(BlockRange { from: 5, to: 17 }));
}

pub(super) async fn a_start_that_moves_back_collects_what_lies_before(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut before = stage.collector("a", &from_block(12));
    before.settle().await;
    before.follower.release().await;
    stage.reader.asked();
    let mut after = stage.collector("b", &from_block(5));
    after.follow().await;
    after.work_off().await;
    assert_eq!(
        stage.reader.asked(),
        [BlockRange { from: 5, to: 11 }],
        "what is stored is not collected again"
    );
    stage.assert_complete(&from_block(5)).await;
    after.settle().await;
    stage.assert_complete(&from_block(5)).await;
}

pub(super) async fn rows_at_blocks_that_do_not_exist_are_named_and_removed(kind: Kind) {
    let (stage, collector) = collected(kind).await;
    let row = stage.row_of(9).await;
    let audit = audit(&collector, None).await;
    assert_eq!(audit.phantoms(true).await.expect("a look").count(), 0);
    let nowhere = RowHead { block: BlockRef { number: 7_000, ..row.head.block }, ..row.head };
    let forked = RowHead { block: BlockRef { number: 19, ..row.head.block }, log_index: 5, ..row.head };
    stage.write_row(nowhere, 1).await;
    stage.write_row(forked, 2).await;
    let found = audit.phantoms(false).await.expect("a look");
    let named: Vec<_> = found.rows.values().flatten().copied().collect();
    assert_eq!((named, found.removed), (vec![nowhere.key(), forked.key()], 0));
    let found = audit.phantoms(true).await.expect("a look");
    assert_eq!((found.count(), found.removed), (2, 1), "what is not final is left to the second look");
    let blocks: Vec<u64> = stage.fees().await.iter().map(|(block, _)| *block).collect();
    assert!(!blocks.contains(&7_000) && blocks.contains(&19), "{blocks:?}");
    let said = stage.messages().await;
    let last: serde_json::Value = serde_json::from_str(&said.last().expect("one").payload).expect("a fact");
    assert_eq!((last["from_block"].as_u64(), last["to_block"].as_u64()), (Some(7_000), Some(7_000)));
}
