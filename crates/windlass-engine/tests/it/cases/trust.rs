//! Endpoints that lie: what is stored stays unless it is proven wrong, and whoever was proven
//! wrong is named.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_primitives::B256;
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind, Header, LogSpan};
use windlass_core::table::RowHead;
use windlass_engine::collect::doubts::Doubt;
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::head::Followed;
use windlass_engine::collect::health::ChainHealth;
use windlass_engine::collect::health::report::Reporter;

use super::panel::Panel;
use super::scripted::Scripted;
use super::stage::{Collector, Orders, Stage, fee, from_block};
use crate::collect::chain::COLLECTORS;
use crate::collect::endpoint::Endpoint;
use crate::database::Kind;

/// The chain's head; blocks three below it are final.
const HEAD: u64 = 100;

/// A chain whose past was stored, and not looked at again.
async fn backfilled(kind: Kind) -> (Stage, Collector) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let mut collector = stage.collector("a", &Orders::default());
    collector.follow().await;
    collector.work_off().await;
    (stage, collector)
}

/// Another endpoint of the same chain.
fn another(stage: &Stage) -> Arc<Scripted> {
    Arc::new(Scripted::new(Arc::new(Endpoint::new(stage.chain.clone(), 0))))
}

/// Says that there are no logs.
fn nothing(_: LogSpan, _: Vec<LogEvent>) -> Vec<LogEvent> {
    Vec::new()
}

/// The same about final blocks only, so that the head can go on.
fn nothing_final(_: LogSpan, logs: Vec<LogEvent>) -> Vec<LogEvent> {
    logs.into_iter().filter(|log| log.block.number > HEAD - 3).collect()
}

pub(super) async fn a_liar_that_is_alone_deletes_nothing_and_is_asked_again(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    stage.reader.tamper(nothing_final);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    let doubts = stage.doubts().await;
    assert_eq!(doubts.count(), HEAD - 3);
    assert!(doubts.blocks.iter().all(|block| block.doubt == Doubt::BloomMismatch), "{doubts:?}");
    assert_eq!(stage.rechecked().await, Some(97), "it goes on all the same");
    stage.reader.be_honest();
    collector.settle().await;
    assert_eq!(stage.doubts().await.count(), HEAD - 3, "not before it is due");
    stage.clock.advance_ms(60_000);
    collector.settle().await;
    assert_eq!(stage.doubts().await.count(), 0);
    stage.assert_complete(&Orders::default()).await;
}

/// A liar that made many blocks doubtful does not hold up those that become final, nor the
/// doubtful ones each other.
pub(super) async fn doubtful_blocks_are_asked_about_together_and_in_turn_with_new_ones(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    stage.reader.tamper(nothing_final);
    collector.settle().await;
    assert_eq!(stage.doubts().await.count(), HEAD - 3);
    stage.clock.advance_ms(60_000);
    stage.mine_up_to(HEAD + 10);
    let looked = collector.settle().await.into_iter().filter_map(|did| match did {
        Followed::Rechecked { blocks, .. } => Some(blocks),
        _ => None,
    });
    assert_eq!(looked.collect::<Vec<_>>(), [16, 10, 16, 16, 16, 16, 16, 1]);
    assert!(stage.doubts().await.blocks.iter().all(|block| block.tries == 2));
}

pub(super) async fn a_liar_that_leaves_out_one_contract_deletes_nothing(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    for number in 1..=HEAD {
        stage.chain.add(&[(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(number))]);
    }
    let orders = from_block(0);
    let mut collector = stage.collector("a", &orders);
    collector.follow().await;
    collector.work_off().await;
    stage.reader.tamper(|_, logs| {
        let is_told = |log: &LogEvent| log.address != COLLECTORS[0] || log.block.number > HEAD - 3;
        logs.into_iter().filter(is_told).collect()
    });
    collector.settle().await;
    stage.assert_complete(&orders).await;
    assert_eq!(stage.doubts().await.count(), HEAD - 3);
}

