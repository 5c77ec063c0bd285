//! The log poller's canonical script: a chain grows, is reorganised, goes back to what
//! it was, is left alone for a while and comes back with much to catch up with; once
//! with the chain's own word on finality and once with a depth.

use windlass_core::finality::Finality;
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;

use super::stage::{Collector, Orders, Stage, fee, with_finality};
use crate::collect::chain::{COLLECTORS, SimBlock};
use crate::database::Kind;

pub(super) async fn the_canonical_script_with_the_chains_own_finality(kind: Kind) {
    play(kind, &with_finality(Finality::Finalized)).await;
}

pub(super) async fn the_canonical_script_with_a_depth(kind: Kind) {
    play(kind, &with_finality(Finality::Depth(3))).await;
}

async fn play(kind: Kind, orders: &Orders) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = stage.collector("a", orders);
    one_block_without_logs(&stage, &mut collector).await;
    one_log(&stage, &mut collector).await;
    let first_branch = another_block_takes_its_place(&stage, &mut collector).await;
    the_first_branch_comes_back(&stage, &mut collector, first_branch).await;
    many_logs_in_many_blocks(&stage, &mut collector).await;
    let mut collector = down_for_a_little_more_than_finality(&stage, collector, orders).await;
    much_to_catch_up_with(&stage, &mut collector).await;
    stage.assert_complete(orders).await;
}

async fn one_block_without_logs(stage: &Stage, collector: &mut Collector) {
    stage.mine_empty(1);
    collector.settle().await;
    assert_eq!((stage.position().await, stage.fees().await), (Some(1), vec![]));
    stage.assert_headers(0..=1).await;
    assert_eq!(collector.settle().await, [], "the second look finds nothing new");
    assert_eq!(stage.position().await, Some(1));
}

async fn one_log(stage: &Stage, collector: &mut Collector) {
    stage.mine(&[1]);
    assert_eq!(collector.settle().await, [Followed::Advanced { blocks: 1, events: 1 }]);
    assert_eq!(stage.fees().await, [(2, 1)]);
    stage.assert_headers(0..=2).await;
}

async fn another_block_takes_its_place(stage: &Stage, collector: &mut Collector) -> Vec<SimBlock> {
    let first_branch = stage.chain.take_off(1);
    stage.mine(&[2]);
    stage.mine_empty(1);
    let went_back = Followed::Reorganised { depth: 1, retracted: 1 };
    assert_eq!(collector.settle().await, [went_back, Followed::Advanced { blocks: 2, events: 1 }]);
    assert_eq!(stage.fees().await, [(2, 2)]);
    stage.assert_headers(0..=3).await;
    first_branch
}

/// The very same block, with two more on top.
async fn the_first_branch_comes_back(stage: &Stage, collector: &mut Collector, first_branch: Vec<SimBlock>) {
    stage.chain.take_off(2);
    stage.chain.put_back(first_branch);
    stage.mine(&[3]);
    stage.mine_empty(1);
    assert_eq!(collector.follow().await, Followed::Reorganised { depth: 2, retracted: 1 });
    collector.settle().await;
    assert_eq!(stage.fees().await, [(2, 1), (3, 3)]);
    stage.assert_headers(1..=4).await;
}

async fn many_logs_in_many_blocks(stage: &Stage, collector: &mut Collector) {
    stage.chain.add(&[(COLLECTORS[0], fee(4)), (COLLECTORS[1], fee(5))]);
    stage.mine(&[6]);
    collector.settle().await;
    assert_eq!(stage.fees().await, [(2, 1), (3, 3), (5, 4), (5, 5), (6, 6)]);
    let emitters: Vec<_> = stage.rows().await.iter().map(|row| row.head.address).collect();
    assert_eq!(emitters[2..4], COLLECTORS);
    stage.assert_headers(3..=6).await;
}

async fn down_for_a_little_more_than_finality(
    stage: &Stage,
    mut before: Collector,
    orders: &Orders,
) -> Collector {
    before.follower.release().await;
    stage.mine_up_to(10);
    let mut collector = stage.collector("b", orders);
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 4, events: 4 });
    collector.settle().await;
    assert_eq!(stage.fees().await[5..], [(7, 7), (8, 8), (9, 9), (10, 10)]);
    stage.assert_headers(7..=10).await;
    collector
}

/// So far behind that ranges are faster: blocks 11 to 32 in threes.
async fn much_to_catch_up_with(stage: &Stage, collector: &mut Collector) {
    stage.chain.delay(3_600);
    stage.mine_up_to(35);
    stage.reader.learn(3);
    assert_eq!(collector.follow().await, Followed::Jumped { blocks: 22 });
    let ranges = collector.work_off().await;
    assert_eq!(ranges.len(), 8);
    assert!(ranges.iter().all(|range| matches!(range, Backfilled::Collected { .. })), "{ranges:?}");
    let without_headers: Vec<u64> = (11..32).collect();
    let numbers: Vec<u64> = stage.headers().await.iter().map(|header| header.number).collect();
    assert!(!without_headers.iter().any(|number| numbers.contains(number)), "{numbers:?}");
    collector.settle().await;
    assert_eq!(stage.fees().await[9..], (11..=35).map(|block| (block, block)).collect::<Vec<_>>());
    stage.assert_headers(32..=35).await;
}
