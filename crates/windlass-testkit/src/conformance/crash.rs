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

/// How many calls a worker's life has.
const CALLS: usize = 6;

/// What a worker keeps in memory, and loses with its life.
struct Worker {
    store: Arc<dyn Store>,
    name: String,
}

impl Worker {
    /// Does one piece of the work after another, as far as `calls` reaches: takes
    /// what there is to take, stores its log and its message, delivers it.
    async fn live(&self, mut calls: usize) {
        let mut call = || {
            calls = calls.saturating_sub(1);
            calls > 0
        };
        let lease =
            self.store.acquire_lease(&lease_name("l"), &owner(&self.name), ms(TTL_MS)).await.well();
        let Some(lease) = lease.filter(|_| call()) else { return };
        let mut held: Vec<_> = claim(&*self.store, "ranges", &self.name).await;
        if held.is_empty() {
            held.extend(self.store.claim_range(&self.wish()).await.well().map(|(_, job)| job));
        }
        let Some(job) = held.pop().filter(|_| call()) else { return self.deliver(&mut call).await };
        let writes = vec![
            Write::Events(vec![event(1, 100, 0, 1)]),
            Write::Publish(vec![message("p", &job.payload)]),
            Write::CompleteJob(job.ticket),
        ];
        self.store.commit(Commit::of(writes).under_job(job.ticket).under_lease(&lease)).await.well();
        if call() {
            self.deliver(&mut call).await;
        }
    }

    async fn deliver(&self, call: &mut impl FnMut() -> bool) {
        let runs = self.store.claim_messages(&delivery("s", &self.name, 10)).await.well();
        for run in runs {
            if !call() {
                return;
            }
            self.store.mark_delivered(run.hold, run.messages[0].seq).await.well();
        }
    }

    fn wish(&self) -> RangeClaim {
        RangeClaim {
            cursor: cursor_name("next"),
            queue: queue("ranges"),
            size: 10,
            max_block: 109,
            owner: owner(&self.name),
            ttl: ms(TTL_MS),
        }
    }
}

pub async fn a_worker_may_die_between_any_two_calls(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("next"), cursor(100, "next")).await.well();
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    // Each worker gets one call further than the one before it, then dies without a word.
    for calls in 1..=CALLS {
        let worker = Worker { store: harness.open().await, name: format!("w{calls}") };
        worker.live(calls).await;
        drop(worker);
        harness.clock().advance_ms(TTL_MS as i64);
    }
    assert!(list(&*store, "ranges", false).await.is_empty());
    assert_eq!(store.cursor(&cursor_name("next")).await.well(), Some(cursor(110, "next")));
    assert_eq!(store.count_events(chain(1)).await.well(), 1);
    assert_eq!(store.outbox_depth().await.well()[0].waiting, 0);
    store.register_sink(&sink("check"), SinkStart::Beginning).await.well();
    let runs = store.claim_messages(&delivery("check", "w", 10)).await.well();
    assert_eq!(runs.iter().map(|run| run.messages.len()).collect::<Vec<_>>(), [1], "one message, once");
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
