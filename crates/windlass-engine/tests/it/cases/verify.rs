//! Verifying what was backfilled: lies are found by the headers, settled by evidence, mended,
//! and whoever told them is named.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{B256, Bloom};
use tokio::time::sleep;
use windlass_core::chain::BlockRef;
use windlass_core::event::{LogEvent, Topics};
use windlass_core::reader::{ChainReader, LogSpan};
use windlass_engine::collect::verify::{Verifier, VerifyMode, VerifyOptions, VerifyStep};

use super::panel::Panel;
use super::scripted::Scripted;
use super::stage::{Collector, Orders, Stage, fee, from_block};
use crate::collect::chain::{COLLECTORS, SimChain};
use crate::collect::endpoint::Endpoint;
use crate::database::Kind;

/// The chain's head. The second look goes back to block 341, the lies lie below.
const HEAD: u64 = 600;
/// The last block that campaigns have stored.
const LAST: u64 = HEAD - 3;
/// So many steps without an end mean that there is none.
const MAX_STEPS: u32 = 200;

fn orders(mode: VerifyMode) -> Orders {
    let verify = VerifyOptions { mode, share_ppm: 1_000_000 };
    Orders { verify, ..Orders::default() }
}

/// A chain whose past was collected from this endpoint.
async fn collected(stage: &Stage, orders: &Orders, reader: Arc<dyn ChainReader>) -> Collector {
    stage.mine_up_to(HEAD);
    let mut collector = stage.collector_reading("a", orders, reader);
    collector.settle().await;
    collector
}

/// Steps until nothing is left; says what was mended.
async fn verify(collector: &Collector, seed: u64) -> (u64, Verifier) {
    let mut verifier = Verifier::new(collector.chain.clone(), seed);
    let mut mended = 0;
    for _ in 0..MAX_STEPS {
        match verifier.step().await.expect("a step") {
            VerifyStep::Idle => return (mended, verifier),
            VerifyStep::Looked { mended: more, .. }
            | VerifyStep::Recollected { mended: more, .. }
            | VerifyStep::AskedAgain { mended: more, .. } => mended += more,
            step => panic!("{step:?}"),
        }
    }
    panic!("there is no end");
}

/// Follows the head up to a block, one block after the other.
async fn follow(stage: &Stage, collector: &mut Collector, to: u64) {
    for head in stage.chain.head() + 1..=to {
        stage.mine_up_to(head);
        collector.settle().await;
    }
}

/// Another endpoint of the same chain.
fn another(stage: &Stage) -> Arc<Scripted> {
    Arc::new(Scripted::new(Arc::new(Endpoint::new(stage.chain.clone(), 0))))
}

pub(super) async fn a_history_that_is_right_is_verified_for_few_requests(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    let orders = orders(VerifyMode::Sample);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    let before = stage.rows().await;
    stage.reader.count();
    let (mended, verifier) = verify(&collector, 1).await;
    assert_eq!(mended, 0);
    let record = stage.verified().await;
    assert_eq!((record.sampled.count(), record.full.count()), (LAST + 1, 0));
    assert_eq!(record.doubts.count(), 0);
    assert!((8..=40).contains(&verifier.requests()), "{}", verifier.requests());
    assert_eq!(verifier.requests(), stage.reader.count(), "every request is counted");
    assert_eq!(stage.rows().await, before);
}

