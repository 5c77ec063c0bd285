//! Jobs fail, die, and come back.

use windlass_core::error::StoreError;
use windlass_core::job::{JobId, JobState, MAX_ERROR_BYTES};

use super::support::{Well, claim, claim_runs, dead, enqueue, list, payloads, refused, retry, tickets};
use crate::harness::Harness;

pub async fn a_failed_job_waits_for_its_retry_and_shows_its_error(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    enqueue(&*store, "q", &[("a", "1")]).await;
    let jobs = claim(&*store, "q", "w1").await;
    clock.advance_ms(10);
    store.fail_job(&retry(jobs[0].ticket, "rpc down", 300)).await.well();
    let row = &list(&*store, "q", false).await[0];
    assert_eq!((row.state, row.attempts, &row.owner), (JobState::Retrying, 1, &None));
    assert_eq!((row.error.as_deref(), row.at.as_ms()), (Some("rpc down"), clock.now_ms() + 300));
    clock.advance_ms(299);
    assert!(claim(&*store, "q", "w2").await.is_empty());
    clock.advance_ms(1);
    assert_eq!(claim(&*store, "q", "w2").await[0].attempt, 2);
}

pub async fn success_wipes_the_errors_of_the_past(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let jobs = claim(&*store, "q", "w").await;
    store.fail_job(&retry(jobs[0].ticket, "once", 0)).await.well();
    let jobs = claim(&*store, "q", "w").await;
    assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
    let row = &list(&*store, "q", false).await[0];
    assert_eq!((row.state, row.attempts, &row.error), (JobState::Waiting, 0, &None));
    assert_eq!(claim(&*store, "q", "w").await[0].attempt, 1);
}

pub async fn a_failure_frees_the_rest_of_its_run(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("a", "3")]).await;
    let jobs = claim_runs(&*store, "q", "w", 3).await;
    assert_eq!(store.complete_jobs(&tickets(&jobs[..1])).await.well(), []);
    store.fail_job(&retry(jobs[1].ticket, "no", 0)).await.well();
    assert_eq!(store.complete_jobs(&tickets(&jobs[2..])).await.well(), tickets(&jobs[2..]));
    assert_eq!(payloads(&claim_runs(&*store, "q", "w", 3).await), ["2", "3"]);
}

pub async fn only_the_first_open_job_can_fail(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let jobs = claim_runs(&*store, "q", "w", 2).await;
    let follower = jobs[1].ticket;
    refused!(store.fail_job(&dead(follower, "x")).await, StoreError::Fenced { what, .. }
        if what == format!("job {}", follower.job));
    assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
}

pub async fn a_job_given_up_steps_aside_with_its_reason(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "bad"), ("a", "good")]).await;
    let jobs = claim(&*store, "q", "w").await;
    harness.clock().advance_ms(7);
    store.fail_job(&dead(jobs[0].ticket, "cannot be decoded")).await.well();
    let rows = list(&*store, "q", true).await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.id, row.state, row.attempts, row.payload.as_str()), (ids[0], JobState::Dead, 1, "bad"));
    assert_eq!((row.error.as_deref(), row.at.as_ms()), (Some("cannot be decoded"), harness.clock().now_ms()));
    assert_eq!(row.enqueued_at.as_ms(), harness.clock().now_ms() - 7);
    let next = claim(&*store, "q", "w").await;
    assert_eq!((payloads(&next), next[0].attempt), (vec!["good"], 1));
}

pub async fn long_errors_are_cut(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = claim(&*store, "q", "w").await;
    let long = "é".repeat(MAX_ERROR_BYTES);
    store.fail_job(&retry(jobs[0].ticket, &long, 0)).await.well();
    store.fail_job(&dead(jobs[1].ticket, &long)).await.well();
    let open = list(&*store, "q", false).await;
    let gone = list(&*store, "q", true).await;
    for row in [&open[0], &gone[0]] {
        assert_eq!(row.error.as_ref().map(String::len), Some(MAX_ERROR_BYTES));
    }
}

pub async fn requeued_jobs_go_to_the_end_under_new_numbers(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("b", "3")]).await;
    for job in claim(&*store, "q", "w").await {
        store.fail_job(&dead(job.ticket, "x")).await.well();
    }
    let again = store.requeue_dead_jobs(&[ids[2], ids[0]]).await.well();
    assert_eq!(again, [JobId { lane: ids[2].lane, seq: 2 }, JobId { lane: ids[0].lane, seq: 3 }]);
    assert!(list(&*store, "q", true).await.is_empty());
    let row = store.show_job(again[1]).await.well().expect("it is open again");
    assert_eq!((row.state, row.attempts, row.error, row.payload.as_str()), (JobState::Waiting, 0, None, "1"));
    assert_eq!(payloads(&claim_runs(&*store, "q", "w", 9).await), ["2", "1", "3"]);
}

pub async fn requeueing_skips_what_is_not_dead(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = claim(&*store, "q", "w").await;
    store.fail_job(&dead(jobs[0].ticket, "x")).await.well();
    let unknown = JobId { lane: 4_711, seq: 1 };
    let asked = [unknown, ids[1], ids[0], ids[0]];
    assert_eq!(store.requeue_dead_jobs(&asked).await.well(), [JobId { lane: ids[0].lane, seq: 2 }]);
    assert_eq!(list(&*store, "q", false).await.len(), 2);
}
