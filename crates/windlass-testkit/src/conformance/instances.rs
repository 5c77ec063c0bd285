//! Handles that prove that they are alive: what a dead one held is taken at once, what a
//! living one holds is not taken before its time is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::commit::Commit;
use windlass_core::error::StoreError;
use windlass_core::lease::{Epoch, Lease};
use windlass_core::outbox::SinkStart;
use windlass_core::range::RangeClaim;
use windlass_core::store::Store;

use super::support::{Well, claim, enqueue, publish, put, refused};
use crate::harness::Harness;
use crate::make::{TTL_MS, cursor, cursor_name, delivery, lease_name, message, ms, owner, queue, sink};

/// How long a death may take to be noticed, however slow the machine.
const MAX_NOTICE: Duration = Duration::from_secs(60);

async fn acquire(store: &dyn Store, name: &str, who: &str) -> Option<Lease> {
    store.acquire_lease(&lease_name(name), &owner(who), ms(TTL_MS)).await.well()
}

async fn taken(store: &dyn Store, name: &str, who: &str) -> Lease {
    acquire(store, name, who).await.expect("the lease is free")
}

/// Asks until there is an answer: a server hears of a death a moment later.
async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < MAX_NOTICE, "nobody noticed the death");
        tokio::task::yield_now().await;
    }
}

fn wish(who: &str) -> RangeClaim {
    RangeClaim {
        cursor: cursor_name("next"),
        queue: queue("ranges"),
        size: 10,
        max_block: 9,
        owner: owner(who),
        ttl: ms(TTL_MS),
    }
}

/// Takes one of everything that can be held.
async fn hold_everything(store: &dyn Store, who: &str) {
    enqueue(store, "q", &[("a", "1")]).await;
    store.seed_cursor(&cursor_name("next"), cursor(0, "next")).await.well();
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(store, vec![message("p", "1")]).await;
    taken(store, "l", who).await;
    assert_eq!(claim(store, "q", who).await.len(), 1);
    assert!(store.claim_range(&wish(who)).await.well().is_some());
    assert_eq!(store.claim_messages(&delivery("s", who, 1)).await.well().len(), 1);
}

/// The lease, and the attempts of the job, the range and the messages, where they can be had.
async fn held(store: &dyn Store, who: &str) -> (bool, [Option<u32>; 3]) {
    let lease = acquire(store, "l", who).await.is_some();
    let job = claim(store, "q", who).await.first().map(|job| job.attempt);
    let range = claim(store, "ranges", who).await.first().map(|job| job.attempt);
    let run = store.claim_messages(&delivery("s", who, 1)).await.well().first().map(|run| run.attempt);
    (lease, [job, range, run])
}

pub async fn a_dead_holders_lease_is_taken_at_once_under_a_new_epoch(harness: &dyn Harness) {
    let (first, second) = (harness.open_proving().await, harness.open_proving().await);
    assert_eq!(taken(&*first, "l", "first").await.epoch, Epoch(1));
    assert_eq!(acquire(&*second, "l", "second").await, None);
    drop(first);
    let heir = eventually(async || acquire(&*second, "l", "second").await).await;
    assert_eq!((heir.epoch, heir.owner), (Epoch(2), owner("second")));
}

pub async fn what_a_dead_worker_held_is_claimed_at_once_as_one_more_attempt(harness: &dyn Harness) {
    let (first, second) = (harness.open_proving().await, harness.open_proving().await);
    hold_everything(&*first, "first").await;
    drop(first);
    let job = eventually(async || claim(&*second, "q", "second").await.pop()).await;
    assert_eq!(job.attempt, 2);
    let range = claim(&*second, "ranges", "second").await;
    assert_eq!(range.iter().map(|job| job.attempt).collect::<Vec<_>>(), [2]);
    let runs = store_runs(&*second).await;
    assert_eq!(runs, [2]);
    assert_eq!(taken(&*second, "l", "second").await.epoch, Epoch(2));
}

async fn store_runs(store: &dyn Store) -> Vec<u32> {
    let runs = store.claim_messages(&delivery("s", "second", 1)).await.well();
    runs.iter().map(|run| run.attempt).collect()
}

