//! One plan for all parameters: it must suit a large queue as well as a small one,
//! and a commit into as many lanes as one may name.

use windlass_core::job::{JobFilter, JobId};
use windlass_core::store::Jobs;
use windlass_testkit::make;

use crate::database::Database;

const LANES: usize = 10_000;

#[tokio::test]
async fn a_large_queue_is_filled_listed_and_drained_by_key() {
    let database = Database::new();
    let store = database.open().await;
    store.enqueue_jobs(vec![make::job("small", "k", "{}")]).await.expect("an id");
    assert_eq!(store.claim_jobs(&make::claim("small", "a", 1)).await.expect("jobs").len(), 1);
    let jobs = (0..LANES).map(|lane| make::job("large", &format!("k{lane:05}"), "{}")).collect();
    let ids: Vec<JobId> = store.enqueue_jobs(jobs).await.expect("ids");
    assert_eq!(ids.len(), LANES);
    let after = Some(ids[LANES - 3]);
    let page = JobFilter { queue: Some(make::queue("large")), after, limit: 10, ..JobFilter::default() };
    let listed: Vec<JobId> = store.list_jobs(&page).await.expect("a page").iter().map(|row| row.id).collect();
    assert_eq!(listed, ids[LANES - 2..]);
    let claimed = store.claim_jobs(&make::claim("large", "a", 100)).await.expect("jobs");
    assert_eq!(claimed.iter().map(|job| job.ticket.job).collect::<Vec<_>>(), ids[..100]);
    let tickets: Vec<_> = claimed.iter().map(|job| job.ticket).collect();
    assert_eq!(store.complete_jobs(&tickets).await.expect("an answer"), []);
    let counts = store.count_jobs().await.expect("counts");
    assert_eq!(counts[0].open, LANES as u64 - 100);
}