/// The head may notice it later: its blocks are above what the new chain has.
pub(super) async fn nothing_is_mended_from_a_chain_that_began_anew(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let orders = orders(VerifyMode::Full);
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), another(&stage)]));
    let collector = collected(&stage, &orders, panel).await;
    let before = stage.rows().await;
    stage.chain.restart();
    stage.mine_up_to(HEAD - 10);
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    let mut refused = 0;
    for _ in 0..20 {
        match verifier.step().await {
            Ok(VerifyStep::Looked { mended, .. } | VerifyStep::Recollected { mended, .. }) => {
                assert_eq!(mended, 0);
            }
            Ok(_) => {}
            Err(error) => {
                assert!(error.to_string().contains("nothing is mended"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "there was something to mend");
    assert_eq!(stage.rows().await, before);
}

/// The only endpoint leaves out all but a few logs of a range, without a word. Events are rare, so that
/// a sample meets few of them.
pub(super) async fn an_endpoint_that_cuts_answers_off_is_looked_at_whole(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    stage.reader.tamper(|span, logs| match span {
        LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => logs.into_iter().take(2).collect(),
        LogSpan::Block(_) => logs,
    });
    while stage.chain.head() < HEAD - 20 {
        stage.mine(&[stage.chain.head() + 1]);
        stage.mine_empty(19);
    }
    let verify_options = VerifyOptions { mode: VerifyMode::Sample, share_ppm: 20_000 };
    let orders = Orders { verify: verify_options, ..Orders::default() };
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    let (mended, _) = verify(&collector, 3).await;
    assert!(mended > 0);
    stage.assert_complete(&orders).await;
    let record = stage.verified().await;
    assert_eq!((record.sampled.count(), record.full.count()), (0, LAST + 1), "nothing is proven by a sample");
}

pub(super) async fn every_header_is_looked_at_in_full(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    let collector = collected(&stage, &orders(VerifyMode::Full), stage.reader.clone()).await;
    let (mended, verifier) = verify(&collector, 1).await;
    assert_eq!(mended, 0);
    assert_eq!(stage.verified().await.full.count(), LAST + 1);
    assert!(verifier.requests() > 2 * LAST, "headers and logs of each: {}", verifier.requests());
}

/// What an endpoint makes of ranges with blocks 50 to 199 in them.
fn in_past(lie: impl Fn(LogEvent) -> Option<LogEvent>) -> impl Fn(LogSpan, Vec<LogEvent>) -> Vec<LogEvent> {
    move |span, logs| match span {
        LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => {
            let told = |log: LogEvent| match log.block.number {
                50..200 => lie(log),
                _ => Some(log),
            };
            let mut logs: Vec<_> = logs.into_iter().filter_map(told).collect();
            logs.sort_by_key(|log| (log.block.number, log.log_index));
            logs
        }
        LogSpan::Block(_) => logs,
    }
}

/// Collects from an endpoint that lies about ranges, verifies, and has everything right.
async fn found_and_mended(
    kind: Kind,
    mode: VerifyMode,
    lie: impl Fn(LogEvent) -> Option<LogEvent> + Send + Sync + 'static,
) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tamper(in_past(lie));
    let orders = orders(mode);
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), another(&stage)]));
    let collector = collected(&stage, &orders, panel).await;
    stage.reader.be_honest();
    let (mended, _) = verify(&collector, 7).await;
    assert!(mended > 0);
    stage.assert_complete(&orders).await;
    let record = stage.verified().await;
    assert_eq!((record.mended, record.suspect.count()), (mended, 0));
    assert_eq!(record.sampled.count() + record.full.count(), LAST + 1);
}

/// A liar alone would confirm what it made up.
pub(super) async fn a_suspicious_range_waits_for_an_endpoint_that_is_not_heard(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tamper(in_past(|log| Some(LogEvent { log_index: log.log_index + 9, ..log })));
    let (orders, honest) = (orders(VerifyMode::Sample), another(&stage));
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), honest.clone()]));
    let collector = collected(&stage, &orders, panel).await;
    let mut verifier = Verifier::new(collector.chain.clone(), 7);
    let found = verifier.step().await.expect("a step");
    assert!(matches!(found, VerifyStep::Looked { mended: 1.., .. }), "{found:?}");
    honest.set_down(true);
    let suspect = stage.verified().await.suspect;
    let waited = verifier.step().await.expect("a step");
    assert_eq!(waited, VerifyStep::Waiting);
    assert_eq!(stage.verified().await.suspect, suspect);
    honest.set_down(false);
    verify(&collector, 7).await;
    stage.assert_complete(&orders).await;
}

