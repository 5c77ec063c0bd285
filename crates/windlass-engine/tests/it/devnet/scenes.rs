//! Single scenes, each with one thing that can go wrong.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::name::Sink;
use windlass_core::outbox::{MessageClaim, SinkStart};
use windlass_devnet::chain::ReorgOptions;
use windlass_devnet::faults::{Kind, Plan};
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::head::Followed;
use windlass_engine::collect::rewind::Rewound;
use windlass_engine::supervise::{Ending, Supervisor};
use windlass_testkit::harness::Harness;

use super::sleepy::SleepyReader;
use super::world::{LEASE_TTL, World, reach_head};

#[tokio::test]
async fn a_reorg_is_taken_back_and_the_new_branch_stored() {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    let mut worker = world.worker("a", store.clone());
    (0..6).for_each(|_| world.mine(2));
    assert!(reach_head(&mut worker).await);
    world
        .chain
        .reorg(4, &ReorgOptions { return_to_pool: false, ..ReorgOptions::default() })
        .expect("a reorg");
    assert_eq!(
        worker.follower.step().await.expect("a step"),
        Followed::Reorganised { depth: 4, retracted: 8 }
    );
    assert!(reach_head(&mut worker).await);
    assert_eq!(world.difference(&*store).await, None);
}

#[tokio::test]
async fn what_was_added_and_removed_leaves_in_order() {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    let sink = Sink::new("test").expect("a sink");
    store.register_sink(&sink, SinkStart::Beginning).await.expect("registered");
    let mut worker = world.worker("a", store.clone());
    world.mine(3);
    assert!(reach_head(&mut worker).await);
    for _ in 0..2 {
        // Twice down to the same ancestor: two retractions, not one said twice.
        let depth = world.chain.head().number() - 1;
        world.chain.reorg(depth, &ReorgOptions::default()).expect("a reorg");
        assert!(reach_head(&mut worker).await);
    }
    let claim = MessageClaim {
        sink,
        owner: windlass_core::name::Owner::new("d").expect("an owner"),
        ttl: Duration::from_secs(1),
        max_messages: 100,
        max_per_partition: 100,
        max_attempts: 3,
    };
    let claimed = store.claim_messages(&claim).await.expect("claimed");
    let topics: Vec<&str> = claimed[0].messages.iter().map(|message| message.topic.as_str()).collect();
    assert_eq!(topics, ["events.added", "events.removed", "events.added", "events.removed", "events.added"]);
    let keys: BTreeSet<&str> =
        claimed[0].messages.iter().map(|message| message.idempotency_key.as_str()).collect();
    assert_eq!(keys.len(), 5, "no two facts share a key");
}

#[tokio::test]
async fn a_lagging_node_without_logs_makes_no_hole() {
    let world = World::new(3).await;
    let store = world.database().await.open().await;
    let mut worker = world.worker("a", store.clone());
    world.faults.set("lag=4of5:2:empty".parse().expect("a plan"));
    for _ in 0..10 {
        world.mine(2);
        for _ in 0..5 {
            let _ = worker.follower.step().await;
        }
    }
    world.faults.set(Plan::default());
    assert!(reach_head(&mut worker).await);
    assert!(world.faults.counts().get(Kind::Lag) > 0, "the node lagged");
    assert_eq!(world.difference(&*store).await, None);
}

#[tokio::test]
async fn a_lagging_node_is_not_taken_for_a_deep_reorg() {
    let world = World::new(5).await;
    let store = world.database().await.open().await;
    let mut worker = world.worker("a", store.clone());
    (0..30).for_each(|_| world.mine(1));
    assert!(reach_head(&mut worker).await);
    world.chain.reorg(1, &ReorgOptions::default()).expect("a reorg");
    world.faults.set("lag=3of5:20".parse().expect("a plan"));
    loop {
        match worker.follower.step().await {
            Ok(Followed::Reorganised { depth, .. }) => break assert_eq!(depth, 1),
            Ok(_) => {}
            Err(error) => assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}"),
        }
    }
}

#[tokio::test]
async fn the_first_block_ever_stored_may_be_replaced() {
    let mut world = World::new(1).await;
    (0..5).for_each(|_| world.mine(1));
    world.start_block = world.chain.head().number();
    let store = world.database().await.open().await;
    let mut worker = world.worker("a", store.clone());
    assert!(reach_head(&mut worker).await);
    world.chain.reorg(1, &ReorgOptions::default()).expect("a reorg");
    assert!(reach_head(&mut worker).await);
    assert_eq!(world.difference(&*store).await, None);
}

#[tokio::test]
async fn one_worker_at_a_time_follows_a_chain() {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    let (mut a, mut b) = (world.worker("a", store.clone()), world.worker("b", store.clone()));
    world.mine(1);
    assert_eq!(a.follower.step().await.expect("a step"), Followed::Planned);
    assert!(matches!(a.follower.step().await, Ok(Followed::Advanced { .. })));
    assert_eq!(b.follower.step().await.expect("a step"), Followed::NotOurs);
    a.follower.release().await;
    assert_eq!(b.follower.step().await.expect("a step"), Followed::Idle);
}

