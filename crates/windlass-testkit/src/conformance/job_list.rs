//! Jobs as people see them.

use windlass_core::job::{JobFilter, JobId, JobState, QueueCounts};
use windlass_core::outbox::{DeliveryFailure, SinkStart};
use windlass_core::retry::Verdict;

use super::support::{Well, claim, claim_runs, dead, enqueue, list, publish, retry};
use crate::harness::Harness;
use crate::make::{self, TTL_MS, delivery, message, owner, queue, sink};

pub async fn every_state_is_shown_as_it_is(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    let start = clock.now_ms();
    let lanes = [("a", "1"), ("a", "2"), ("a", "3"), ("b", "4"), ("c", "5"), ("c", "6")];
    enqueue(&*store, "q", &lanes).await;
    clock.advance_ms(5);
    let jobs = claim_runs(&*store, "q", "w", 2).await;
    store.fail_job(&retry(jobs[2].ticket, "later", 50)).await.well();
    store.fail_job(&dead(jobs[3].ticket, "never")).await.well();
    let shown: Vec<_> = list(&*store, "q", false)
        .await
        .into_iter()
        .map(|row| (row.payload, row.state, row.attempts, row.error, row.owner, row.at.as_ms() - start))
        .collect();
    let (held, text) = (5 + TTL_MS as i64, |text: &str| text.to_owned());
    assert_eq!(
        shown,
        [
            (text("1"), JobState::Running, 1, None, Some(owner("w")), held),
            (text("2"), JobState::Running, 0, None, Some(owner("w")), held),
            (text("3"), JobState::Waiting, 0, None, None, 0),
            (text("4"), JobState::Retrying, 1, Some(text("later")), None, 55),
            (text("6"), JobState::Waiting, 0, None, None, 5),
        ]
    );
}

pub async fn a_hold_that_ran_out_is_shown_as_waiting_for_a_retry(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    claim_runs(&*store, "q", "w", 2).await;
    harness.clock().advance_ms(TTL_MS as i64);
    let rows = list(&*store, "q", false).await;
    assert_eq!((rows[0].state, rows[0].attempts, &rows[0].owner), (JobState::Retrying, 1, &None));
    assert_eq!((rows[1].state, &rows[1].owner), (JobState::Waiting, &None));
}

pub async fn pages_follow_each_other_without_overlap(harness: &dyn Harness) {
    let store = harness.open().await;
    for lane in ["a", "b", "c"] {
        enqueue(&*store, "q", &[(lane, "1"), (lane, "2")]).await;
        enqueue(&*store, "other", &[(lane, "3")]).await;
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let filter = JobFilter { queue: Some(queue("q")), dead: false, after, limit: 4 };
        let page = store.list_jobs(&filter).await.well();
        assert!(page.len() <= 4);
        seen.extend(page.iter().map(|row| row.id));
        match page.last() {
            Some(row) => after = Some(row.id),
            None => break,
        }
    }
    assert_eq!(seen.len(), 6);
    assert!(seen.is_sorted());
    let all = JobFilter { limit: u32::MAX, ..JobFilter::default() };
    assert_eq!(store.list_jobs(&all).await.well().len(), 9);
    let least = JobFilter { limit: 0, ..JobFilter::default() };
    assert_eq!(store.list_jobs(&least).await.well().len(), 1, "a page holds at least one");
}

pub async fn dead_jobs_are_paged_too(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("b", "2"), ("c", "3")]).await;
    for job in claim(&*store, "q", "w").await {
        store.fail_job(&dead(job.ticket, "x")).await.well();
    }
    let page = |after| JobFilter { queue: None, dead: true, after, limit: 2 };
    let first = store.list_jobs(&page(None)).await.well();
    let second = store.list_jobs(&page(Some(first[1].id))).await.well();
    let texts: Vec<&str> = first.iter().chain(&second).map(|row| row.payload.as_str()).collect();
    assert_eq!(texts, ["1", "2", "3"]);
}

pub async fn one_job_is_shown_open_dead_or_not_at_all(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = claim(&*store, "q", "w").await;
    store.fail_job(&dead(jobs[1].ticket, "x")).await.well();
    for (id, rows) in [(ids[0], list(&*store, "q", false).await), (ids[1], list(&*store, "q", true).await)] {
        assert_eq!(store.show_job(id).await.well().as_ref(), rows.first());
    }
    assert_eq!(store.show_job(JobId { lane: ids[0].lane, seq: 2 }).await.well(), None);
}

pub async fn counts_say_how_every_queue_stands(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "b", &[("x", "1"), ("x", "2"), ("y", "3"), ("z", "4"), ("zz", "5")]).await;
    enqueue(&*store, "a", &[("x", "1")]).await;
    let jobs = store.claim_jobs(&make::claim("b", "w", 3)).await.well();
    store.fail_job(&retry(jobs[1].ticket, "later", 50)).await.well();
    store.fail_job(&dead(jobs[2].ticket, "never")).await.well();
    let counts = |name: &str, open, running_lanes, retrying_lanes, dead| QueueCounts {
        queue: queue(name),
        open,
        running_lanes,
        retrying_lanes,
        dead,
    };
    assert_eq!(store.count_jobs().await.well(), [counts("a", 1, 0, 0, 0), counts("b", 4, 1, 1, 1)]);
    harness.clock().advance_ms(TTL_MS as i64);
    assert_eq!(store.count_jobs().await.well()[1], counts("b", 4, 0, 1, 1), "a hold ends by itself");
}

pub async fn the_outbox_is_not_shown_among_jobs(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("nats"), SinkStart::Beginning).await.well();
    publish(&*store, vec![message("p", "m1"), message("p", "m2")]).await;
    let runs = store.claim_messages(&delivery("nats", "w", 1)).await.well();
    let failure = DeliveryFailure { hold: runs[0].hold, error: "x".to_owned(), verdict: Verdict::Dead };
    store.fail_delivery(&failure).await.well();
    assert!(store.count_jobs().await.well().is_empty());
    for dead in [false, true] {
        for queue in [None, Some(queue("outbox/nats"))] {
            let filter = JobFilter { queue, dead, after: None, limit: 100 };
            assert_eq!(store.list_jobs(&filter).await.well(), [], "{filter:?}");
        }
    }
    let dead = store.list_dead_messages(None, 10).await.well()[0].id;
    assert_eq!(store.show_job(dead).await.well(), None);
    assert_eq!(store.requeue_dead_jobs(&[dead]).await.well(), []);
    assert_eq!(store.list_dead_messages(None, 10).await.well().len(), 1);
}