/// The endpoint that left a log out tells a bloom without it, too.
pub(super) async fn a_bloom_of_one_endpoint_hides_nothing(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tamper(|_, logs| logs.into_iter().filter(|log| log.block.number != 60).collect());
    stage.reader.tamper_headers(|mut header| {
        if header.block.number == 60 {
            *header.logs_bloom = Bloom::ZERO;
        }
        header
    });
    let panel = Arc::new(Panel::new(vec![stage.reader.clone(), another(&stage)]));
    let collector = collected(&stage, &orders(VerifyMode::Full), panel).await;
    verify(&collector, 1).await;
    stage.assert_complete(&orders(VerifyMode::Full)).await;
}

/// Receipts that do not hash to the root in a header that does hash to its hash are no reason to
/// take the same endpoint's logs for true.
pub(super) async fn receipts_that_contradict_their_header_verify_nothing(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let orders = orders(VerifyMode::Full);
    stage.reader.tell_tampered_receipts();
    stage.reader.tamper(|_, logs| {
        logs.into_iter().filter(|log| !(50..200).contains(&log.block.number) || log.log_index > 0).collect()
    });
    stage.mine_up_to(HEAD);
    let mut collector = stage.collector("a", &orders);
    collector.settle().await;
    let mut verifier = Verifier::new(collector.chain.clone(), 7);
    while verifier.step().await.is_ok_and(|step| step != VerifyStep::Idle) {}
    let record = stage.verified().await;
    assert!((50..200).all(|number| !record.full.contains(number)), "{record:?}");
    stage.reader.be_honest();
    stage.clock.advance_ms(60_000);
    verify(&collector, 7).await;
    stage.assert_complete(&orders).await;
}

pub(super) async fn ranges_without_their_logs_are_found_and_mended(kind: Kind) {
    found_and_mended(kind, VerifyMode::Sample, |_| None).await;
}

pub(super) async fn wrong_hashes_are_found_and_mended(kind: Kind) {
    found_and_mended(kind, VerifyMode::Sample, |log| {
        let block = BlockRef { hash: B256::repeat_byte(7), ..log.block };
        Some(LogEvent { block, ..log })
    })
    .await;
}

pub(super) async fn wrong_times_are_found_and_mended(kind: Kind) {
    found_and_mended(kind, VerifyMode::Sample, |log| Some(LogEvent { timestamp_s: 7, ..log })).await;
}

pub(super) async fn wrong_numbers_are_found_and_mended(kind: Kind) {
    found_and_mended(kind, VerifyMode::Full, |log| match log.block.number {
        number @ 60..70 => {
            // Where it comes to stand, no other log may stand.
            let block = BlockRef { number: number + 200, ..log.block };
            Some(LogEvent { block, log_index: 9, ..log })
        }
        _ => Some(log),
    })
    .await;
}

pub(super) async fn a_missing_log_is_found_and_mended(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    while stage.chain.head() < 80 {
        stage.mine(&[1, 2, 3]);
    }
    stage.reader.tamper(|span, logs| match span {
        LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => {
            logs.into_iter().filter(|log| (log.block.number, log.log_index) != (60, 1)).collect()
        }
        LogSpan::Block(_) => logs,
    });
    let orders = orders(VerifyMode::Full);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    assert_eq!(stage.fees().await.len() as u64, 3 * 80 + (HEAD - 80) - 1);
    stage.reader.be_honest();
    assert_eq!(verify(&collector, 1).await.0, 1);
    stage.assert_complete(&orders).await;
}

pub(super) async fn a_liar_of_two_is_named_and_what_it_left_out_collected_from_the_other(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(|_, logs| logs.into_iter().filter(|log| !(50..200).contains(&log.block.number)).collect());
    let panel = Arc::new(Panel::new(vec![liar, honest]));
    let orders = orders(VerifyMode::Sample);
    let collector = collected(&stage, &orders, panel.clone()).await;
    assert_eq!(stage.fees().await.len() as u64, HEAD - 150, "nobody has noticed");
    assert!(panel.named().is_empty(), "{:?}", panel.named());
    verify(&collector, 3).await;
    stage.assert_complete(&orders).await;
    assert_eq!(panel.names().into_iter().collect::<Vec<_>>(), ["a"], "{:?}", panel.named());
    let told = stage.verified().await.doubts.false_endpoints;
    assert_eq!(told.iter().map(|one| one.endpoint.as_str()).collect::<Vec<_>>(), ["a"]);
}

