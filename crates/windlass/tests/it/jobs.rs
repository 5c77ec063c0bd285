//! `windlass jobs` and `windlass status` on a store with a little of everything.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::job::{DeletedJobs, JobClaim, JobFailure, NewJob};
use windlass_core::name::{LaneKey, LeaseName, Owner, Queue, Sink};
use windlass_core::outbox::SinkStart;
use windlass_core::retry::Verdict;
use windlass_core::store::{Health, Jobs, Leases, Outbox};
use windlass_core::time::{Clock, Timestamp};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use crate::binary::{Folder, hide_numbers};

/// 2100-01-01: later than any clock that reads what was written.
struct Later;

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(4_102_444_800_000)
    }
}

fn queue() -> Queue {
    Queue::new("collect").expect("a name")
}

/// A job that waits, one that retries, one that is dead, a lease and a sink.
async fn fill(folder: &Folder) {
    let path = folder.path().join("windlass.db");
    let options = SqliteOptions::file(path).with_clock(Arc::new(Later));
    let store = SqliteStore::open(options).await.expect("a store");
    let owner = Owner::new("worker-1").expect("a name");
    let job = |key: &str| NewJob::new(queue(), LaneKey::new(key).expect("a name"), r#"{"from":1,"to":9}"#);
    store.enqueue_jobs(vec![job("a"), job("b")]).await.expect("enqueued");
    let claim = JobClaim {
        queue: queue(),
        owner: owner.clone(),
        ttl: Duration::from_secs(60),
        max_jobs: 2,
        max_per_lane: 1,
        max_attempts: 10,
        deleted: DeletedJobs::Skip,
    };
    let claimed = store.claim_jobs(&claim).await.expect("claimed");
    let verdicts = [Verdict::RetryAfter(Duration::from_secs(5)), Verdict::Dead];
    for (job, verdict) in claimed.iter().zip(verdicts) {
        let error = "the provider said no\nand then again".to_owned();
        let failure = JobFailure { ticket: job.ticket, error, verdict };
        store.fail_job(&failure).await.expect("failed");
    }
    store.enqueue_jobs(vec![job("c")]).await.expect("enqueued");
    store.register_sink(&Sink::new("nats").expect("a name"), SinkStart::Beginning).await.expect("a sink");
    let lease = LeaseName::new("head/137").expect("a name");
    store.acquire_lease(&lease, &owner, Duration::from_secs(60)).await.expect("an answer").expect("a lease");
    store.close().await;
}

#[tokio::test]
async fn jobs_are_listed_shown_and_retried() {
    let folder = Folder::new();
    fill(&folder).await;
    insta::assert_snapshot!("jobs_list", folder.run(&["jobs", "list"]).shown());
    insta::assert_snapshot!("jobs_page", folder.run(&["jobs", "list", "--limit", "1"]).shown());
    insta::assert_snapshot!("jobs_dead", folder.run(&["jobs", "dead"]).shown());
    insta::assert_snapshot!("jobs_show", folder.run(&["jobs", "show", "2-1"]).shown());
    insta::assert_snapshot!("jobs_show_json", folder.run(&["jobs", "show", "2-1", "--json"]).shown());
    insta::assert_snapshot!("jobs_missing", folder.run(&["jobs", "show", "9-9"]).shown());
    insta::assert_snapshot!("jobs_retry_open", folder.run(&["jobs", "retry", "1-1"]).shown());
    insta::assert_snapshot!("jobs_retry", folder.run(&["jobs", "retry", "2-1"]).shown());
    insta::assert_snapshot!("jobs_retry_all", folder.run(&["jobs", "retry", "--all"]).shown());
    assert_eq!(folder.run(&["jobs", "dead"]).stdout, "no jobs\n");
    assert!(folder.run(&["jobs", "list", "--queue", "collect"]).stdout.contains("2-2"));
    assert_eq!(folder.run(&["jobs", "list", "--queue", "other"]).stdout, "no jobs\n");
}

#[tokio::test]
async fn status_shows_queues_sinks_and_leases() {
    let folder = Folder::new();
    fill(&folder).await;
    let hide = |text: String| hide_numbers(&hide_numbers(&text, "3."), "3.[N].");
    insta::assert_snapshot!("status", hide(folder.run(&["status"]).shown()));
    insta::assert_snapshot!("status_json", hide(folder.run(&["status", "--json"]).shown()));
}

#[test]
fn looking_creates_no_database() {
    let folder = Folder::new();
    insta::assert_snapshot!("status_none", folder.run(&["status"]).shown());
    let listed = folder.run(&["jobs", "list"]);
    assert_eq!(listed.code, Some(1));
    for args in [&["jobs", "retry", "1-1"][..], &["jobs", "retry", "--all"]] {
        let ran = folder.run(args);
        assert_eq!(ran.shown(), listed.shown(), "{args:?}");
    }
    assert!(!folder.path().join("windlass.db").exists());
}

/// From whichever folder it is asked, a configuration means one database.
#[tokio::test]
async fn a_relative_path_is_taken_from_the_file_it_is_written_in() {
    let folder = Folder::new();
    fill(&folder).await;
    folder.write("windlass.toml", "database.url = 'sqlite:windlass.db'\n");
    let config = folder.path().join("windlass.toml").display().to_string();
    let elsewhere = Folder::new();
    let ran = elsewhere.run(&["--config", &config, "jobs", "list"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("collect"), "{}", ran.stdout);
    let elsewhere = elsewhere.variable("WINDLASS_DATABASE__URL", "sqlite:windlass.db");
    let ran = elsewhere.run(&["--config", &config, "jobs", "list"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.shown().contains("no database at `[FOLDER]/windlass.db`"), "{}", ran.shown());
}

#[test]
fn a_folder_is_no_database() {
    let folder = Folder::with_config("database.url = 'sqlite:.'\napi.listen = '127.0.0.1:0'");
    for args in [&["status"][..], &["run"], &["jobs", "retry", "1-1"]] {
        let ran = folder.run(args);
        assert!(ran.stderr.starts_with("error[W0101]: `"), "{}", ran.stderr);
        assert!(ran.stderr.contains("is a folder"), "{}", ran.stderr);
    }
}

#[test]
fn a_secret_that_is_empty_is_called_so() {
    let folder = Folder::with_config("database.url = 'env:EMPTY_URL'").variable("EMPTY_URL", "");
    let ran = folder.run(&["status"]);
    assert!(ran.stderr.contains("the environment variable `EMPTY_URL` is empty"), "{}", ran.stderr);
    let folder = Folder::with_config("database.url = 'file:url'");
    folder.write("url", "sqlite:a.db\nhunter2\n");
    let ran = folder.run(&["status"]);
    assert!(
        ran.stderr.contains("it has more than one line") && !ran.stderr.contains("hunter2"),
        "{}",
        ran.stderr
    );
}

#[test]
fn databases_that_cannot_be_opened_say_so_without_secrets() {
    let folder = Folder::new();
    folder.write("windlass.db", "this is not a database, and long enough to be looked at as one\n");
    insta::assert_snapshot!("status_corrupt", folder.run(&["status"]).shown());
    let missing = Folder::with_config("database.url = 'env:NO_SUCH_URL'");
    insta::assert_snapshot!("status_secret", missing.run(&["status"]).shown());
    let refused =
        Folder::with_config("database.url = 'postgres://wind:hunter2@127.0.0.1:1/wind'").run(&["status"]);
    assert!(!refused.shown().contains("hunter2"));
    insta::assert_snapshot!("status_postgres", refused.shown());
}
