//! How collecting goes, told to others: what is written, when, and by whom.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::error::StoreError;
use windlass_core::name::Owner;
use windlass_core::reader::ChainReader;
use windlass_core::store::{Health, Leases};
use windlass_core::time::Timestamp;
use windlass_engine::collect::finality_wait::FinalityWaited;
use windlass_engine::collect::head::Followed;
use windlass_engine::collect::health::report::Reporter;
use windlass_engine::collect::health::{ChainHealth, Phase};

use super::logbook::Logbook;
use super::panel::Panel;
use super::scripted::Scripted;
use super::stage::{Collector, LEASE_TTL, Orders, Stage, from_block};
use crate::collect::endpoint::Endpoint;
use crate::database::Kind;

const LOST: &str = "the chain cannot be collected now";
const FOUND: &str = "the chain can be collected again";

/// A collector that has made its plan, and its reporter.
async fn planned(stage: &Stage, name: &str) -> (Collector, Reporter) {
    let mut collector = stage.collector(name, &from_block(1));
    assert_eq!(collector.follow().await, Followed::Planned);
    let reporter = Reporter::new(collector.chain.clone());
    (collector, reporter)
}

async fn written(stage: &Stage) -> ChainHealth {
    ChainHealth::read(&*stage.store, &stage.names).await.expect("read").expect("a record")
}

/// Lets the loops' own time pass; the store's is another.
pub(super) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

pub(super) async fn how_it_goes_is_written_when_it_changes_and_seldom_otherwise(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(23);
    let (mut collector, mut reporter) = planned(&stage, "a").await;
    assert!(reporter.step().await, "the chain was taken");
    assert!(!reporter.step().await && !reporter.step().await, "nothing has changed");
    let first = written(&stage).await;
    let now = stage.store.now().await.expect("a time");
    assert_eq!((first.owner.as_str(), first.phase, first.at), ("a/head", Phase::Collecting, now));
    assert!(first.is_fresh(now) && first.heard_at.is_some() && first.trouble.is_none());
    assert_eq!(first.head.map(|head| head.number), Some(23));
    stage.clock.advance_ms(20_000);
    collector.settle().await;
    assert!(!reporter.step().await, "blocks and ranges are no reason to write");
    pass(Duration::from_secs(10)).await;
    assert!(reporter.step().await, "it stays fresh");
    let second = written(&stage).await;
    assert!(second.at > first.at && second.stale_at > first.stale_at);
    let gone = Timestamp::from_ms(second.at.as_ms() + 30_000);
    assert!(!second.is_fresh(gone), "and says nothing of one who died");
}

/// Its steps end well, and the head stays where it is: that is said too, with the reason.
pub(super) async fn a_head_that_stands_still_says_why(kind: Kind) {
    let stage = Stage::new(kind, 100).await;
    let (mut collector, mut reporter) = planned(&stage, "a").await;
    stage.mine_up_to(23);
    collector.settle().await;
    assert!(reporter.step().await);
    stage.reader.set_head(Some(20));
    stage.reader.forget(&[23]);
    let (said, _listening) = Logbook::open();
    for _ in 0..3 {
        assert_eq!(collector.follow().await, Followed::Idle);
        pass(Duration::from_secs(30)).await;
        reporter.step().await;
    }
    let trouble = written(&stage).await.trouble.expect("it stands still");
    let words = "the endpoints are at block 20 and do not know block 23, which is stored";
    assert_eq!(trouble.message, words);
    assert_eq!(said.count(LOST), 1);
    stage.reader.set_head(None);
    stage.reader.forget(&[]);
    collector.settle().await;
    reporter.step().await;
    assert_eq!((written(&stage).await.trouble, said.count(FOUND)), (None, 1));
}

pub(super) async fn a_chain_that_is_lost_is_told_once_and_once_more_when_it_is_found(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(23);
    let (mut collector, mut reporter) = planned(&stage, "a").await;
    assert!(reporter.step().await);
    let (said, _listening) = Logbook::open();
    stage.reader.set_down(true);
    collector.follower.step().await.expect_err("it is down");
    assert!(!reporter.step().await, "it may be over in a moment");
    for expected in [true, false, false] {
        pass(Duration::from_secs(2)).await;
        collector.follower.step().await.expect_err("it is down");
        collector.backfiller.step().await.expect_err("for ranges too");
        assert_eq!(reporter.step().await, expected);
    }
    let trouble = written(&stage).await.trouble.expect("trouble");
    assert_eq!((trouble.code.as_str(), trouble.message.as_str()), ("W0201", "the endpoint is down"));
    assert_eq!((said.count(LOST), said.count(FOUND)), (1, 0));
    stage.reader.set_down(false);
    collector.follow().await;
    assert!(reporter.step().await, "all is well again");
    assert_eq!(written(&stage).await.trouble, None);
    assert_eq!((said.count(LOST), said.count(FOUND)), (1, 1));
}

