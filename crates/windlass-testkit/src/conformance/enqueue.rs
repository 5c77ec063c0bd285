//! Jobs come in.

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::{JobId, MAX_PAYLOAD_BYTES, NewJob};
use windlass_core::time::Timestamp;

use super::support::{Well, claim, enqueue, list, payloads, refused, tickets};
use crate::harness::Harness;
use crate::make::{self, job};

pub async fn jobs_are_numbered_per_lane_in_their_order(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("b", "2"), ("a", "3")]).await;
    let more = enqueue(&*store, "q", &[("b", "4"), ("a", "5")]).await;
    let (a, b) = (ids[0].lane, ids[1].lane);
    assert_ne!(a, b);
    let id = |lane, seq| JobId { lane, seq };
    assert_eq!(ids, [id(a, 1), id(b, 1), id(a, 2)]);
    assert_eq!(more, [id(b, 2), id(a, 3)]);
}

pub async fn lanes_of_different_queues_are_different_lanes(harness: &dyn Harness) {
    let store = harness.open().await;
    let one = enqueue(&*store, "q1", &[("a", "1")]).await;
    let two = enqueue(&*store, "q2", &[("a", "2")]).await;
    assert_ne!(one[0].lane, two[0].lane);
    assert_eq!(payloads(&claim(&*store, "q2", "w").await), ["2"]);
}

pub async fn a_unique_job_is_refused_while_its_lane_is_open(harness: &dyn Harness) {
    let store = harness.open().await;
    let unique = || NewJob { unique: true, ..job("q", "a", "x") };
    store.enqueue_jobs(vec![unique()]).await.well();
    let again = store.enqueue_jobs(vec![job("q", "b", "y"), unique()]).await;
    refused!(again, StoreError::Duplicate { queue, key } if queue == "q" && key == "a");
    assert_eq!(list(&*store, "q", false).await.len(), 1, "the job before it is rolled back");
    assert_eq!(store.complete_jobs(&tickets(&claim(&*store, "q", "w").await)).await.well(), []);
    store.enqueue_jobs(vec![unique()]).await.well();
}

pub async fn a_unique_job_is_refused_behind_one_of_its_own_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    let unique = || NewJob { unique: true, ..job("q", "a", "x") };
    refused!(store.enqueue_jobs(vec![unique(), unique()]).await, StoreError::Duplicate { .. });
    let apart = Commit::of(vec![Write::Enqueue(vec![job("q", "a", "x")]), Write::Enqueue(vec![unique()])]);
    refused!(store.commit(apart).await, StoreError::Duplicate { .. });
    assert!(list(&*store, "q", false).await.is_empty());
}

pub async fn a_job_is_not_handed_out_before_its_instant(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    let due = Timestamp::from_ms(clock.now_ms() + 500);
    store.enqueue_jobs(vec![NewJob { not_before: Some(due), ..job("q", "a", "later") }]).await.well();
    assert_eq!(list(&*store, "q", false).await[0].at, due);
    clock.advance_ms(499);
    assert!(claim(&*store, "q", "w").await.is_empty());
    clock.advance_ms(1);
    assert_eq!(payloads(&claim(&*store, "q", "w").await), ["later"]);
}

pub async fn an_instant_that_has_passed_delays_nothing(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    let past = Timestamp::from_ms(clock.now_ms() - 500);
    store.enqueue_jobs(vec![NewJob { not_before: Some(past), ..job("q", "a", "x") }]).await.well();
    assert_eq!(list(&*store, "q", false).await[0].at.as_ms(), clock.now_ms());
    assert_eq!(claim(&*store, "q", "w").await.len(), 1);
}

pub async fn the_queues_of_sinks_are_reserved(harness: &dyn Harness) {
    let store = harness.open().await;
    let refusal = store.enqueue_jobs(vec![job("q", "a", "x"), job("outbox/nats", "a", "y")]).await;
    refused!(refusal, StoreError::Invalid(_));
    refused!(store.claim_jobs(&make::claim("outbox/nats", "w", 1)).await, StoreError::Invalid(_));
    assert!(store.count_jobs().await.well().is_empty());
}

pub async fn payloads_have_a_limit(harness: &dyn Harness) {
    let store = harness.open().await;
    let largest = "x".repeat(MAX_PAYLOAD_BYTES);
    let too_large = "x".repeat(MAX_PAYLOAD_BYTES + 1);
    refused!(store.enqueue_jobs(vec![job("q", "a", &too_large)]).await, StoreError::Invalid(_));
    assert!(list(&*store, "q", false).await.is_empty());
    store.enqueue_jobs(vec![job("q", "a", &largest)]).await.well();
    assert_eq!(claim(&*store, "q", "w").await[0].payload, largest);
}

pub async fn payloads_are_kept_as_they_are(harness: &dyn Harness) {
    let store = harness.open().await;
    for text in ["", "not json", "{\"b\":1, \"a\" : 2.50}", "'; DROP TABLE job; --", "\u{1f433} naïve\n\t\\"]
    {
        enqueue(&*store, "q", &[("a", text)]).await;
        let jobs = claim(&*store, "q", "w").await;
        assert_eq!(payloads(&jobs), [text]);
        assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
    }
}

pub async fn names_are_kept_as_they_are(harness: &dyn Harness) {
    let store = harness.open().await;
    let (queue, lane) = ("Q %_ 'x'", "0xAbC:é ");
    enqueue(&*store, queue, &[(lane, "1")]).await;
    enqueue(&*store, &queue.to_lowercase(), &[(lane, "2")]).await;
    let jobs = claim(&*store, queue, "W'1").await;
    assert_eq!(payloads(&jobs), ["1"]);
    assert_eq!((jobs[0].queue.as_str(), jobs[0].key.as_str()), (queue, lane));
    assert_eq!(list(&*store, queue, false).await[0].owner, Some(make::owner("W'1")));
}

pub async fn no_jobs_is_nothing_to_do(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(store.enqueue_jobs(Vec::new()).await.well(), []);
    assert!(store.count_jobs().await.well().is_empty());
}
