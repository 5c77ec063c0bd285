//! Logs that come late: blocks that are seen before their logs, and events that are
//! wanted only after their blocks have passed.

use alloy_primitives::Bloom;
use windlass_core::error::RetryAdvice;
use windlass_core::finality::Finality;
use windlass_core::range::BlockRange;
use windlass_core::row_query::{Comparison, Condition, Place};
use windlass_core::table::{RowKey, Value};
use windlass_engine::collect::audit::Audit;
use windlass_engine::collect::head::Followed;

use super::stage::{Collector, Orders, Stage, fee, from_block, with_finality};
use crate::collect::chain::{COLLECTORS, SimChain};
use crate::database::Kind;

pub(super) async fn logs_that_come_late_appear_once_their_block_is_final_by_tag(kind: Kind) {
    late_logs(kind, &with_finality(Finality::Finalized)).await;
}

pub(super) async fn logs_that_come_late_appear_once_their_block_is_final_by_depth(kind: Kind) {
    late_logs(kind, &with_finality(Finality::Depth(3))).await;
}

async fn late_logs(kind: Kind, orders: &Orders) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", orders);
    collector.settle().await;
    stage.chain.add(&[(COLLECTORS[0], fee(1)), (COLLECTORS[0], fee(2)), (COLLECTORS[1], fee(3))]);
    stage.reader.hide(&[(31, 1), (31, 2)]);
    collector.settle().await;
    assert_eq!(stage.fees().await.last(), Some(&(31, 1)), "the others are not there yet");
    stage.reader.hide(&[]);
    for _ in 0..2 {
        stage.mine_empty(1);
        collector.settle().await;
        assert_eq!(stage.fees().await.last(), Some(&(31, 1)), "it is not final yet");
    }
    stage.mine_empty(1);
    let did = collector.settle().await;
    assert!(did.contains(&Followed::Rechecked { blocks: 1, mended: 1 }), "{did:?}");
    assert_eq!(stage.fees().await[29..], [(30, 30), (31, 1), (31, 2), (31, 3)]);
    stage.assert_complete(orders).await;
    let said = stage.messages().await;
    let [.., removed, added] = &said[..] else { panic!("{said:?}") };
    let spans = [removed, added].map(|message| {
        let fact: serde_json::Value = serde_json::from_str(&message.payload).expect("a fact");
        (
            message.topic.clone(),
            fact["from_block"].as_u64(),
            fact["to_block"].as_u64(),
            fact["events"].as_u64(),
        )
    });
    let expected = [
        ("events.removed".to_owned(), Some(31), Some(31), Some(0)),
        ("events.added".to_owned(), Some(31), None, Some(3)),
    ];
    assert_eq!(spans, expected, "everything in the block goes, and what there is comes");
}

pub(super) async fn an_empty_answer_is_not_believed_where_the_bloom_speaks_against_it(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    stage.mine(&[1]);
    stage.reader.hide(&[(31, 0)]);
    let error = collector.follower.step().await.expect_err("the block has logs");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    assert_eq!(stage.position().await, Some(30));
    stage.reader.hide(&[]);
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 1, events: 1 });
}

pub(super) async fn the_second_look_begins_well_below_the_head(kind: Kind) {
    for (head, begins) in [(100, 0), (400, 141)] {
        let stage = Stage::new(kind, 3).await;
        stage.mine_empty(head);
        stage.collector("a", &Orders::default()).follow().await;
        assert_eq!(stage.rechecked().await, Some(begins));
    }
}

pub(super) async fn what_a_range_missed_near_the_head_is_found_by_the_second_look(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(300);
    let mut collector = stage.collector("a", &Orders::default());
    collector.follow().await;
    stage.reader.hide(&[(250, 0)]);
    collector.work_off().await;
    assert_eq!(stage.fees().await.len(), 296);
    stage.reader.hide(&[]);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn what_a_range_missed_for_one_who_joined_later_is_found_too(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    for number in 1..=300 {
        stage.chain.add(&[(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(number))]);
    }
    let mut before = stage.collector("a", &from_block(0));
    before.settle().await;
    assert_eq!(stage.rechecked().await, Some(297));
    before.follower.release().await;
    let mut after = stage.collector("b", &Orders::default());
    after.follow().await;
    stage.reader.hide(&[(250, 1)]);
    after.work_off().await;
    stage.reader.hide(&[]);
    stage.mine_empty(3);
    after.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.rechecked().await, Some(300));
}

