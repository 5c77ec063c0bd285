//! Locks beside the database: what proves a death, what proves nothing, and what is left behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::error::StoreError;
use windlass_core::store::{Health, Leases};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::make;

/// Longer than any test takes.
const TTL: Duration = Duration::from_secs(3_600);

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn open(path: &Path) -> SqliteStore {
    let options = SqliteOptions { prove_alive: true, ..SqliteOptions::file(path) };
    SqliteStore::open(options).await.expect("a store")
}

async fn take(store: &SqliteStore, who: &str) -> bool {
    let name = make::lease_name("l");
    store.acquire_lease(&name, &make::owner(who), TTL).await.expect("an answer").is_some()
}

fn lock_files(path: &Path) -> Vec<PathBuf> {
    let folder = path.with_file_name("a.db-alive");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.expect("a file").path()).collect()
}

fn instances(path: &Path) -> i64 {
    let connection = Connection::open(path).expect("a connection");
    connection.query_row("SELECT count(*) FROM instance", [], |row| row.get(0)).expect("a count")
}

#[tokio::test]
async fn a_lock_file_that_is_missing_proves_nothing() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let first = open(&path).await;
    assert!(take(&first, "first").await);
    for file in lock_files(&path) {
        std::fs::remove_file(file).expect("removed");
    }
    let second = open(&path).await;
    assert!(!take(&second, "second").await, "the holder lives");
    drop(first);
    assert!(!take(&second, "second").await, "and nobody can tell that it does not");
}

#[tokio::test]
async fn an_instance_of_another_boot_or_machine_proves_nothing() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let first = open(&path).await;
    assert!(take(&first, "first").await);
    let connection = Connection::open(&path).expect("a connection");
    connection.execute("UPDATE instance SET boot_id = 'another'", []).expect("changed");
    drop(first);
    let second = open(&path).await;
    assert!(!take(&second, "second").await);
    assert_eq!(instances(&path), 2, "it still holds something");
    connection.execute("UPDATE lease SET expires_at_ms = 1", []).expect("changed");
    drop(second);
    drop(open(&path).await);
    let left = connection
        .query_row("SELECT count(*) FROM instance WHERE boot_id = 'another'", [], |row| row.get::<_, i64>(0));
    assert_eq!(left.expect("a count"), 0, "what holds nothing is forgotten");
}

#[tokio::test]
async fn a_path_through_a_link_leads_to_the_same_locks() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let first = open(&path).await;
    assert!(take(&first, "first").await);
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let second = open(&link).await;
    assert!(!take(&second, "second").await);
    drop(first);
    assert!(take(&second, "second").await);
}

#[tokio::test]
async fn a_clean_end_leaves_nothing_and_a_crash_no_more_than_one_file() {
    let folder = folder();
    let path = folder.path().join("a.db");
    for _ in 0..5 {
        let store = open(&path).await;
        assert!(take(&store, "crashing").await, "what the one before held is free");
        drop(store);
        assert_eq!((lock_files(&path).len(), instances(&path)), (1, 1));
    }
    let store = open(&path).await;
    store.close().await;
    drop(store);
    assert_eq!((lock_files(&path).len(), instances(&path)), (0, 0));
    assert!(!path.with_file_name("a.db-alive").exists());
}

/// Guards against a start on a full disk that removed the lock file of a dead process although its
/// transaction failed: the row came back without its file, and the death could not be proven.
#[tokio::test]
async fn a_start_whose_commit_fails_leaves_the_proof_of_a_death() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let first = open(&path).await;
    assert!(take(&first, "first").await);
    drop(first);
    let connection = Connection::open(&path).expect("a connection");
    // Nothing but the commit fails, as where the disk has no room for it.
    let failing = "CREATE TABLE parent (id INTEGER PRIMARY KEY);
         CREATE TABLE child (parent_id INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER no_commit AFTER DELETE ON instance BEGIN INSERT INTO child VALUES (1); END;";
    connection.execute_batch(failing).expect("a trigger");
    let second = open(&path).await;
    assert_eq!(instances(&path), 1, "the second could not be registered");
    assert_eq!(lock_files(&path).len(), 2, "of the first, and of the second");
    drop(second);
    connection.execute_batch("DROP TRIGGER no_commit").expect("no trigger");
    let third = open(&path).await;
    assert!(take(&third, "third").await, "what the dead one held is free");
    assert_eq!((lock_files(&path).len(), instances(&path)), (1, 1));
}

#[tokio::test]
async fn files_of_others_in_the_folder_of_locks_are_left_alone() {
    let folder = folder();
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    let note = path.with_file_name("a.db-alive").join("note.txt");
    std::fs::write(&note, "mine").expect("written");
    open(&path).await.close().await;
    assert!(note.exists());
}

#[tokio::test]
async fn many_may_begin_at_once() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let openings: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn({
                let path = path.clone();
                async move { open(&path).await }
            })
        })
        .collect();
    let mut stores = Vec::new();
    for opening in openings {
        stores.push(opening.await.expect("no panic"));
    }
    assert_eq!((lock_files(&path).len(), instances(&path)), (8, 8));
}

#[tokio::test]
async fn a_store_opened_to_look_lists_leases_of_the_dead_and_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("a.db");
    let first = open(&path).await;
    assert!(take(&first, "first").await);
    let looking = SqliteOptions { read_only: true, prove_alive: true, ..SqliteOptions::file(&path) };
    let looking = SqliteStore::open(looking).await.expect("a store to look at");
    assert_eq!(looking.list_abandoned_leases().await.expect("leases"), []);
    assert_eq!(lock_files(&path).len(), 1);
    drop(first);
    assert_eq!(looking.list_abandoned_leases().await.expect("leases"), [make::lease_name("l")]);
    assert_eq!(looking.list_leases().await.expect("leases").len(), 1);
    let refused = looking.acquire_lease(&make::lease_name("l"), &make::owner("b"), TTL).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly)), "{refused:?}");
}

/// A folder that cannot be written to, as for a database on a medium of its own.
#[tokio::test]
async fn a_store_that_cannot_lock_works_and_its_leases_run_out() {
    let folder = folder();
    let path = folder.path().join("a.db");
    std::fs::write(path.with_file_name("a.db-alive"), "in the way").expect("written");
    let store = open(&path).await;
    assert!(take(&store, "first").await);
    drop(store);
    let store = open(&path).await;
    assert!(!take(&store, "second").await);
    store.close().await;
}