pub(super) async fn a_liar_that_is_alone_is_told_and_asked_again(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage
        .reader
        .tamper(|_, logs| logs.into_iter().filter(|log| !(50..200).contains(&log.block.number)).collect());
    let orders = orders(VerifyMode::Sample);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    assert_eq!(verify(&collector, 3).await.0, 0);
    let record = stage.verified().await;
    assert!(record.doubts.count() > 0, "{record:?}");
    let settled = record.sampled.count() + record.full.count();
    assert_eq!(
        (settled, record.unsettled.count() + record.unproven.count()),
        (0, LAST + 1),
        "it is not proven"
    );
    assert_eq!(record.doubts.false_endpoints.len(), 1);
    stage.reader.be_honest();
    stage.clock.advance_ms(60_000);
    verify(&collector, 3).await;
    stage.assert_complete(&orders).await;
    let record = stage.verified().await;
    let counts = (record.sampled.count(), record.unproven.count(), record.doubts.count());
    assert_eq!(counts, (0, LAST + 1, 0), "nothing proves it but its own word");
    stage.reader.tell_receipts();
    let (_, mut again) = verify(&collector, 3).await;
    again.release().await;
    let record = stage.verified().await;
    let counts = (record.sampled.count(), record.full.count(), record.unproven.count());
    assert_eq!(counts, (0, LAST + 1, 0), "a sample is not enough any more");
}

pub(super) async fn a_share_of_requests_is_kept(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let verify = VerifyOptions { mode: VerifyMode::Full, share_ppm: 20_000 };
    let orders = Orders { verify, ..Orders::default() };
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    let mut steps = 0;
    while verifier.step().await.expect("a step") != VerifyStep::OverBudget {
        steps += 1;
        assert!(steps < 10, "it costs too much: {}", verifier.requests());
    }
    assert!(stage.verified().await.full.count() < LAST, "not at once");
    assert_eq!(verifier.step().await.expect("a step"), VerifyStep::OverBudget);
}

pub(super) async fn logs_outside_blooms_are_kept_and_remembered(kind: Kind) {
    let stage = Stage::of(kind, SimChain::with_id(0, 3, 5)).await;
    let orders = orders(VerifyMode::Sample);
    let endpoints = [another(&stage), another(&stage)];
    for endpoint in &endpoints {
        endpoint.tamper_headers(|mut header| {
            *header.logs_bloom = Bloom::ZERO;
            header
        });
    }
    let panel = Arc::new(Panel::new(endpoints.to_vec()));
    let collector = collected(&stage, &orders, panel.clone()).await;
    assert_eq!(verify(&collector, 1).await.0, 0);
    stage.assert_complete(&orders).await;
    let record = stage.verified().await;
    assert!(record.has_logs_outside_blooms);
    assert_eq!((record.sampled.count(), record.doubts.count()), (LAST + 1, 0));
    assert!(panel.named().is_empty(), "{:?}", panel.named());
}

/// Guards against blocks that were called proven because an empty bloom has no room for the logs
/// that the endpoints left out, on a chain whose blooms are always empty.
pub(super) async fn logs_left_out_under_empty_blooms_are_found(kind: Kind) {
    let stage = Stage::of(kind, SimChain::with_id(0, 3, 5)).await;
    let orders = orders(VerifyMode::Full);
    let endpoints = [another(&stage), another(&stage)];
    for endpoint in &endpoints {
        endpoint.tamper(in_past(|_| None));
        endpoint.tamper_headers(|mut header| {
            *header.logs_bloom = Bloom::ZERO;
            header
        });
    }
    let collector = collected(&stage, &orders, Arc::new(Panel::new(endpoints.to_vec()))).await;
    assert_eq!(stage.fees().await.len() as u64, HEAD - 150, "nobody has noticed");
    assert!(verify(&collector, 1).await.0 > 0);
    stage.assert_complete(&orders).await;
    assert_eq!(stage.verified().await.doubts.count(), 0);
}