pub(super) async fn what_is_too_old_for_the_second_look_is_found_by_an_audit(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(300);
    let mut collector = stage.collector("a", &Orders::default());
    stage.reader.hide(&[(10, 0)]);
    collector.settle().await;
    stage.reader.hide(&[]);
    collector.settle().await;
    assert!(!stage.fees().await.contains(&(10, 10)));
    let audit = Audit::new(collector.chain.clone(), None).await.expect("an audit");
    let found = audit.page(BlockRange { from: 1, to: 297 }, true).await.expect("a page");
    let missing = found.differences.values().flat_map(|table| table.missing.clone()).collect::<Vec<_>>();
    assert_eq!(missing, [RowKey { block: 10, log_index: 0 }]);
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn an_event_that_is_wanted_later_is_collected_from_its_first_block(kind: Kind) {
    let stage = Stage::new(kind, 10).await;
    for number in 1..=60 {
        stage.chain.add(&[(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(100 + number))]);
    }
    let mut before = stage.collector("a", &from_block(1));
    before.settle().await;
    assert_eq!(stage.fees().await.len(), 60);
    before.follower.release().await;
    stage.chain.add(&[(COLLECTORS[1], fee(161))]);
    stage.reader.asked();
    let mut after = stage.collector("b", &Orders::default());
    after.settle().await;
    assert_eq!(stage.fees().await.len(), 60 + 51 + 1, "what is final, and what is new");
    stage.mine_empty(10);
    after.settle().await;
    stage.assert_complete(&Orders::default()).await;
    let first = stage.chain.block(1).expect("a block").header.block.timestamp_s;
    let since = Condition {
        place: Place::Timestamp,
        comparison: Comparison::AtLeast,
        values: vec![Value::Integer(i64::try_from(first).expect("small"))],
    };
    assert_eq!(stage.rows_where(vec![since]).await.len(), 121, "also those that lie long back");
}

/// Blocks whose blooms exclude the filter are not asked for logs, until one of them has some. A
/// process that dies right after it stored that block has not forgotten it.
pub(super) async fn that_blooms_lack_logs_is_stored_with_the_block_that_shows_it(kind: Kind) {
    let stage = Stage::of(kind, SimChain::with_id(0, 3, 5)).await;
    let orders = Orders::default();
    let mut collector = stage.collector("a", &orders);
    stage.mine_up_to(5);
    for head in 5..=60 {
        stage.mine_up_to(head);
        collector.settle().await;
    }
    stage.reader.tamper_headers(|mut header| {
        if header.block.number > 60 {
            *header.logs_bloom = Bloom::ZERO;
        }
        header
    });
    for head in 61..=63 {
        stage.mine_up_to(head);
        collector.settle().await;
    }
    stage.mine_up_to(64);
    advanced(&mut collector).await;
    let stored = async |from: u64| {
        let blocks = stage.fees().await.into_iter().map(|(block, _)| block);
        blocks.filter(|block| *block > from).collect::<Vec<_>>()
    };
    assert_eq!(stored(60).await, [64], "one block in 64 is asked for its logs all the same");
    drop(collector);
    stage.clock.advance_ms(600_000);
    let mut next = stage.collector("b", &orders);
    for head in 65..=70 {
        stage.mine_up_to(head);
        advanced(&mut next).await;
    }
    assert_eq!(stored(64).await, [65, 66, 67, 68, 69, 70]);
}

/// Steps until a block was stored, and no further.
async fn advanced(collector: &mut Collector) {
    for _ in 0..100 {
        if collector.follow().await != Followed::Idle {
            return;
        }
    }
    panic!("no block is stored");
}
