//! Finality: where a chain stands, what is kept of it, and what is asked for by it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::finality::Finality;
use windlass_core::reader::ChainErrorKind;
use windlass_core::row_query::{Comparison, Condition, Place};
use windlass_core::table::Value;
use windlass_engine::collect::sight::{KnownFinal, Sight};

use super::panel::Panel;
use super::scripted::Scripted;
use super::stage::{Orders, Stage, with_finality};
use crate::collect::chain::SimChain;
use crate::collect::endpoint::Endpoint;
use crate::database::Kind;

#[tokio::test]
async fn where_a_chain_stands_is_told_by_tag_or_by_depth() {
    let chain = Arc::new(SimChain::with_finality(0, 5));
    chain.mine(20, 0);
    let reader = Scripted::new(Arc::new(Endpoint::new(chain.clone(), 0)));
    let reader = &reader;
    let stands = |finality| async move {
        Sight::look(reader, finality, KnownFinal::NOTHING).await.map(|(sight, ..)| sight)
    };
    for (finality, block) in [
        (Finality::Finalized, 15),
        (Finality::Safe, 15),
        (Finality::Depth(0), 20),
        (Finality::Depth(3), 17),
        (Finality::Depth(20), 0),
        (Finality::Depth(21), 0),
    ] {
        let sight = stands(finality).await.expect("it is told");
        assert_eq!((sight.latest.number, sight.finalized.number), (20, block), "{finality:?}");
    }
    reader.forget(&[15]);
    let sight = stands(Finality::Finalized).await.expect("it is told");
    assert_eq!(sight.finalized.number, 0, "where nothing is known to be final, the first block is");
    reader.forget(&(0..=15).collect::<Vec<u64>>());
    let sight = stands(Finality::Finalized).await.expect("it is told");
    assert_eq!(sight.finalized.number, 16, "a chain need not begin at block 0");
    reader.set_down(true);
    let error = stands(Finality::Finalized).await.expect_err("it is down");
    assert_eq!(error.kind, ChainErrorKind::Unreachable);
}

/// Blocks come and become final while the endpoint that is down is waited for.
#[tokio::test(start_paused = true)]
async fn a_first_look_ends_although_one_of_two_endpoints_is_down() {
    for finality_blocks in [0, 3, 30] {
        let chain = Arc::new(SimChain::with_finality(0, finality_blocks));
        chain.mine(100, 0);
        let endpoint = || Arc::new(Scripted::new(Arc::new(Endpoint::new(chain.clone(), 0))));
        let (up, down) = (endpoint(), endpoint());
        down.set_down(true);
        let panel = Panel::new(vec![up, down]);
        let mined = chain.clone();
        let mining = tokio::spawn(async move {
            loop {
                sleep(Duration::from_secs(1)).await;
                mined.mine(1, 0);
            }
        });
        let looked = Sight::look(&panel, Finality::Finalized, KnownFinal::First).await;
        mining.abort();
        let (sight, _, notes) = looked.expect("one endpoint is enough in the end");
        assert!(notes.is_unheard);
        assert!(chain.head() >= 119, "it was waited for: {}", chain.head());
        let last = sight.finalized.number;
        assert!(100 - finality_blocks <= last && last <= sight.latest.number, "{sight:?}");
    }
}

/// The chain has no blocks below the first that is collected.
pub(super) async fn a_chain_that_begins_late_is_collected_from_its_first_block_on(kind: Kind) {
    for finalized in [50, 51, 55, 290, 310] {
        let stage = Stage::new(kind, 5).await;
        stage.mine_up_to(finalized + 5);
        stage.reader.forget(&(0..50).collect::<Vec<u64>>());
        let orders = super::stage::from_block(50);
        stage.collector("a", &orders).settle().await;
        stage.assert_complete(&orders).await;
        assert_eq!(stage.rechecked().await, Some(i64::try_from(finalized).expect("small")));
    }
}

pub(super) async fn finality_is_kept_with_the_position(kind: Kind) {
    for (finality, block) in [(Finality::Depth(2), 35), (Finality::Depth(40), 0), (Finality::Finalized, 32)] {
        let stage = Stage::new(kind, 5).await;
        stage.mine_up_to(37);
        let orders = with_finality(finality);
        assert_eq!(stage.sight().await, None, "nothing was seen yet");
        stage.collector("a", &orders).settle().await;
        let sight = stage.sight().await.expect("it was seen");
        assert_eq!((stage.position().await, sight.latest.number), (Some(37), 37));
        assert_eq!(sight.finalized.number, block, "{finality:?}");
    }
}

fn up_to(block: u64) -> Vec<Condition> {
    let values = vec![Value::Integer(i64::try_from(block).expect("small"))];
    vec![Condition { place: Place::Block, comparison: Comparison::AtMost, values }]
}

pub(super) async fn rows_are_told_by_finality_and_by_blocks_on_top(kind: Kind) {
    let stage = Stage::new(kind, 5).await;
    stage.mine_up_to(8);
    stage.collector("a", &Orders::default()).settle().await;
    let sight = stage.sight().await.expect("it was seen");
    assert_eq!(stage.rows_where(up_to(sight.finalized.number)).await.len(), 3);
    for (on_top, rows) in [(0, 8), (1, 7), (2, 6), (3, 5)] {
        assert_eq!(stage.rows_where(up_to(sight.latest.number - on_top)).await.len(), rows);
    }
}

/// Above finality a range is asked for by the head alone, which has the headers to check it by.
pub(super) async fn the_past_ends_at_the_last_final_block(kind: Kind) {
    let stage = Stage::new(kind, 5).await;
    stage.reader.learn(7);
    let mut collector = stage.collector("a", &Orders::default());
    for head in [40, 41, 44, 90, 91] {
        stage.mine_up_to(head);
        collector.settle().await;
        stage.mine_up_to(head + 30);
        collector.follow().await;
        stage.reader.asked();
        collector.work_off().await;
        let last = stage.reader.asked().iter().map(|range| range.to).max();
        assert!(last.is_none_or(|last| last <= stage.chain.finalized()), "{last:?} at {head}");
        collector.settle().await;
    }
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn headers_are_kept_from_the_last_final_block_on(kind: Kind) {
    let stage = Stage::new(kind, 10).await;
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    assert_eq!(stage.headers().await.len(), 1, "the first block");
    stage.mine_empty(10);
    collector.settle().await;
    stage.assert_headers(0..=10).await;
    for _ in 0..20 {
        stage.mine_empty(10);
        collector.settle().await;
    }
    stage.assert_headers(200..=210).await;
}

pub(super) async fn times_are_those_of_the_blocks(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = stage.collector("a", &Orders::default());
    stage.mine_up_to(10);
    stage.chain.delay(589);
    stage.mine_up_to(30);
    collector.settle().await;
    stage.chain.delay(643);
    stage.mine_up_to(32);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    let rows = stage.rows().await;
    let time = |block: usize| rows[block - 1].head.timestamp_s;
    assert_eq!((time(11) - time(10), time(31) - time(30), time(32) - time(31)), (591, 645, 2));
}
