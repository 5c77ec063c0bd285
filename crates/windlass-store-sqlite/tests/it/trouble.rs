//! A busy, full, read-only, damaged or newer file: each gives its own error and loses nothing.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::{DeletedJobs, JobClaim, NewJob};
use windlass_core::name::{LaneKey, Owner, Queue, StateKey};
use windlass_core::payout::ledger::PayWrite;
use windlass_core::store::{Door, Events, Health, Jobs};
use windlass_store_sqlite::{SCHEMA_VERSION, SqliteOptions, SqliteStore};
use windlass_testkit::make;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(SqliteOptions::file(path)).await.expect("a store")
}

fn queue() -> Queue {
    Queue::new("work").expect("a queue")
}

fn job(key: &str, payload: impl Into<String>) -> NewJob {
    NewJob::new(queue(), LaneKey::new(key).expect("a key"), payload)
}

fn claim() -> JobClaim {
    JobClaim {
        queue: queue(),
        owner: Owner::new("a").expect("an owner"),
        ttl: Duration::from_secs(60),
        max_jobs: 10,
        max_per_lane: 1,
        max_attempts: 3,
        deleted: DeletedJobs::Skip,
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_can_be_read_by_its_owner_alone_and_an_old_one_keeps_its_mode() {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = folder();
    let path = folder.path().join("a.db");
    let mode = |name: &str| {
        let about = metadata(folder.path().join(name)).expect("there");
        about.permissions().mode() & 0o777
    };
    let store = open(&path).await;
    store.enqueue_jobs(vec![job("k", "{}")]).await.expect("enqueued");
    assert_eq!((mode("a.db"), mode("a.db-wal")), (0o600, 0o600));
    store.close().await;
    set_permissions(&path, Permissions::from_mode(0o640)).expect("changed");
    open(&path).await.close().await;
    assert_eq!(mode("a.db"), 0o640);
}

#[tokio::test]
async fn a_claim_on_a_file_that_another_process_writes_answers_nothing_now() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    store.enqueue_jobs(vec![job("k", "{}")]).await.expect("enqueued");

    let other = Connection::open(&path).expect("another connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    assert_eq!(store.claim_jobs(&claim()).await.expect("an answer"), []);
    // Readers are not in the way of the writer, nor it in theirs.
    assert_eq!(store.count_jobs().await.expect("counts")[0].open, 1);

    other.execute_batch("ROLLBACK").expect("the lock is free");
    assert_eq!(store.claim_jobs(&claim()).await.expect("an answer").len(), 1);
}

#[tokio::test]
async fn a_claim_does_not_wait_with_a_commit_that_waits_for_another_process() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    let other = Connection::open(&path).expect("another connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.enqueue_jobs(vec![job("k", "{}")]).await }
    });
    // Whichever comes first, the claim is answered while the commit still waits.
    assert_eq!(store.claim_jobs(&claim()).await.expect("an answer"), []);
    tokio::task::yield_now().await;
    assert_eq!(store.claim_jobs(&claim()).await.expect("an answer"), []);
    assert!(!waiting.is_finished());
    other.execute_batch("ROLLBACK").expect("the lock is free");
    waiting.await.expect("no panic").expect("enqueued");
    assert_eq!(store.claim_jobs(&claim()).await.expect("an answer").len(), 1);
}

#[tokio::test]
async fn a_full_disk_is_said_and_what_was_committed_stays() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(SqliteOptions { max_bytes: Some(400_000), ..SqliteOptions::file(&path) });
    let store = store.await.expect("a store");
    store.enqueue_jobs(vec![job("small", "{}")]).await.expect("there is room for this");
    let too_much = (0..100).map(|i| job(&format!("k{i}"), "x".repeat(50_000))).collect();
    assert!(matches!(store.enqueue_jobs(too_much).await, Err(StoreError::DiskFull)));
    assert_eq!(store.count_jobs().await.expect("counts")[0].open, 1);
    store.enqueue_jobs(vec![job("small", "{}")]).await.expect("there is still room for this");
}

#[tokio::test]
async fn a_store_opened_to_look_creates_and_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let looking = || SqliteOptions { read_only: true, ..SqliteOptions::file(&path) };
    let missing = SqliteStore::open(looking()).await.err().expect("nothing there");
    assert!(
        matches!(&missing, StoreError::Unreachable { place, .. } if place.ends_with("a.db")),
        "{missing}"
    );
    assert!(!path.exists());

    open(&path).await.enqueue_jobs(vec![job("k", "{}")]).await.expect("enqueued");
    let store = SqliteStore::open(looking()).await.expect("a store to look at");
    assert_eq!(store.count_jobs().await.expect("counts")[0].open, 1);
    assert!(matches!(store.enqueue_jobs(vec![job("k", "{}")]).await, Err(StoreError::ReadOnly)));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    let text = "this is a text, longer than a database's header: ".repeat(40);
    std::fs::write(&path, &text).expect("a file");
    let error = SqliteStore::open(SqliteOptions::file(&path)).await.err().expect("a refusal");
    assert!(matches!(&error, StoreError::Corrupt(reason) if reason.contains("notes.txt")), "{error}");
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), text);
}

