//! Rows of lanes and jobs that somebody deleted or altered: their lane goes on behind them or is
//! set aside, and no other lane of the queue waits.

use windlass_core::job::{JobFilter, MAX_LISTED_JOBS};
use windlass_core::store::Jobs;
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, url};

struct Case {
    database: Database,
    store: PostgresStore,
}

impl Case {
    async fn new() -> Self {
        let database = Database::new();
        let store = PostgresStore::open(database.options(&url())).await.expect("the server is up");
        Self { database, store }
    }

    async fn sql(&self, sql: &str) {
        self.database.client().await.batch_execute(sql).await.expect(sql);
    }

    async fn put(&self, lane: &str, payloads: &[&str]) {
        let jobs = payloads.iter().map(|payload| make::job("q", lane, payload)).collect();
        self.store.enqueue_jobs(jobs).await.expect("ids");
    }

    /// Claims and finishes until nothing is left that can be taken; the payloads.
    async fn work_off(&self) -> Vec<String> {
        let mut done = Vec::new();
        loop {
            let jobs = self.store.claim_jobs(&make::claim("q", "a", 10)).await.expect("a claim");
            let tickets: Vec<_> = jobs.iter().map(|job| job.ticket).collect();
            assert_eq!(self.store.complete_jobs(&tickets).await.expect("an answer"), []);
            if jobs.is_empty() {
                return done;
            }
            done.extend(jobs.into_iter().map(|job| job.payload));
        }
    }

    async fn listed(&self) -> Vec<String> {
        let filter = JobFilter { limit: MAX_LISTED_JOBS, ..JobFilter::default() };
        let jobs = self.store.list_jobs(&filter).await.expect("a page");
        jobs.into_iter().map(|job| job.payload).collect()
    }
}

#[tokio::test]
async fn a_lane_goes_on_behind_jobs_that_were_deleted() {
    for (lost, left) in [("seq = 1", vec!["2", "3"]), ("seq = 2", vec!["1", "3"]), ("seq < 3", vec!["3"])] {
        let case = Case::new().await;
        case.put("a", &["1", "2", "3"]).await;
        case.put("b", &["other"]).await;
        case.sql(&format!("DELETE FROM job WHERE {lost} AND payload <> 'other'")).await;
        let mut done = case.work_off().await;
        done.retain(|payload| payload != "other");
        assert_eq!(done, left, "{lost}");
        assert_eq!(case.store.count_jobs().await.expect("counts"), [], "nothing is left of either lane");
    }
}

#[tokio::test]
async fn a_lane_that_has_lost_all_its_jobs_goes_with_them() {
    let case = Case::new().await;
    case.put("a", &["1"]).await;
    case.sql("DELETE FROM job").await;
    case.put("b", &["other"]).await;
    assert_eq!(case.work_off().await, ["other"]);
    assert_eq!(case.store.count_jobs().await.expect("counts"), []);
    case.put("a", &["anew"]).await;
    assert_eq!(case.work_off().await, ["anew"]);
}

#[tokio::test]
async fn who_held_a_job_that_was_deleted_is_fenced() {
    let case = Case::new().await;
    case.put("a", &["1"]).await;
    let claim = make::claim("q", "a", 10);
    let held = case.store.claim_jobs(&claim).await.expect("a job")[0].ticket;
    case.sql("DELETE FROM job").await;
    case.put("a", &["2"]).await;
    case.database.clock.advance_ms(claim.ttl.as_millis() as i64 + 1);
    let next = case.store.claim_jobs(&claim).await.expect("the next job");
    assert_eq!(next.iter().map(|job| (job.payload.as_str(), job.attempt)).collect::<Vec<_>>(), [("2", 1)]);
    assert_eq!(case.store.complete_jobs(&[held]).await.expect("an answer"), [held]);
    assert_eq!(case.store.complete_jobs(&[next[0].ticket]).await.expect("an answer"), []);
}

#[tokio::test]
async fn a_lane_that_cannot_be_read_is_set_aside_alone() {
    for value in [
        "lane SET key = '' WHERE key = 'a'",
        "lane SET epoch = 9223372036854775807 WHERE key = 'a'",
        "lane SET done_seq = 9223372036854775806, tail_seq = 9223372036854775807 WHERE key = 'a'",
    ] {
        let case = Case::new().await;
        case.put("a", &["bad"]).await;
        case.put("b", &["other"]).await;
        case.sql(&format!("UPDATE {value}")).await;
        let done = case.work_off().await;
        assert_eq!(done, ["other"], "{value}");
        case.put("c", &["later"]).await;
        assert!(case.listed().await.contains(&"later".to_owned()), "{value}");
        assert_eq!(case.work_off().await, ["later"], "{value}");
    }
}

#[tokio::test]
async fn a_count_of_attempts_that_is_below_zero_holds_nothing_up() {
    let case = Case::new().await;
    case.put("a", &["1"]).await;
    case.sql("UPDATE lane SET attempts = -7").await;
    assert_eq!(case.listed().await, ["1"]);
    let held = case.store.claim_jobs(&make::claim("q", "a", 10)).await.expect("a job");
    assert_eq!(held[0].attempt, 1);
}