#[tokio::test]
async fn a_worker_that_slept_through_its_lease_writes_nothing() {
    let world = Arc::new(World::new(1).await);
    let store = world.database().await.open().await;
    assert!(reach_head(&mut world.worker("first", store.clone())).await);
    (0..3).for_each(|_| world.mine(1));
    let (w, s) = (world.clone(), store.clone());
    let meanwhile = async move {
        w.clock.advance_ms(i64::try_from(LEASE_TTL.as_millis()).expect("short") + 1);
        let mut other = w.worker("b", s.clone());
        assert!(reach_head(&mut other).await);
        w.mine(1);
        assert!(reach_head(&mut other).await);
    };
    world.clock.advance_ms(i64::try_from(LEASE_TTL.as_millis()).expect("short") + 1);
    let reader = Arc::new(SleepyReader::new(world.reader(), meanwhile));
    let mut sleeper = world.worker_with("a", store.clone(), reader);
    let refused = sleeper.follower.step().await.expect_err("its lease was taken");
    assert!(matches!(refused, CollectError::Store(StoreError::Fenced { .. })), "{refused}");
    assert_eq!(world.difference(&*store).await, None);
}

#[tokio::test]
async fn a_reorg_past_finality_stops_deletes_nothing_and_heals() {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    let mut worker = world.worker("a", store.clone());
    (0..70).for_each(|_| world.mine(1));
    assert!(reach_head(&mut worker).await);
    let before = world.rows(&*store).await;
    let deep = ReorgOptions { allow_finalized: true, ..ReorgOptions::default() };
    world.chain.reorg(69, &deep).expect("a reorg");
    let refused = worker.follower.step().await.expect_err("too deep");
    assert!(matches!(refused, CollectError::FinalityViolated { .. }), "{refused}");
    assert!(matches!(refused.retry(), RetryAdvice::After(_)), "the endpoint may be right again");
    assert_eq!(worker.backfiller.step().await.expect("a step"), Backfilled::Halted);
    assert_eq!(world.rows(&*store).await, before);
}

#[tokio::test]
async fn an_operator_goes_back_past_finality_and_it_is_collected_anew() {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    let mut worker = world.worker("a", store.clone());
    (0..70).for_each(|_| world.mine(1));
    assert!(reach_head(&mut worker).await);
    let deep = ReorgOptions { allow_finalized: true, return_to_pool: false, ..ReorgOptions::default() };
    world.chain.reorg(68, &deep).expect("a reorg");
    let ancestor = world.chain.head().number() - 69;
    let error = worker.follower.step().await.expect_err("it stands still");
    let CollectError::FinalityViolated { rewind_to, .. } = error else { panic!("{error}") };
    assert_eq!(rewind_to, Some(ancestor), "where to go back to is named");
    let operator = world.collected_chain("operator", store.clone());
    assert_eq!(operator.rewind(ancestor).await.expect("an answer"), Rewound::InUse);
    worker.follower.release().await;
    assert!(matches!(operator.rewind(ancestor).await, Ok(Rewound::Done { rows: 1.. })));
    assert!(reach_head(&mut worker).await);
    assert_eq!(world.difference(&*store).await, None);
}

#[tokio::test]
async fn a_range_that_was_asked_for_before_a_rewind_is_not_stored_after_it() {
    let world = Arc::new(World::new(1).await);
    let store = world.database().await.open().await;
    (0..90).for_each(|_| world.mine(1));
    let mut worker = world.worker("a", store.clone());
    assert_eq!(worker.follower.step().await.expect("a step"), Followed::Planned);
    worker.follower.release().await;
    let (w, s) = (world.clone(), store.clone());
    let meanwhile = async move {
        let deep = ReorgOptions { allow_finalized: true, return_to_pool: false, ..ReorgOptions::default() };
        w.chain.reorg(80, &deep).expect("a reorg");
        let ancestor = w.chain.head().number() - 81;
        let rewound = w.collected_chain("operator", s.clone()).rewind(ancestor).await;
        assert_eq!(rewound.expect("an answer"), Rewound::Done { rows: 0 });
    };
    let reader = Arc::new(SleepyReader::new(world.reader(), meanwhile));
    let mut sleeper = world.worker_with("b", store.clone(), reader);
    let lost = sleeper.backfiller.step().await.expect("a step");
    assert!(matches!(lost, Backfilled::Lost { .. }), "{lost:?}");
    assert!(world.rows(&*store).await.is_empty(), "nothing of the old branch");
    assert!(reach_head(&mut worker).await);
    assert_eq!(world.difference(&*store).await, None);
    assert_eq!(store.count_jobs().await.expect("counts"), [], "campaigns leave nothing behind");
}

#[tokio::test]
async fn a_panic_elsewhere_ends_the_follower_and_gives_its_lease_back() {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    let follower = world.worker("a", store.clone()).follower;
    world.mine(1);
    let mut supervisor = Supervisor::new(CancellationToken::new());
    supervisor.spawn("follower", |shutdown| async move { Ok(follower.run(shutdown).await?) });
    let watching = store.clone();
    supervisor.spawn("clumsy", |_| async move {
        while watching.list_leases().await.expect("leases").is_empty() {
            tokio::task::yield_now().await;
        }
        panic!("tripped")
    });
    let ending = supervisor.run(Duration::from_secs(30)).await;
    assert!(matches!(ending, Ending::Panicked { .. }), "{ending:?}");
    assert_eq!(store.list_leases().await.expect("leases"), []);
}