#[tokio::test]
async fn damage_in_the_middle_of_a_file_is_said() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    store.enqueue_jobs((0..2_000).map(|i| job(&format!("k{i}"), "{}")).collect()).await.expect("enqueued");
    store.close().await;
    drop(store);
    let mut bytes = std::fs::read(&path).expect("the file");
    let len = bytes.len();
    // Behind the pages that say which tables there are.
    bytes[len / 2..len - 4_096].fill(0xee);
    std::fs::write(&path, bytes).expect("damaged");
    let store = open(&path).await;
    let error = store.claim_jobs(&JobClaim { max_jobs: 2_000, ..claim() }).await.expect_err("damage");
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_untouched() {
    let folder = folder();
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    let newer = SCHEMA_VERSION + 1;
    let connection = Connection::open(&path).expect("a connection");
    connection.pragma_update(None, "user_version", newer).expect("a later version");
    drop(connection);
    let error = SqliteStore::open(SqliteOptions::file(&path)).await.err().expect("a refusal");
    assert!(
        matches!(error, StoreError::NewerSchema { found, known } if found == newer && known == SCHEMA_VERSION)
    );
}

#[tokio::test]
async fn a_folder_that_is_missing_is_named() {
    let folder = folder();
    let path = folder.path().join("missing").join("a.db");
    let error = SqliteStore::open(SqliteOptions::file(&path)).await.err().expect("a refusal");
    assert!(matches!(&error, StoreError::Unreachable { place, .. } if place.contains("missing")), "{error}");
}

#[tokio::test]
async fn several_processes_may_create_one_file_at_once() {
    let folder = folder();
    // The race is for microseconds: one file in twenty was refused.
    for round in 0..100 {
        let path = folder.path().join(format!("{round}.db"));
        let openings: Vec<_> =
            (0..3).map(|_| tokio::spawn(SqliteStore::open(SqliteOptions::file(&path)))).collect();
        for opening in openings {
            opening.await.expect("no panic").expect("a store");
        }
    }
}

#[tokio::test]
async fn readers_see_the_state_before_a_write_that_is_under_way() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    let key = StateKey::new("mode").expect("a key");
    let put = |value: &str| Commit::of(vec![Write::PutState { key: key.clone(), value: Some(value.into()) }]);
    store.commit(put("1")).await.expect("written");
    let other = Connection::open(&path).expect("another connection");
    other.execute_batch("BEGIN IMMEDIATE; UPDATE state SET value = '2'").expect("a write under way");
    assert_eq!(store.state(&key).await.expect("read"), Some("1".to_owned()));
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
    store.close().await;
    assert!(matches!(store.now().await, Err(StoreError::Closed)));
    assert!(matches!(store.enqueue_jobs(vec![job("k", "{}")]).await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_brought_up_to_date_and_keeps_what_it_has() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let connection = Connection::open(&path).expect("a connection");
    connection.execute_batch(include_str!("../../migrations/0001_foundation.sql")).expect("the first step");
    connection.pragma_update(None, "application_id", 0x776e_646c).expect("marked");
    connection.pragma_update(None, "user_version", 1).expect("a version");
    connection.execute_batch("INSERT INTO state VALUES ('k', '1', 0)").expect("a value");
    drop(connection);
    let look = SqliteOptions { read_only: true, ..SqliteOptions::file(&path) };
    let older = SqliteStore::open(look).await.err().expect("only a look");
    assert!(matches!(older, StoreError::OlderSchema { found: 1, known: SCHEMA_VERSION }), "{older}");
    let store = SqliteStore::open(SqliteOptions::file(&path)).await.expect("opened");
    assert_eq!(store.describe().await.expect("described").schema, SCHEMA_VERSION);
    assert_eq!(store.state(&make::state_key("k")).await.expect("read").as_deref(), Some("1"));
    let write = Write::Pay(PayWrite::Payouts(vec![make::payout(1)]));
    store.commit(Commit::of(vec![write])).await.expect("written");
}

#[tokio::test]
async fn a_file_of_another_program_is_left_alone() {
    let folder = folder();
    for version in [0, 1] {
        let path = folder.path().join(format!("{version}.db"));
        let connection = Connection::open(&path).expect("a connection");
        connection.execute_batch("CREATE TABLE theirs (a)").expect("a table");
        connection.pragma_update(None, "user_version", version).expect("a version");
        drop(connection);
        for read_only in [false, true] {
            let options = SqliteOptions { read_only, ..SqliteOptions::file(&path) };
            let error = SqliteStore::open(options).await.err().expect("a refusal");
            assert!(matches!(&error, StoreError::Foreign { .. }), "{error}");
        }
        let connection = Connection::open(&path).expect("a connection");
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .expect("a count");
        assert_eq!(tables, 1);
    }
}

#[tokio::test]
async fn a_file_that_was_removed_or_replaced_takes_no_more_writes() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    std::fs::remove_file(&path).expect("removed");
    let refused = store.enqueue_jobs(vec![job("k", "{}")]).await;
    assert!(matches!(refused, Err(StoreError::Gone { .. })), "{refused:?}");
    std::fs::write(&path, "").expect("replaced");
    assert!(matches!(store.claim_jobs(&claim()).await, Err(StoreError::Gone { .. })));
}

#[tokio::test]
async fn a_close_look_finds_damage_and_a_file_that_cannot_be_written() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    store.enqueue_jobs((0..2_000).map(|i| job(&format!("k{i}"), "{}")).collect()).await.expect("enqueued");
    store.check().await.expect("all is well");
    let other = Connection::open(&path).expect("another connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let look = SqliteStore::open(SqliteOptions { read_only: true, ..SqliteOptions::file(&path) }).await;
    look.expect("a store to look at").check().await.expect("a look needs no lock");
    drop(other);
    store.close().await;
    drop(store);
    let mut bytes = std::fs::read(&path).expect("the file");
    let len = bytes.len();
    bytes[len / 2..len / 2 + 16_384].fill(0xee);
    std::fs::write(&path, bytes).expect("damaged");
    let error = open(&path).await.check().await.expect_err("damage");
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
}
