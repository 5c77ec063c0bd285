//! A worker dies between any two calls; the next one finishes, and nothing happens twice.

use std::sync::Arc;

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::outbox::SinkStart;
use windlass_core::range::RangeClaim;
use windlass_core::store::Store;

use super::support::{Well, claim, enqueue, list, put, refused, state, tickets};
use crate::harness::Harness;
use crate::make::{
    TTL_MS, chain, cursor, cursor_name, delivery, event, lease_name, message, ms, owner, queue, sink,
};

/// How many calls a worker's whole life has.
const CALLS: usize = 6;

/// One piece of work: a range to claim, a log to store, a message to send.
struct Piece {
    lease: String,
    cursor: String,
    queue: String,
    partition: String,
    sink: String,
}

impl Piece {
    fn new(number: usize) -> Self {
        let name = |what: &str| format!("{what}{number}");
        let (lease, cursor, queue) = (name("lease"), name("next"), name("ranges"));
        Self { lease, cursor, queue, partition: name("p"), sink: name("s") }
    }

    fn wish(&self, who: &str) -> RangeClaim {
        RangeClaim {
            cursor: cursor_name(&self.cursor),
            queue: queue(&self.queue),
            size: 10,
            max_block: 109,
            owner: owner(who),
            ttl: ms(TTL_MS),
        }
    }
}

/// Does a piece of work call by call, and dies after so many of them. Takes up
/// whatever another has left undone.
async fn live(store: &dyn Store, piece: &Piece, who: &str, calls: usize) {
    let mut left = calls;
    let mut lives = || {
        left = left.saturating_sub(1);
        left > 0
    };
    let lease = store.acquire_lease(&lease_name(&piece.lease), &owner(who), ms(TTL_MS)).await.well();
    let Some(lease) = lease.filter(|_| lives()) else { return };
    let mut held = claim(store, &piece.queue, who).await;
    if held.is_empty() {
        held.extend(store.claim_range(&piece.wish(who)).await.well().map(|(_, job)| job));
    }
    if !lives() {
        return;
    }
    if let Some(job) = held.pop() {
        let writes = vec![
            Write::Events(vec![event(1, 100, 0, 1)]),
            Write::Publish(vec![message(&piece.partition, &job.payload)]),
            Write::CompleteJob(job.ticket),
        ];
        store.commit(Commit::of(writes).under_job(job.ticket).under_lease(&lease)).await.well();
    }
    if !lives() {
        return;
    }
    for run in store.claim_messages(&delivery(&piece.sink, who, 10)).await.well() {
        if !lives() {
            return;
        }
        store.mark_delivered(run.hold, run.messages[0].seq).await.well();
    }
    if lives() {
        assert!(store.release_lease(&lease).await.well());
    }
}

pub async fn a_worker_may_die_between_any_two_calls(harness: &dyn Harness) {
    let clock = harness.clock();
    for calls in 1..=CALLS {
        let (store, piece) = (harness.open().await, Piece::new(calls));
        store.seed_cursor(&cursor_name(&piece.cursor), cursor(100, "next")).await.well();
        store.register_sink(&sink(&piece.sink), SinkStart::Now).await.well();
        live(&*store, &piece, "first", calls).await;
        let store = harness.crash(store).await;
        clock.advance_ms(TTL_MS as i64);
        live(&*store, &piece, "heir", usize::MAX).await;
        assert!(list(&*store, &piece.queue, false).await.is_empty(), "died after {calls} calls");
        assert_eq!(store.cursor(&cursor_name(&piece.cursor)).await.well(), Some(cursor(110, "next")));
        let depth = store.outbox_depth().await.well();
        let depth = depth.iter().find(|depth| depth.sink == sink(&piece.sink)).expect("it was registered");
        assert_eq!(depth.waiting, 0, "died after {calls} calls");
        let next = super::support::publish(&*store, vec![message(&piece.partition, "probe")]).await;
        assert_eq!(next, [2], "one message was written before, once, though it died after {calls} calls");
    }
    let store = harness.open().await;
    assert_eq!(store.count_events(chain(1)).await.well(), 1);
    assert!(store.list_leases().await.well().is_empty(), "every heir has released what it took");
}

pub async fn what_a_dead_worker_held_comes_back_when_its_time_is_over(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1")]).await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    super::support::publish(&*store, vec![message("p", "1")]).await;
    store.acquire_lease(&lease_name("l"), &owner("dead"), ms(TTL_MS)).await.well().expect("it is free");
    assert_eq!(claim(&*store, "q", "dead").await.len(), 1);
    assert_eq!(store.claim_messages(&delivery("s", "dead", 1)).await.well().len(), 1);
    let store = harness.crash(store).await;
    let nothing = |store: Arc<dyn Store>| async move {
        let lease = store.acquire_lease(&lease_name("l"), &owner("heir"), ms(TTL_MS)).await.well();
        let jobs = claim(&*store, "q", "heir").await;
        let runs = store.claim_messages(&delivery("s", "heir", 1)).await.well();
        (lease.is_some(), jobs.len(), runs.len())
    };
    harness.clock().advance_ms(TTL_MS as i64 - 1);
    assert_eq!(nothing(store.clone()).await, (false, 0, 0));
    harness.clock().advance_ms(1);
    assert_eq!(nothing(store).await, (true, 1, 1));
}

pub async fn tickets_outlive_the_handle_they_came_from(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = tickets(&claim(&*store, "q", "w").await);
    let store = harness.crash(store).await;
    assert_eq!(store.complete_jobs(&jobs[..1]).await.well(), []);
    let store = harness.restart(store).await;
    store.commit(Commit::of(vec![put("k", "1"), Write::CompleteJob(jobs[1])])).await.well();
    refused!(
        store.commit(Commit::of(vec![put("k", "2"), Write::CompleteJob(jobs[1])])).await,
        StoreError::Fenced { .. }
    );
    assert_eq!(state(&*store, "k").await.as_deref(), Some("1"));
}