pub(super) async fn one_liar_of_two_changes_nothing_and_is_named(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.follower.release().await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(nothing_final);
    let panel = Arc::new(Panel::new(vec![liar, honest]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel.clone());
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(panel.names().into_iter().collect::<Vec<_>>(), ["a"], "{:?}", panel.named());
    let doubts = stage.doubts().await;
    assert_eq!(doubts.count(), 0, "the other endpoint settles it");
    assert_eq!(doubts.false_endpoints.len(), 1);
    assert_eq!(stage.rechecked().await, Some(97));
}

pub(super) async fn a_liar_of_two_does_not_stop_the_head(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.settle().await;
    before.follower.release().await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(nothing);
    let panel = Arc::new(Panel::new(vec![liar, honest]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel.clone());
    stage.mine_up_to(HEAD + 10);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(panel.names().into_iter().collect::<Vec<_>>(), ["a"], "{:?}", panel.named());
}

/// A row that the chain does not have, at a final block, of the right hash.
async fn add_row(stage: &Stage) -> RowHead {
    let head = RowHead { log_index: 7, ..stage.row_of(40).await.head };
    stage.write_row(head, 40).await;
    head
}

pub(super) async fn a_row_that_one_endpoint_denies_is_kept(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    let before = stage.fees().await.len();
    add_row(&stage).await;
    let did = collector.settle().await;
    assert!(!did.iter().any(|step| matches!(step, Followed::Rechecked { mended: 1.., .. })), "{did:?}");
    assert_eq!(stage.fees().await.len(), before + 3 + 1, "those of the head, and the one in question");
    let doubts = stage.doubts().await;
    assert_eq!((doubts.blocks[0].number, doubts.blocks[0].doubt), (40, Doubt::OneEndpoint));
}

pub(super) async fn a_row_that_two_endpoints_deny_is_removed(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.follower.release().await;
    add_row(&stage).await;
    let panel = Arc::new(Panel::new(vec![another(&stage), another(&stage)]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel.clone());
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert!(panel.named().is_empty(), "{:?}", panel.named());
}

pub(super) async fn a_row_that_the_receipts_deny_is_removed(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    add_row(&stage).await;
    stage.reader.tell_receipts();
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.doubts().await.count(), 0);
}

pub(super) async fn rows_of_another_block_are_replaced_where_all_logs_give_the_bloom(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), another(&stage)]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.follow().await;
    stage.reader.tamper(|_, logs| {
        let rehashed = |log: LogEvent| match log.block.number {
            number @ 50..60 => LogEvent { block: BlockRef { number, hash: B256::repeat_byte(7) }, ..log },
            _ => log,
        };
        logs.into_iter().map(rehashed).collect()
    });
    collector.work_off().await;
    stage.reader.be_honest();
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn an_answer_by_hash_with_another_number_stores_nothing(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    collector.settle().await;
    stage.mine(&[1]);
    stage.reader.tamper(|span, logs| {
        let renumber = |log: LogEvent| LogEvent { block: BlockRef { number: 9_000, ..log.block }, ..log };
        match span {
            LogSpan::Block(_) => logs.into_iter().map(renumber).collect(),
            LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => logs,
        }
    });
    let error = collector.follower.step().await.expect_err("the answer is of another block");
    assert!(
        matches!(&error, CollectError::Chain(ChainError { kind: ChainErrorKind::Malformed, .. })),
        "{error}"
    );
    assert!(!stage.fees().await.iter().any(|(block, _)| *block > HEAD));
    stage.reader.be_honest();
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn times_at_the_head_are_those_of_the_header(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    stage.reader.tamper(|span, logs| match span {
        LogSpan::Block(_) => logs.into_iter().map(|log| LogEvent { timestamp_s: 7, ..log }).collect(),
        LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => logs,
    });
    stage.mine(&[1]);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn endpoints_with_different_headers_change_nothing(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.follower.release().await;
    add_row(&stage).await;
    let (one, other) = (another(&stage), another(&stage));
    other.tamper_headers(|mut header| {
        if header.block.number == 40 {
            header.block.hash = B256::repeat_byte(9);
        }
        header
    });
    let panel = Arc::new(Panel::new(vec![one, other]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel.clone());
    collector.settle().await;
    let doubts = stage.doubts().await;
    assert_eq!((doubts.blocks[0].number, doubts.blocks[0].doubt), (40, Doubt::Headers));
    assert!(stage.fees().await.iter().filter(|(block, _)| *block == 40).count() == 2);
}

pub(super) async fn a_doubtful_block_that_no_endpoint_serves_holds_up_no_other(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    add_row(&stage).await;
    collector.settle().await;
    assert_eq!(stage.doubts().await.count(), 1);
    stage.reader.forget(&[40]);
    stage.clock.advance_ms(60_000);
    stage.mine_empty(5);
    collector.settle().await;
    assert_eq!((stage.doubts().await.blocks[0].tries, stage.rechecked().await), (2, Some(102)));
    stage.reader.forget(&[]);
    stage.reader.tell_receipts();
    stage.clock.advance_ms(600_000);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

/// One endpoint alone, which had other hashes before than it has now: nobody can tell which are
/// right.
pub(super) async fn one_endpoint_alone_replaces_no_rows_of_another_block(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let mut collector = stage.collector("a", &Orders::default());
    collector.follow().await;
    stage.reader.tamper(|_, logs| {
        let rehashed = |log: LogEvent| match log.block.number {
            number @ 50..60 => LogEvent { block: BlockRef { number, hash: B256::repeat_byte(7) }, ..log },
            _ => log,
        };
        logs.into_iter().map(rehashed).collect()
    });
    collector.work_off().await;
    let before = stage.rows().await;
    stage.reader.be_honest();
    collector.settle().await;
    assert_eq!(stage.rows().await[..60], before[..60]);
    assert_eq!(stage.doubts().await.count(), 10);
}

/// One of two names a final block that is not there, or is on no chain of the other's.
pub(super) async fn one_endpoint_of_two_makes_nothing_final(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let liar = another(&stage);
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), liar.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.settle().await;
    let known = stage.sight().await.expect("a sight").finalized;
    liar.tamper_headers(|header| {
        let number = header.block.number + (1 << 33);
        Header { block: BlockHeader { number, hash: B256::repeat_byte(7), ..header.block }, ..header }
    });
    stage.mine(&[1_000]);
    collector.settle().await;
    assert_eq!(stage.position().await, i64::try_from(stage.chain.head()).ok(), "the head goes on");
    liar.tamper_headers(|header| Header {
        block: BlockHeader { hash: B256::repeat_byte(7), ..header.block },
        ..header
    });
    stage.mine(&[1_001]);
    collector.settle().await;
    assert_eq!(stage.position().await, i64::try_from(stage.chain.head()).ok(), "the head goes on");
    let held = stage.sight().await.expect("a sight").finalized;
    assert!(held.number <= known.number + 1, "{held:?}");
    Reporter::new(collector.chain.clone()).step().await;
    let told = ChainHealth::read(&*stage.store, &stage.names).await.expect("read").expect("a record");
    assert!(told.endpoints.iter().any(|note| note.contains("endpoints disagree about block")), "{told:?}");
    liar.be_honest();
    stage.mine(&[1_002]);
    collector.settle().await;
    let now = stage.sight().await.expect("a sight").finalized;
    assert_eq!(now.number, stage.chain.finalized());
    stage.assert_complete(&Orders::default()).await;
}

/// Makes up one more log of block 40.
fn one_more_log_at_40(_: LogSpan, mut logs: Vec<LogEvent>) -> Vec<LogEvent> {
    if let Some(log) = logs.iter().find(|log| log.block.number == 40).cloned() {
        logs.push(LogEvent { log_index: log.log_index + 9, ..log });
        logs.sort_by_key(|log| (log.block.number, log.log_index));
    }
    logs
}

/// A log was made up and stored. The endpoint that contradicts it answers for ranges and is rate
/// limited when the block is asked about: the liar's word does not settle the block.
pub(super) async fn a_contradicted_block_stays_in_doubt_while_an_endpoint_is_not_heard(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(one_more_log_at_40);
    honest.set_silent_about_blocks(true);
    let panel = Arc::new(Panel::new(vec![liar, honest.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.follow().await;
    collector.work_off().await;
    collector.settle().await;
    let doubts = stage.doubts().await;
    let told: Vec<_> = doubts.blocks.iter().map(|block| (block.number, block.doubt)).collect();
    assert_eq!(told, [(40, Doubt::Unheard)]);
    honest.set_silent_about_blocks(false);
    honest.tell_receipts();
    stage.clock.advance_ms(60_000);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.doubts().await.count(), 0);
}

/// One endpoint makes up a log, a header with the root of receipts that have it, and those receipts;
/// the other does not tell that header just then.
pub(super) async fn a_root_that_was_made_up_proves_nothing(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let (liar, honest) = (another(&stage), another(&stage));
    let panel = Arc::new(Panel::new(vec![liar.clone(), honest.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel.clone());
    liar.tamper(one_more_log_at_40);
    collector.follow().await;
    collector.work_off().await;
    liar.tell_tampered_receipts();
    liar.tamper_headers(|mut header| {
        if header.block.number == 40 {
            header.receipts_root = B256::repeat_byte(7);
        }
        header
    });
    honest.forget(&[40]);
    collector.settle().await;
    let doubts = stage.doubts().await;
    let told: Vec<_> = doubts.blocks.iter().map(|block| (block.number, block.doubt)).collect();
    assert_eq!(told, [(40, Doubt::Unheard)]);
    assert!(panel.named().is_empty(), "{:?}", panel.named());
    honest.forget(&[]);
    honest.tell_receipts();
    stage.clock.advance_ms(60_000);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(panel.names().into_iter().collect::<Vec<_>>(), ["a"]);
}

/// What one endpoint calls final waits for the other, which may know better.
pub(super) async fn nothing_becomes_final_while_an_endpoint_is_not_heard(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let silent = another(&stage);
    let panel = Arc::new(Panel::new(vec![another(&stage), silent.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.settle().await;
    silent.set_down(true);
    stage.mine_up_to(HEAD + 10);
    collector.settle().await;
    assert_eq!(stage.position().await, i64::try_from(HEAD + 10).ok(), "the head goes on");
    assert_eq!(stage.sight().await.expect("a sight").finalized.number, HEAD - 3);
    silent.set_down(false);
    stage.mine_up_to(HEAD + 11);
    collector.settle().await;
    assert_eq!(stage.sight().await.expect("a sight").finalized.number, HEAD + 8);
    stage.assert_complete(&Orders::default()).await;
}

/// One endpoint calls its newest block final. The other has no news of finality, which many chains
/// have only every few minutes: that holds it back.
pub(super) async fn what_one_endpoint_calls_final_waits_for_the_other(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let (liar, honest) = (another(&stage), another(&stage));
    let panel = Arc::new(Panel::new(vec![liar.clone(), honest.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.settle().await;
    liar.set_finalized(Some(HEAD + 10));
    honest.set_finalized(Some(HEAD - 3));
    stage.mine_up_to(HEAD + 10);
    collector.settle().await;
    assert_eq!(stage.position().await, i64::try_from(HEAD + 10).ok(), "the head goes on");
    assert_eq!(stage.sight().await.expect("a sight").finalized.number, HEAD - 3);
    honest.set_finalized(Some(HEAD + 2));
    stage.mine_up_to(HEAD + 11);
    collector.settle().await;
    assert_eq!(stage.sight().await.expect("a sight").finalized.number, HEAD + 2);
}

/// No root of receipts has the hashes of transactions: an endpoint that tells others, in logs and in
/// receipts that are right otherwise, changes nothing and accuses nobody.
pub(super) async fn receipts_do_not_decide_about_transactions(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.follower.release().await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tell_tampered_receipts();
    liar.tamper(|_, logs| {
        let changed = |log: LogEvent| match log.block.number {
            40 => LogEvent { transaction_hash: B256::repeat_byte(9), ..log },
            _ => log,
        };
        logs.into_iter().map(changed).collect()
    });
    let panel = Arc::new(Panel::new(vec![liar, honest]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel.clone());
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    let doubts = stage.doubts().await;
    let told: Vec<_> = doubts.blocks.iter().map(|block| (block.number, block.doubt)).collect();
    assert_eq!(told, [(40, Doubt::Disagreement)]);
    assert!(panel.named().is_empty(), "{:?}", panel.named());
}

/// A block that differs, and that no endpoint answers about, is called doubtful after a while, and
/// the blocks behind it have their second look.
pub(super) async fn a_block_that_nobody_tells_about_does_not_stop_the_second_look(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    // The newest blocks are stored before the endpoint falls silent; nothing is looked at again yet.
    while stage.position().await != i64::try_from(HEAD).ok() {
        collector.follow().await;
    }
    assert_eq!(stage.rechecked().await, Some(0));
    add_row(&stage).await;
    stage.reader.set_silent_about_blocks(true);
    for _ in 0..40 {
        // Each look fails, until the block is passed over.
        let _ = collector.follower.step().await;
    }
    assert_eq!(stage.rechecked().await, Some(97));
    let doubts = stage.doubts().await;
    let told: Vec<_> = doubts.blocks.iter().map(|block| (block.number, block.doubt)).collect();
    assert_eq!(told, [(40, Doubt::NoAnswer)]);
}

/// A log that was made up fits the bloom of its block if it copies another's topics. One endpoint's
/// word for it is worth nothing while the other is not heard, which may contradict it.
pub(super) async fn one_endpoint_adds_nothing_while_the_other_is_not_heard(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.follower.release().await;
    let (liar, silent) = (another(&stage), another(&stage));
    liar.tamper(one_more_log_at_40);
    silent.set_down(true);
    let panel = Arc::new(Panel::new(vec![liar.clone(), silent.clone()]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel.clone());
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.rechecked().await, Some(0), "the second look waits for the other");
    assert!(panel.named().is_empty(), "nobody is accused: {:?}", panel.named());
    silent.set_down(false);
    liar.be_honest();
    stage.clock.advance_ms(60_000);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.doubts().await.count(), 0);
}

/// One of two has other blocks from below what is final on, and names them first: the other still
/// has what is stored, so collecting does not stop, and that one is not asked.
pub(super) async fn an_endpoint_of_another_branch_stops_nothing(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let liar = another(&stage);
    let panel = Arc::new(Panel::new(vec![liar.clone(), another(&stage)]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel.clone());
    collector.settle().await;
    liar.tamper_headers(|header| {
        let number = header.block.number;
        let turned = |hash: B256| B256::from_slice(&hash.iter().rev().copied().collect::<Vec<_>>());
        let hash = if number >= 50 { turned(header.block.hash) } else { header.block.hash };
        let parent_hash =
            if number > 50 { turned(header.block.parent_hash) } else { header.block.parent_hash };
        Header { block: BlockHeader { hash, parent_hash, ..header.block }, ..header }
    });
    let error = collector.follower.step().await.expect_err("the endpoints disagree");
    let CollectError::Chain(error) = error else { panic!("{error}") };
    assert!(error.message.contains("which is final and which b has"), "{error}");
    assert_eq!((stage.halt().await, panel.set_aside().len()), (None, 1));
    stage.mine(&[1_000]);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.position().await, i64::try_from(HEAD + 1).ok());
}

/// One of two invents headers above what is stored that do not link to each other: the head goes
/// on with the blocks of the other.
pub(super) async fn unlinked_headers_of_one_endpoint_do_not_stop_the_head(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let liar = another(&stage);
    let panel = Arc::new(Panel::new(vec![liar.clone(), another(&stage)]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.settle().await;
    for block in 1..=3 {
        stage.mine(&[1_000]);
        liar.tamper_headers(move |header| match header.block.number == HEAD + block {
            true => {
                let (hash, parent_hash) = (B256::repeat_byte(7), B256::repeat_byte(8));
                Header { block: BlockHeader { hash, parent_hash, ..header.block }, ..header }
            }
            false => header,
        });
        let done = collector.follower.step().await.expect("the other endpoint has the block");
        assert!(matches!(done, Followed::Advanced { blocks: 1, .. }), "{done:?}");
        assert_eq!(stage.position().await, i64::try_from(HEAD + block).ok());
    }
    liar.be_honest();
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

/// Some endpoints take no block hash in a filter: the newest block is asked for by its number.
pub(super) async fn a_block_is_asked_for_by_number_where_its_hash_is_not_taken(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    stage.reader.set_silent_about_blocks(true);
    for block in 1..=3 {
        stage.mine(&[1_000]);
        let done = collector.follower.step().await.expect("its logs are there");
        assert!(matches!(done, Followed::Advanced { blocks: 1, .. }), "{done:?}");
        assert_eq!(stage.position().await, i64::try_from(HEAD + block).ok());
    }
    stage.assert_complete(&Orders::default()).await;
}

/// One endpoint that is asked again says the same again: what it alone was heard about is not
/// recorded as compared, and neither is what was compared before and is looked at anew.
pub(super) async fn what_two_endpoints_were_heard_about_is_recorded(kind: Kind) {
    let (stage, mut before) = backfilled(kind).await;
    before.settle().await;
    assert_eq!((stage.rechecked().await, stage.compared().await.count()), (Some(97), 0));
    before.follower.release().await;
    let panel = Arc::new(Panel::new(vec![another(&stage), another(&stage)]));
    let mut collector = stage.collector_reading("b", &Orders::default(), panel);
    stage.mine_up_to(HEAD + 10);
    collector.settle().await;
    assert_eq!(stage.rechecked().await, Some(107));
    assert_eq!(stage.compared().await.ranges(), [BlockRange { from: 98, to: 107 }]);
}

/// One of two is on a branch of its own from the last final block on. The other has just told which
/// block is final, and does not answer when it is asked for that block again.
pub(super) async fn two_final_blocks_of_one_height_are_a_dispute(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(HEAD);
    let liar = another(&stage);
    let panel = Arc::new(Panel::new(vec![liar.clone(), stage.reader.clone()]));
    let mut collector = stage.collector_reading("a", &Orders::default(), panel);
    collector.settle().await;
    let known = stage.sight().await.expect("a sight").finalized;
    liar.tamper_headers(move |header| match header.block.number == known.number + 1 {
        true => Header { block: BlockHeader { hash: B256::repeat_byte(7), ..header.block }, ..header },
        false => header,
    });
    stage.reader.forget(&[known.number + 1]);
    stage.mine(&[1_000]);
    collector.settle().await;
    assert_eq!(stage.sight().await.expect("a sight").finalized.number, known.number);
    liar.be_honest();
    stage.reader.forget(&[]);
    stage.mine(&[1_001]);
    collector.settle().await;
    assert_eq!(stage.sight().await.expect("a sight").finalized.number, stage.chain.finalized());
    stage.assert_complete(&Orders::default()).await;
}

/// The only endpoint serves a longer chain for one look, as a balancer with a wrong node behind it
/// does: what is stored is not left behind for it.
pub(super) async fn a_moment_of_another_chain_leads_nowhere(kind: Kind) {
    let (stage, mut collector) = backfilled(kind).await;
    collector.settle().await;
    let answers = AtomicUsize::new(0);
    stage.reader.tamper_headers(move |header| match answers.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => {
            let number = header.block.number + 5_000;
            Header { block: BlockHeader { number, hash: B256::repeat_byte(7), ..header.block }, ..header }
        }
        _ => header,
    });
    let did = collector.settle().await;
    assert!(!did.iter().any(|did| matches!(did, Followed::Jumped { .. })), "{did:?}");
    assert_eq!(stage.position().await, i64::try_from(HEAD).ok());
    stage.mine(&[1_000]);
    collector.settle().await;
    assert_eq!(stage.position().await, i64::try_from(HEAD + 1).ok());
    stage.assert_complete(&Orders::default()).await;
}