pub(super) async fn a_source_that_joins_is_verified_too(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    for number in 1..=HEAD {
        stage.chain.add(&[(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(number))]);
    }
    let whole = VerifyOptions { mode: VerifyMode::Full, share_ppm: 1_000_000 };
    let mut before = stage.collector("a", &Orders { verify: whole, ..from_block(0) });
    before.settle().await;
    verify(&before, 1).await.1.release().await;
    assert_eq!(stage.verified().await.full.count(), LAST + 1);
    before.follower.release().await;
    stage.reader.tamper(in_past(|_| None));
    let orders = orders(VerifyMode::Full);
    let mut after = stage.collector("b", &orders);
    after.settle().await;
    stage.reader.be_honest();
    verify(&after, 1).await;
    let stored = stage.fees().await;
    assert_eq!(stored.iter().filter(|(block, _)| *block <= LAST).count() as u64, 2 * LAST);
}

pub(super) async fn what_is_rewound_is_verified_again(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    let orders = orders(VerifyMode::Sample);
    let mut collector = collected(&stage, &orders, stage.reader.clone()).await;
    let (_, mut verifier) = verify(&collector, 1).await;
    collector.follower.release().await;
    verifier.release().await;
    collector.chain.rewind(100).await.expect("rewound");
    assert_eq!(stage.verified().await.sampled.count(), 101);
    collector.settle().await;
    verify(&collector, 1).await;
    assert_eq!(stage.verified().await.sampled.count(), LAST + 1);
}

pub(super) async fn one_process_verifies_at_a_time(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    let orders = orders(VerifyMode::Sample);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    let (_, mut verifier) = verify(&collector, 1).await;
    let other = stage.collector("b", &orders);
    let mut second = Verifier::new(other.chain.clone(), 2);
    assert_eq!(second.step().await.expect("a step"), VerifyStep::NotOurs);
    verifier.release().await;
    assert_eq!(second.step().await.expect("a step"), VerifyStep::Idle);
}

pub(super) async fn nothing_is_verified_where_it_is_off(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let orders = orders(VerifyMode::Off);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    let (_, verifier) = verify(&collector, 1).await;
    assert_eq!((verifier.requests(), stage.verified().await.sampled.count()), (0, 0));
}

/// No bloom knows a log's data: only receipts show that it was altered, and they prove what is right.
pub(super) async fn altered_data_is_found_by_receipts(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tamper(with_altered_data(50..60));
    let orders = orders(VerifyMode::Full);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    stage.reader.tell_receipts();
    assert_eq!(verify(&collector, 1).await.0, 10);
    stage.assert_complete(&orders).await;
    let record = stage.verified().await;
    assert_eq!((record.full.count(), record.doubts.count()), (LAST + 1, 0));
    assert_eq!(record.doubts.false_endpoints.len(), 1, "and who told it is named");
}

/// The data of some logs, altered wherever it is told.
fn with_altered_data(blocks: std::ops::Range<u64>) -> impl Fn(LogSpan, Vec<LogEvent>) -> Vec<LogEvent> {
    move |_, logs| {
        let lie = |log: LogEvent| match blocks.contains(&log.block.number) {
            true => LogEvent { data: log.data.iter().map(|byte| byte ^ 1).collect(), ..log },
            false => log,
        };
        logs.into_iter().map(lie).collect()
    }
}