pub(super) async fn a_database_that_refuses_is_no_trouble_of_endpoints(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (mut collector, mut reporter) = planned(&stage, "a").await;
    stage.mine_up_to(5);
    stage.store.fail("commit", [StoreError::DiskFull]);
    collector.follower.step().await.expect_err("it is full");
    // Time goes on with the next call.
    stage.store.now().await.expect("a time");
    pass(Duration::from_secs(2)).await;
    assert!(reporter.step().await, "there is room for this much");
    assert_eq!(written(&stage).await.trouble.map(|trouble| trouble.code).as_deref(), Some("W0104"));
}

pub(super) async fn one_who_lost_the_chain_says_nothing_more_about_it(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (_asleep, mut late) = planned(&stage, "a").await;
    stage.clock.advance_ms(LEASE_TTL.as_millis() as i64);
    let mut heir = stage.collector("b", &from_block(1));
    heir.follow().await;
    assert!(Reporter::new(heir.chain.clone()).step().await);
    assert!(!late.step().await, "its lease is history");
    assert_eq!(written(&stage).await.owner.as_str(), "b/head");
}

pub(super) async fn the_last_word_is_that_it_was_let_go(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (collector, mut reporter) = planned(&stage, "a").await;
    assert!(reporter.step().await);
    let over = CancellationToken::new();
    over.cancel();
    collector.follower.run(over).await.expect("a clean end");
    let last = written(&stage).await;
    assert_eq!((last.phase, last.is_fresh(last.at)), (Phase::Ended, false));
    assert_eq!(stage.store.list_leases().await.expect("leases"), []);
    pass(Duration::from_secs(60)).await;
    assert!(!reporter.step().await, "nothing comes behind it");
    assert_eq!(written(&stage).await.phase, Phase::Ended);
}

pub(super) async fn one_who_does_not_hold_the_chain_takes_it_for_one_word_only(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let now = stage.store.now().await.expect("a time");
    let word = ChainHealth {
        owner: Owner::new("c").expect("a name"),
        phase: Phase::Starting,
        at: now,
        stale_at: now.after(Duration::from_secs(60)),
        heard_at: None,
        head: None,
        trouble: None,
        endpoints: Vec::new(),
        finality_waited: FinalityWaited::default(),
    };
    assert!(word.tell(&*stage.store, &stage.names).await.expect("told"));
    assert_eq!(written(&stage).await, word);
    assert_eq!(stage.store.list_leases().await.expect("leases"), [], "the chain is free");
    let (_collector, mut reporter) = planned(&stage, "a").await;
    assert!(reporter.step().await);
    assert!(!word.tell(&*stage.store, &stage.names).await.expect("not told"), "who collects it knows better");
    assert_eq!(written(&stage).await.owner.as_str(), "a/head");
}

pub(super) async fn who_waits_says_for_whom_once(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let (said, _listening) = Logbook::open();
    let (mut first, _) = planned(&stage, "a").await;
    let mut second = stage.collector("b", &Orders::default());
    for _ in 0..3 {
        assert_eq!(second.follow().await, Followed::NotOurs);
    }
    assert_eq!(said.count("another process holds the chain"), 1);
    assert_eq!(said.count("holder=a/head left_s=30"), 1);
    first.follower.release().await;
    second.follow().await;
    assert_eq!(said.count("this process collects the chain now"), 1);
}

/// The wait for an endpoint that is gone has an end, also where processes are restarted meanwhile;
/// while it lasts, that is said.
pub(super) async fn what_is_final_waits_no_longer_because_of_restarts(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let gone = Arc::new(Scripted::new(Arc::new(Endpoint::new(stage.chain.clone(), 1))));
    let both: Arc<dyn ChainReader> = Arc::new(Panel::new(vec![stage.reader.clone(), gone.clone()]));
    let finalized = || async { stage.sight().await.map(|sight| sight.finalized.number) };
    let mut first = stage.collector_reading("first", &from_block(1), both.clone());
    first.settle().await;
    first.follower.release().await;
    gone.set_down(true);
    for minutes in [4, 4, 4] {
        stage.mine_up_to(stage.chain.head() + 10);
        let mut collector = stage.collector_reading("next", &from_block(1), both.clone());
        collector.settle().await;
        assert_eq!(finalized().await, Some(27), "the other may be heard yet");
        let mut reporter = Reporter::new(collector.chain.clone());
        assert!(reporter.step().await);
        let notes = written(&stage).await.endpoints;
        assert!(notes.iter().any(|note| note.contains("nothing becomes final")), "{notes:?}");
        pass(Duration::from_secs(minutes * 60)).await;
        collector.follow().await;
        assert!(reporter.step().await);
        collector.follower.release().await;
    }
    stage.mine_up_to(stage.chain.head() + 10);
    let mut last = stage.collector_reading("last", &from_block(1), both);
    last.settle().await;
    assert_eq!(finalized().await, Some(stage.chain.finalized()));
    assert!(Reporter::new(last.chain.clone()).step().await);
    assert_eq!(written(&stage).await.endpoints, Vec::<String>::new());
}
