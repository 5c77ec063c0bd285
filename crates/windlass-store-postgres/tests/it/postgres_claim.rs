//! The two ways of a claim: one statement for what is ordinary, a transaction for the
//! rest. A store remembers for a moment that a queue is sparse, so each test has a fresh one.

use windlass_core::job::{ClaimedJob, JobClaim, NewJob};
use windlass_core::store::Jobs;
use windlass_core::time::{Clock, Timestamp};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::Database;

async fn claim(store: &PostgresStore, max_jobs: u32, max_per_lane: u32) -> Vec<ClaimedJob> {
    let claim = JobClaim { max_per_lane, ..make::claim("q", "a", max_jobs) };
    store.claim_jobs(&claim).await.expect("jobs")
}

fn picture(jobs: &[ClaimedJob]) -> Vec<(&str, &str, u32)> {
    jobs.iter().map(|job| (job.key.as_str(), job.payload.as_str(), job.attempt)).collect()
}

async fn enqueue(store: &PostgresStore, jobs: &[(&str, &str)]) {
    let jobs = jobs.iter().map(|(key, payload)| make::job("q", key, payload)).collect();
    store.enqueue_jobs(jobs).await.expect("ids");
}

#[tokio::test]
async fn full_runs_come_in_order() {
    let database = Database::new();
    let store = database.open().await;
    enqueue(&store, &[("a", "1"), ("b", "2"), ("a", "3"), ("b", "4"), ("a", "5"), ("c", "6")]).await;
    assert_eq!(
        picture(&claim(&store, 4, 2).await),
        [("a", "1", 1), ("a", "3", 1), ("b", "2", 1), ("b", "4", 1)]
    );
    assert_eq!(picture(&claim(&store, 4, 2).await), [("c", "6", 1)]);
}

#[tokio::test]
async fn lanes_that_give_less_than_their_share_are_joined_by_others() {
    let database = Database::new();
    let store = database.open().await;
    enqueue(&store, &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")]).await;
    let claimed = claim(&store, 4, 2).await;
    assert_eq!(picture(&claimed), [("a", "1", 1), ("b", "2", 1), ("c", "3", 1), ("d", "4", 1)]);
    let tickets: Vec<_> = claimed.iter().map(|job| job.ticket).collect();
    assert_eq!(store.complete_jobs(&tickets).await.expect("an answer"), []);
    assert_eq!(picture(&claim(&store, 4, 2).await), [("e", "5", 1)]);
}

#[tokio::test]
async fn a_lane_whose_holder_died_too_often_does_not_keep_others_from_being_taken() {
    let database = Database::new();
    let store = database.open().await;
    enqueue(&store, &[("a", "1"), ("a", "2")]).await;
    let once = JobClaim { max_attempts: 1, ..make::claim("q", "a", 2) };
    assert_eq!(store.claim_jobs(&once).await.expect("jobs").len(), 1);
    database.clock.advance_ms(make::TTL_MS as i64);
    enqueue(&store, &[("b", "3")]).await;
    assert_eq!(picture(&store.claim_jobs(&once).await.expect("jobs")), [("b", "3", 1)]);
    assert_eq!(picture(&store.claim_jobs(&once).await.expect("jobs")), [("a", "2", 1)]);
    assert_eq!(store.count_jobs().await.expect("counts")[0].dead, 1);
}

#[tokio::test]
async fn a_run_ends_before_a_job_that_is_not_due() {
    let database = Database::new();
    let store = database.open().await;
    let later = Timestamp::from_ms(database.clock.now().as_ms() + 50);
    let due_later = NewJob { not_before: Some(later), ..make::job("q", "a", "2") };
    store.enqueue_jobs(vec![make::job("q", "a", "1"), due_later]).await.expect("ids");
    let claimed = claim(&store, 4, 4).await;
    assert_eq!(picture(&claimed), [("a", "1", 1)]);
    assert_eq!(store.complete_jobs(&[claimed[0].ticket]).await.expect("an answer"), []);
    assert_eq!(picture(&claim(&store, 4, 4).await), []);
    database.clock.advance_ms(50);
    assert_eq!(picture(&claim(&store, 4, 4).await), [("a", "2", 1)]);
}