/// What one endpoint of two told is not verified by asking it again while the other is away.
pub(super) async fn one_endpoint_of_two_proves_nothing_alone(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(with_altered_data(50..60));
    let panel = Arc::new(Panel::new(vec![liar.clone(), honest.clone()]));
    let orders = orders(VerifyMode::Full);
    stage.mine_up_to(HEAD);
    let mut collector = stage.collector_reading("a", &orders, panel);
    collector.follow().await;
    collector.work_off().await;
    honest.set_down(true);
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    verifier.step().await.expect_err("one alone proves nothing");
    assert_eq!(stage.verified().await.full.count(), 0);
    verifier.release().await;
    honest.set_down(false);
    verify(&collector, 1).await;
    let record = stage.verified().await;
    assert_eq!(record.doubts.count(), 10, "{record:?}");
    assert!((50..60).all(|block| !record.full.contains(block)), "{record:?}");
    liar.be_honest();
    stage.clock.advance_ms(60_000);
    verify(&collector, 1).await;
    collector.settle().await;
    stage.assert_complete(&orders).await;
}

pub(super) async fn what_the_head_has_stored_is_looked_at_in_full(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let orders = orders(VerifyMode::Full);
    let mut collector = collected(&stage, &orders, stage.reader.clone()).await;
    stage.reader.tamper(with_altered_data(HEAD + 1..HEAD + 100));
    follow(&stage, &mut collector, HEAD + 10).await;
    stage.reader.tell_receipts();
    assert_eq!(verify(&collector, 1).await.0, 7, "those that are final");
    assert_eq!(stage.verified().await.full.count(), HEAD + 8);
}

/// It says the same when it is asked again: only receipts show it. One false block that a sample
/// has found is enough to look at all around it.
pub(super) async fn a_liar_that_is_alone_at_the_head_is_found_by_a_sample(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    let orders = orders(VerifyMode::Sample);
    let mut collector = collected(&stage, &orders, stage.reader.clone()).await;
    verify(&collector, 1).await.1.release().await;
    stage.reader.tamper(with_altered_data(HEAD + 1..HEAD + 1_000));
    follow(&stage, &mut collector, HEAD + 240).await;
    assert_eq!(verify(&collector, 1).await.0, 237, "those that are final");
    let record = stage.verified().await;
    let counts = (record.sampled.count(), record.full.count(), record.doubts.count());
    assert_eq!(counts, (0, HEAD + 238, 0), "after a lie everything is looked at");
    assert_eq!(record.doubts.false_endpoints.len(), 1);
    follow(&stage, &mut collector, HEAD + 300).await;
    assert_eq!(verify(&collector, 1).await.0, 60, "more blocks are not waited for");
    assert_eq!(stage.verified().await.full.count(), HEAD + 298);
}

/// Many doubtful blocks do not hold up what was not verified yet.
pub(super) async fn doubtful_blocks_and_segments_are_verified_in_turn(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(with_altered_data(50..90));
    let panel = Arc::new(Panel::new(vec![liar, honest]));
    let orders = orders(VerifyMode::Full);
    let collector = collected(&stage, &orders, panel).await;
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    while stage.verified().await.doubts.count() < 40 {
        verifier.step().await.expect("a step");
    }
    stage.clock.advance_ms(60_000);
    let mut did = Vec::new();
    for _ in 0..6 {
        did.push(match verifier.step().await.expect("a step") {
            VerifyStep::AskedAgain { blocks, .. } => ("again", blocks),
            VerifyStep::Looked { blocks, .. } => ("looked", blocks.count()),
            step => panic!("{step:?}"),
        });
    }
    let looked = ("looked", 100);
    assert_eq!(did, [("again", 16), looked, ("again", 16), looked, ("again", 8), looked]);
}

/// What is false is mended whatever the share, and what that takes is not taken from the share.
pub(super) async fn mending_is_not_of_the_share(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (liar, honest) = (another(&stage), another(&stage));
    liar.tamper(in_past(|log| (!(50..300).contains(&log.block.number)).then_some(log)));
    let panel = Arc::new(Panel::new(vec![liar, honest]));
    let verify_options = VerifyOptions { mode: VerifyMode::Sample, share_ppm: 0 };
    let orders = Orders { verify: verify_options, ..Orders::default() };
    let collector = collected(&stage, &orders, panel).await;
    let (mended, verifier) = verify(&collector, 3).await;
    assert!(mended > 0 && verifier.requests() > 256, "{mended}, {}", verifier.requests());
    stage.assert_complete(&orders).await;
    assert_eq!(stage.verified().await.sampled.count(), LAST + 1, "all of it is verified in the end");
}