pub async fn a_zombie_of_a_dead_instance_is_fenced(harness: &dyn Harness) {
    let (first, second) = (harness.open_proving().await, harness.open_proving().await);
    let old = taken(&*first, "l", "first").await;
    enqueue(&*first, "q", &[("a", "1")]).await;
    let job = claim(&*first, "q", "first").await.pop().expect("a job").ticket;
    drop(first);
    eventually(async || acquire(&*second, "l", "second").await).await;
    assert_eq!(claim(&*second, "q", "second").await.len(), 1);
    let write = || vec![put("k", "1")];
    refused!(second.commit(Commit::of(write()).under_lease(&old)).await, StoreError::Fenced { .. });
    refused!(second.commit(Commit::of(write()).under_job(job)).await, StoreError::Fenced { .. });
    refused!(second.extend_lease(&old, ms(TTL_MS)).await, StoreError::Fenced { .. });
    assert_eq!(second.complete_jobs(&[job]).await.well(), [job]);
}

pub async fn a_living_holder_keeps_what_it_holds(harness: &dyn Harness) {
    let (first, second) = (harness.open_proving().await, harness.open_proving().await);
    hold_everything(&*first, "first").await;
    // Another death frees nothing of what the living hold.
    let third = harness.open_proving().await;
    taken(&*third, "other", "third").await;
    drop(third);
    eventually(async || acquire(&*second, "other", "second").await).await;
    harness.clock().advance_ms(TTL_MS as i64 - 1);
    assert_eq!(held(&*second, "second").await, (false, [None; 3]));
    assert_eq!(second.list_abandoned_leases().await.well(), []);
    harness.clock().advance_ms(1);
    assert_eq!(held(&*second, "second").await, (true, [Some(2); 3]), "silent for too long");
    drop(first);
}

pub async fn a_holder_without_proof_keeps_what_it_holds_until_its_time_is_over(harness: &dyn Harness) {
    let (first, second) = (harness.open().await, harness.open_proving().await);
    hold_everything(&*first, "first").await;
    drop(first);
    harness.clock().advance_ms(TTL_MS as i64 - 1);
    assert_eq!(held(&*second, "second").await, (false, [None; 3]));
    harness.clock().advance_ms(1);
    assert_eq!(held(&*second, "second").await, (true, [Some(2); 3]));
}

pub async fn what_a_closed_handle_held_is_free(harness: &dyn Harness) {
    let (first, second) = (harness.open_proving().await, harness.open_proving().await);
    taken(&*first, "l", "first").await;
    first.close().await;
    let heir = eventually(async || acquire(&*second, "l", "second").await).await;
    assert_eq!(heir.epoch, Epoch(2));
}

pub async fn leases_of_the_dead_are_listed(harness: &dyn Harness) {
    let (first, second) = (harness.open_proving().await, harness.open_proving().await);
    taken(&*first, "b", "first").await;
    taken(&*first, "a", "first").await;
    taken(&*second, "c", "second").await;
    assert_eq!(second.list_abandoned_leases().await.well(), []);
    drop(first);
    let both = [lease_name("a"), lease_name("b")];
    let listed = async || second.list_abandoned_leases().await.well();
    eventually(async || (listed().await == both).then_some(())).await;
    let looking = harness.open().await;
    assert_eq!(looking.list_abandoned_leases().await.well(), both, "looking changes nothing");
    eventually(async || acquire(&*second, "a", "second").await).await;
    assert_eq!(listed().await, [], "what the dead held has run out");
    harness.clock().advance_ms(TTL_MS as i64);
    assert_eq!(listed().await, []);
}

pub async fn many_heirs_share_what_the_dead_have_left(harness: &dyn Harness) {
    const LANES: usize = 20;
    let first = harness.open_proving().await;
    let lanes: Vec<String> = (10..10 + LANES).map(|lane| format!("lane{lane}")).collect();
    enqueue(&*first, "q", &lanes.iter().map(|lane| (lane.as_str(), "1")).collect::<Vec<_>>()).await;
    assert_eq!(claim(&*first, "q", "first").await.len(), LANES);
    let heirs: Vec<Arc<dyn Store>> =
        vec![harness.open_proving().await, harness.open_proving().await, harness.open_proving().await];
    drop(first);
    let mut tasks = tokio::task::JoinSet::new();
    for (number, heir) in heirs.into_iter().enumerate() {
        tasks.spawn(async move {
            let (mut done, who) = (0, format!("heir{number}"));
            let started = Instant::now();
            while heir.count_jobs().await.well().iter().any(|counts| counts.open > 0) {
                let jobs = heir.claim_jobs(&crate::make::claim("q", &who, 3)).await.well();
                assert!(jobs.iter().all(|job| job.attempt == 2), "{jobs:?}");
                let tickets: Vec<_> = jobs.iter().map(|job| job.ticket).collect();
                assert_eq!(heir.complete_jobs(&tickets).await.well(), []);
                done += tickets.len();
                assert!(started.elapsed() < MAX_NOTICE, "nobody noticed the death");
            }
            done
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<usize>(), LANES);
}
