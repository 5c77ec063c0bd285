//! Others on the same chain: what is kept for an index that is paused, or was taken out,
//! is no business of those that are collected.

use alloy_primitives::{Address, Bytes};
use windlass_core::commit::{Commit, Write};
use windlass_core::event::{LogEvent, Topics};
use windlass_core::range::BlockRange;
use windlass_core::store::{Door, Events};
use windlass_engine::collect::audit::{Audit, Audited, LeftOut, Next};
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;

use super::stage::{Collector, Orders, Stage, fee};
use crate::collect::chain::COLLECTORS;
use crate::database::Kind;

/// A contract that is nobody's here.
const NEIGHBOUR: Address = Address::repeat_byte(0x9e);
/// With so many contracts, logs are asked for by their events alone.
const MANY: u16 = 501;

fn many_contracts() -> Orders {
    let others = (1..MANY).map(|number| Address::left_padding_from(&number.to_be_bytes()));
    let sources = others.chain([COLLECTORS[0]]).map(|contract| (contract, 0)).collect();
    Orders { sources, ..Orders::default() }
}

/// The log of a fee in a block.
fn log_of(stage: &Stage, block: u64) -> LogEvent {
    let truth = stage.chain.truth();
    let found = truth.iter().find(|(log, _)| log.block.number == block);
    found.expect("a fee").0.clone()
}

/// Keeps a log as it came, as an index does whose event it does not fit.
async fn keep(stage: &Stage, log: &LogEvent) {
    stage.store.commit(Commit::of(vec![Write::Events(vec![log.clone()])])).await.expect("kept");
}

async fn kept(stage: &Stage) -> Vec<LogEvent> {
    stage.store.events(stage.chain.id(), (0, 0), 100).await.expect("logs")
}

async fn erase(stage: &Stage, block: u64) {
    let blocks = BlockRange { from: block, to: block };
    let erase = Write::EraseRows { table: stage.table.name.clone(), blocks, contracts: vec![] };
    stage.store.commit(Commit::of(vec![erase])).await.expect("erased");
}

async fn audited(collector: &Collector, repairs: bool) -> Audited {
    let audit = Audit::new(collector.chain.clone(), None).await.expect("an audit");
    audit.page(BlockRange { from: 0, to: 17 }, repairs).await.expect("a page")
}

pub(super) async fn what_a_neighbour_keeps_is_no_extra_among_many_contracts(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let fee = log_of(&stage, 9);
    let only_topic = Topics::new(&fee.topics.as_slice()[..1]).expect("a topic");
    let theirs = LogEvent { address: NEIGHBOUR, log_index: 7, topics: only_topic, ..fee };
    keep(&stage, &theirs).await;
    let mut collector = stage.collector("a", &many_contracts());
    let did = collector.settle().await;
    let mended = |step: &Followed| matches!(step, Followed::Rechecked { mended: 1.., .. });
    assert!(!did.iter().any(mended), "{did:?}");
    assert!(audited(&collector, false).await.is_clean(), "it is none of these contracts'");
    assert_eq!(kept(&stage).await, [theirs]);
}

pub(super) async fn a_repair_leaves_what_others_keep_of_the_same_contract(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    // Another event of the same contract.
    let other_event = LogEvent {
        log_index: 8,
        topics: Topics::new(&[]).expect("no topic"),
        data: Bytes::new(),
        ..log_of(&stage, 9)
    };
    keep(&stage, &other_event).await;
    assert!(audited(&collector, false).await.is_clean(), "it is kept for others");
    erase(&stage, 9).await;
    assert_eq!(audited(&collector, true).await.repaired, 1);
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(kept(&stage).await, [other_event]);
}

pub(super) async fn a_repair_is_no_reorg(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    erase(&stage, 9).await;
    assert_eq!(audited(&collector, true).await.repaired, 1);
    let counts = async || {
        let names = &stage.names;
        (stage.store.state(&names.generation).await, stage.store.state(&names.reorgs).await)
    };
    let told = counts().await;
    assert_eq!((told.0.expect("a state"), told.1.expect("a state")), (None, None));
    assert!(stage.store.state(&stage.names.mended).await.expect("a state").is_some());
    stage.chain.take_off(1);
    stage.mine(&[1_000]);
    stage.mine(&[1_001]);
    collector.settle().await;
    let told = counts().await;
    assert_eq!(
        (told.0.expect("a state").as_deref(), told.1.expect("a state").as_deref()),
        (Some("1"), Some("1"))
    );
}

pub(super) async fn an_audit_says_what_it_has_not_looked_at(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.follow().await;
    let audit = Audit::new(collector.chain.clone(), None).await.expect("an audit");
    let next = audit.next_page(0, 17).await.expect("an answer");
    let left_out = [(LeftOut::Collecting, 18)].into();
    assert_eq!(next, Next { page: None, left_out }, "nothing is collected yet");
    collector.settle().await;
    let next = audit.next_page(0, 17).await.expect("an answer");
    assert_eq!(next, Next { page: Some(BlockRange { from: 0, to: 17 }), left_out: [].into() });
}

pub(super) async fn a_log_that_has_a_place_in_a_table_is_nobodys_misfit(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    // It was a misfit of another event before the fees were asked for; the other is one still.
    let fits_here = log_of(&stage, 9);
    let other_event = LogEvent {
        log_index: 8,
        topics: Topics::new(&[]).expect("no topic"),
        data: Bytes::new(),
        ..log_of(&stage, 9)
    };
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    keep(&stage, &fits_here).await;
    keep(&stage, &other_event).await;
    let told = audited(&collector, true).await;
    let extra: Vec<u64> =
        told.differences.values().flat_map(|table| &table.extra).map(|key| key.block).collect();
    assert_eq!((extra, told.repaired), (vec![9], 1));
    assert_eq!(kept(&stage).await, [other_event]);
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn what_others_emit_is_no_news(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    for number in 1..=23 {
        stage.chain.add(&[(NEIGHBOUR, fee(number))]);
    }
    let mut collector = stage.collector("a", &many_contracts());
    collector.follow().await;
    let whole = BlockRange { from: 0, to: 20 };
    assert_eq!(collector.work_off().await, [Backfilled::Collected { blocks: whole, events: 0 }]);
    assert_eq!(stage.messages().await, []);
}
