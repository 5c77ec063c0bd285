//! Jobs are handed out.

use windlass_core::error::StoreError;
use windlass_core::job::{JobClaim, NewJob};
use windlass_core::lease::Epoch;
use windlass_core::time::Timestamp;

use super::support::{Well, claim, claim_runs, enqueue, list, payloads, refused, retry, tickets};
use crate::harness::Harness;
use crate::make::{self, TTL_MS, job};

pub async fn a_claimed_job_carries_all_its_worker_needs(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "do it")]).await;
    let jobs = claim(&*store, "q", "w").await;
    assert_eq!(jobs.len(), 1);
    let found = &jobs[0];
    assert_eq!((found.ticket.job, found.ticket.epoch, found.attempt), (ids[0], Epoch(1), 1));
    assert_eq!((found.queue.as_str(), found.key.as_str(), found.payload.as_str()), ("q", "a", "do it"));
    assert_eq!(found.lease_until.as_ms(), harness.clock().now_ms() + TTL_MS as i64);
}

pub async fn a_lane_has_one_holder_at_a_time(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    assert_eq!(payloads(&claim(&*store, "q", "w1").await), ["1"]);
    harness.clock().advance_ms(TTL_MS as i64 - 1);
    assert!(claim(&*store, "q", "w2").await.is_empty());
    assert!(claim(&*store, "q", "w1").await.is_empty(), "not even its holder gets it twice");
}

pub async fn a_lane_is_worked_off_in_order(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("a", "3")]).await;
    for expected in ["1", "2", "3"] {
        let jobs = claim(&*store, "q", "w").await;
        assert_eq!(payloads(&jobs), [expected]);
        assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
    }
    assert!(claim(&*store, "q", "w").await.is_empty());
}

pub async fn the_longest_waiting_lane_comes_first(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    for lane in ["z", "m", "a"] {
        enqueue(&*store, "q", &[(lane, lane)]).await;
        clock.advance_ms(1);
    }
    for expected in ["z", "m", "a"] {
        let jobs = store.claim_jobs(&make::claim("q", "w", 1)).await.well();
        assert_eq!(payloads(&jobs), [expected]);
    }
}

pub async fn a_finished_lane_goes_to_the_end_of_the_line(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    enqueue(&*store, "q", &[("a", "a1"), ("a", "a2"), ("b", "b1")]).await;
    let first = store.claim_jobs(&make::claim("q", "w", 1)).await.well();
    assert_eq!(payloads(&first), ["a1"]);
    clock.advance_ms(1);
    assert_eq!(store.complete_jobs(&tickets(&first)).await.well(), []);
    let second = store.claim_jobs(&make::claim("q", "w", 1)).await.well();
    assert_eq!(payloads(&second), ["b1"]);
}

pub async fn a_claim_is_bounded_in_all_and_per_lane(harness: &dyn Harness) {
    let store = harness.open().await;
    let jobs = [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("c", "c1")];
    enqueue(&*store, "q", &jobs).await;
    let bounded = JobClaim { max_jobs: 3, max_per_lane: 2, ..make::claim("q", "w1", 0) };
    let first = store.claim_jobs(&bounded).await.well();
    assert_eq!(payloads(&first), ["a1", "a2", "b1"]);
    assert_eq!(first.iter().map(|job| job.attempt).collect::<Vec<_>>(), [1, 1, 1]);
    let second = claim_runs(&*store, "q", "w2", 2).await;
    assert_eq!(payloads(&second), ["c1"], "lanes that gave something are held whole");
}

pub async fn a_claim_for_nothing_takes_nothing(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1")]).await;
    assert!(store.claim_jobs(&make::claim("q", "w", 0)).await.well().is_empty());
    assert!(claim(&*store, "unheard-of", "w").await.is_empty());
    assert_eq!(claim(&*store, "q", "w").await[0].attempt, 1, "a claim for nothing is no attempt");
}

pub async fn a_run_ends_before_a_job_that_is_not_due(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    let due = Timestamp::from_ms(clock.now_ms() + 500);
    let later = NewJob { not_before: Some(due), ..job("q", "a", "later") };
    store.enqueue_jobs(vec![job("q", "a", "now"), later, job("q", "a", "last")]).await.well();
    let jobs = claim_runs(&*store, "q", "w", 10).await;
    assert_eq!(payloads(&jobs), ["now"]);
    assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
    assert!(claim_runs(&*store, "q", "w", 10).await.is_empty());
    assert_eq!(list(&*store, "q", false).await[0].at, due, "the lane sleeps until then");
    clock.set_ms(due.as_ms());
    assert_eq!(payloads(&claim_runs(&*store, "q", "w", 10).await), ["later", "last"]);
}

pub async fn an_expired_lane_is_claimed_again_as_one_more_attempt(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let first = claim_runs(&*store, "q", "w1", 2).await;
    harness.clock().advance_ms(TTL_MS as i64);
    let second = claim_runs(&*store, "q", "w2", 2).await;
    assert_eq!(payloads(&second), ["1", "2"]);
    assert_eq!(second.iter().map(|job| job.attempt).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(second[0].ticket.epoch, first[0].ticket.epoch.next());
}

pub async fn a_lane_at_its_attempts_limit_gives_up_its_first_job(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "poison"), ("a", "next")]).await;
    let limited = JobClaim { max_attempts: 2, ..make::claim("q", "w", 10) };
    for attempt in [1, 2] {
        assert_eq!(store.claim_jobs(&limited).await.well()[0].attempt, attempt);
        harness.clock().advance_ms(TTL_MS as i64);
    }
    assert!(store.claim_jobs(&limited).await.well().is_empty(), "the next job is for the next claim");
    let dead = list(&*store, "q", true).await;
    assert_eq!((dead.len(), dead[0].payload.as_str(), dead[0].attempts), (1, "poison", 2));
    assert_eq!(dead[0].error.as_deref(), Some("given up after 2 attempts without an answer"));
    assert_eq!(dead[0].at.as_ms(), harness.clock().now_ms());
    let next = store.claim_jobs(&limited).await.well();
    assert_eq!((payloads(&next), next[0].attempt), (vec!["next"], 1));
}

pub async fn a_job_given_up_at_its_limit_keeps_its_last_error(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "poison")]).await;
    let limited = JobClaim { max_attempts: 1, ..make::claim("q", "w", 10) };
    let jobs = store.claim_jobs(&limited).await.well();
    store.fail_job(&retry(jobs[0].ticket, "rpc said no", 0)).await.well();
    assert!(store.claim_jobs(&limited).await.well().is_empty());
    assert_eq!(list(&*store, "q", true).await[0].error.as_deref(), Some("rpc said no"));
    assert!(list(&*store, "q", false).await.is_empty());
}

pub async fn a_claim_without_attempts_is_refused(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1")]).await;
    let hopeless = JobClaim { max_attempts: 0, ..crate::make::claim("q", "w", 10) };
    refused!(store.claim_jobs(&hopeless).await, StoreError::Invalid(_));
    assert_eq!(list(&*store, "q", true).await, []);
}
