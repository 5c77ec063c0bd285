//! What is asked for: one question for all that is wanted, and nothing else.

use windlass_core::range::BlockRange;
use windlass_engine::collect::head::Followed;

use super::stage::{Orders, Stage, fee, from_block};
use crate::collect::chain::COLLECTORS;
use crate::database::Kind;

pub(super) async fn one_question_serves_every_source(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    for number in 1..=23 {
        stage.chain.add(&[(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(number))]);
    }
    let mut collector = stage.collector("a", &Orders::default());
    collector.follow().await;
    collector.work_off().await;
    let questions = stage.reader.questions();
    assert_eq!(questions.len(), 1, "{questions:?}");
    let (range, filter) = &questions[0];
    assert_eq!(*range, BlockRange { from: 0, to: 20 });
    assert_eq!(filter.addresses, COLLECTORS);
    assert_eq!(filter.topics.iter().map(Vec::len).collect::<Vec<_>>(), [1], "one event, named once");
    assert_eq!(stage.fees().await.len(), 40);
}

pub(super) async fn a_source_that_is_added_asks_for_itself_only(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(23);
    let mut before = stage.collector("a", &from_block(0));
    before.settle().await;
    before.follower.release().await;
    stage.reader.asked();
    let mut after = stage.collector("b", &Orders::default());
    assert_eq!(after.follow().await, Followed::Planned);
    after.work_off().await;
    let questions = stage.reader.questions();
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert_eq!(questions[0].0, BlockRange { from: 0, to: 20 }, "what is final");
    assert_eq!(questions[0].1.addresses, [COLLECTORS[1]]);
}

pub(super) async fn the_same_sources_again_change_nothing(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(23);
    let mut before = stage.collector("a", &Orders::default());
    before.settle().await;
    before.follower.release().await;
    let version = stage.plan_version().await;
    let turned = Orders { sources: COLLECTORS.iter().rev().map(|c| (*c, 0)).collect(), ..Orders::default() };
    assert_eq!(stage.collector("b", &turned).settle().await, []);
    assert_eq!(stage.plan_version().await, version);
}

pub(super) async fn a_source_that_is_taken_out_stops_and_keeps_its_rows(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let both = |number| [(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(number))];
    for number in 1..=30 {
        stage.chain.add(&both(number));
    }
    let mut before = stage.collector("a", &Orders::default());
    before.settle().await;
    before.follower.release().await;
    let mut after = stage.collector("b", &from_block(0));
    after.settle().await;
    for number in 31..=40 {
        stage.chain.add(&both(number));
    }
    after.settle().await;
    let rows = stage.rows().await;
    let of = |contract| rows.iter().filter(move |row| row.head.address == contract);
    assert_eq!(of(COLLECTORS[0]).count(), 40);
    let kept: Vec<u64> = of(COLLECTORS[1]).map(|row| row.head.block.number).collect();
    assert_eq!(kept, (1..=30).collect::<Vec<_>>());
}

pub(super) async fn without_sources_nothing_is_stored(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let nothing = Orders { sources: vec![], ..Orders::default() };
    let mut collector = stage.collector("a", &nothing);
    collector.settle().await;
    stage.mine_up_to(33);
    collector.settle().await;
    assert_eq!(stage.fees().await, []);
    assert_eq!(stage.position().await, Some(33), "the head is followed all the same");
}
