//! A lane that is worked off leaves nothing behind, and nobody who held it comes back.

use windlass_core::commit::{Commit, Fence, Write};
use windlass_core::error::StoreError;
use windlass_core::job::{JobId, JobTicket, QueueCounts};
use windlass_core::store::Store;

use super::support::{Well, claim, claim_runs, dead, enqueue, list, payloads, put, refused, retry, state};
use crate::harness::Harness;
use crate::make::{ms, queue};

/// A ticket that was good once is good for nothing.
async fn assert_history(store: &dyn Store, ticket: JobTicket) {
    assert_eq!(store.complete_jobs(&[ticket]).await.well(), [ticket]);
    assert_eq!(store.extend_jobs(&[ticket], ms(1)).await.well(), [ticket]);
    store.release_jobs(&[ticket]).await.well();
    refused!(store.fail_job(&retry(ticket, "x", 0)).await, StoreError::Fenced { .. });
    refused!(store.fail_job(&dead(ticket, "x")).await, StoreError::Fenced { .. });
    let finish = Commit::of(vec![put("late", "1"), Write::CompleteJob(ticket)]);
    refused!(store.commit(finish).await, StoreError::Fenced { .. });
    let standing = Commit { fences: vec![Fence::Job(ticket)], ..Commit::of(vec![put("late", "2")]) };
    refused!(store.commit(standing).await, StoreError::Fenced { .. });
    assert_eq!(state(store, "late").await, None, "it has written nothing");
}

pub async fn a_lane_that_is_worked_off_never_comes_back(harness: &dyn Harness) {
    let store = harness.open().await;
    let mut seen: Vec<JobTicket> = Vec::new();
    for turn in 0..4 {
        let ids = enqueue(&*store, "q", &[("a", "1")]).await;
        assert!(seen.iter().all(|ticket| ticket.job.lane != ids[0].lane), "a number is never used again");
        let held = claim(&*store, "q", "w").await[0].ticket;
        for ticket in &seen {
            assert_history(&*store, *ticket).await;
        }
        assert_eq!(list(&*store, "q", false).await.len(), 1, "the new one's job is as it was");
        match turn % 2 {
            0 => assert_eq!(store.complete_jobs(&[held]).await.well(), []),
            _ => drop(store.commit(Commit::of(vec![Write::CompleteJob(held)])).await.well()),
        }
        assert_history(&*store, held).await;
        seen.push(held);
    }
    assert_eq!(store.count_jobs().await.well(), [], "nothing is left to count");
}

pub async fn a_lane_with_more_to_do_stays_as_it_is(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let first = claim(&*store, "q", "w").await[0].ticket;
    store.commit(Commit::of(vec![Write::CompleteJob(first)])).await.well();
    let second = claim(&*store, "q", "w").await[0].ticket;
    assert_eq!((second.job, second.epoch), (ids[1], first.epoch.next()));
    // What comes in while the last one is held comes behind it.
    let third = enqueue(&*store, "q", &[("a", "3")]).await;
    assert_eq!(third, [JobId { lane: ids[0].lane, seq: 3 }]);
    assert_eq!(store.complete_jobs(&[second]).await.well(), []);
    assert_eq!(payloads(&claim(&*store, "q", "w").await), ["3"]);
}

pub async fn a_job_that_makes_its_successor_leaves_the_lane(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1")]).await;
    let held = claim(&*store, "q", "w").await[0].ticket;
    let successor = || Write::Enqueue(vec![crate::make::job("q", "a", "2")]);
    store.commit(Commit::of(vec![successor(), Write::CompleteJob(held)])).await.well();
    let next = claim(&*store, "q", "w").await[0].ticket;
    assert_eq!(next.job, JobId { lane: ids[0].lane, seq: 2 }, "before the end of the first");
    store.commit(Commit::of(vec![Write::CompleteJob(next), successor()])).await.well();
    let last = claim(&*store, "q", "w").await;
    assert_eq!(payloads(&last), ["2"]);
    assert!(last[0].ticket.job.lane != ids[0].lane, "behind it");
    assert_history(&*store, next).await;
}

pub async fn what_was_given_up_outlives_its_lane(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let first = claim_runs(&*store, "q", "w", 2).await[0].ticket;
    store.fail_job(&dead(first, "no")).await.well();
    let second = claim(&*store, "q", "w").await[0].ticket;
    assert_eq!(store.complete_jobs(&[second]).await.well(), []);
    let given_up = list(&*store, "q", true).await;
    assert_eq!((given_up.len(), given_up[0].id, given_up[0].key.as_str()), (1, ids[0], "a"));
    assert_eq!(store.show_job(ids[0]).await.well().as_ref(), given_up.first());
    let counts = QueueCounts { queue: queue("q"), open: 0, running_lanes: 0, retrying_lanes: 0, dead: 1 };
    assert_eq!(store.count_jobs().await.well(), [counts]);
    let again = store.requeue_dead_jobs(&ids).await.well();
    assert_eq!(again.len(), 1);
    assert!(again[0].lane != ids[0].lane);
    assert_eq!(payloads(&claim(&*store, "q", "w").await), ["1"]);
}