/// A log that the block's bloom excludes, and that its only endpoint tells of again and again: that
/// is kept, and proves nothing.
pub(super) async fn what_the_only_endpoint_says_again_is_not_proven(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tamper(|_, mut logs| {
        let made_up = logs.iter().filter(|log| log.block.number < 200).map(|log| LogEvent {
            log_index: log.log_index + 50,
            topics: Topics::new(&[log.topics.as_slice()[0], B256::repeat_byte(7)]).expect("few"),
            ..log.clone()
        });
        logs.extend(made_up.collect::<Vec<_>>());
        logs
    });
    let orders = orders(VerifyMode::Full);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    verify(&collector, 1).await;
    let record = stage.verified().await;
    assert!((0..200).all(|block| !record.full.contains(block)), "{record:?}");
}

/// What was left unproven is looked at by the next process, also where its first step fails.
pub(super) async fn what_was_not_proven_is_looked_at_after_a_start(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let orders = orders(VerifyMode::Sample);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    verify(&collector, 1).await.1.release().await;
    assert_eq!(stage.verified().await.unproven.count(), LAST + 1);
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    stage.reader.set_down(true);
    verifier.step().await.expect_err("it is down");
    stage.reader.set_down(false);
    stage.reader.tell_receipts();
    assert!(matches!(verifier.step().await.expect("a step"), VerifyStep::Looked { .. }));
    let record = stage.verified().await;
    assert_eq!((record.sampled.count(), record.unproven.count()), (LAST + 1, 0));
}

/// One block that the only endpoint does not answer about becomes doubtful; all others are proven.
pub(super) async fn a_block_that_is_not_answered_about_holds_up_no_suspicious_range(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tamper(with_altered_data(20..90));
    let orders = orders(VerifyMode::Full);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    stage.reader.tell_receipts();
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    let found = verifier.step().await.expect("a step");
    assert!(matches!(found, VerifyStep::Looked { mended: 1.., .. }), "{found:?}");
    stage.reader.forget(&[1]);
    for _ in 0..MAX_STEPS {
        if stage.verified().await.suspect.count() == 0 {
            break;
        }
        match verifier.step().await.expect("a step") {
            VerifyStep::Waiting | VerifyStep::Idle => sleep(Duration::from_millis(500)).await,
            _ => {}
        }
    }
    let record = stage.verified().await;
    let doubtful: Vec<u64> = record.doubts.blocks.iter().map(|block| block.number).collect();
    assert_eq!((record.suspect.count(), &doubtful[..]), (0, &[1][..]));
    stage.assert_complete(&orders).await;
}

/// One of three goes on altering logs that it is asked for by their blocks: verification ends.
pub(super) async fn a_liar_that_never_ends_does_not_keep_two_others_from_proof(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (liar, one, other) = (another(&stage), another(&stage), another(&stage));
    liar.tamper(with_altered_data(0..1_000));
    let panel = Arc::new(Panel::new(vec![one, other, liar]));
    let orders = orders(VerifyMode::Full);
    let collector = collected(&stage, &orders, panel).await;
    verify(&collector, 1).await;
    assert_eq!(stage.verified().await.full.count(), LAST + 1);
    stage.assert_complete(&orders).await;
}

/// An endpoint that fails now and then at receipts has them all the same.
pub(super) async fn receipts_that_fail_at_times_prove_in_the_end(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.reader.tell_receipts();
    let orders = orders(VerifyMode::Sample);
    let collector = collected(&stage, &orders, stage.reader.clone()).await;
    stage.reader.fail_percent(15);
    let mut verifier = Verifier::new(collector.chain.clone(), 1);
    for _ in 0..MAX_STEPS {
        if matches!(verifier.step().await, Ok(VerifyStep::Looked { .. })) {
            break;
        }
    }
    let record = stage.verified().await;
    assert_eq!((record.sampled.count(), record.unproven.count()), (LAST + 1, 0));
}
