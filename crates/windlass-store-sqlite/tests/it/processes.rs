//! Many processes on one file, some of them killed.

use std::sync::Arc;

use windlass_core::store::Store;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::processes::{self, Swarm};

async fn open(place: &str) -> Arc<dyn Store> {
    let options = SqliteOptions { prove_alive: true, ..SqliteOptions::file(place) };
    Arc::new(SqliteStore::open(options).await.expect("a store"))
}

#[tokio::test]
async fn killed_processes_lose_and_repeat_nothing() {
    if let Some(place) = processes::worker_place() {
        return processes::work(open(&place).await).await;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.db");
    let place = path.to_str().expect("a readable path");
    let test = processes::test_path(module_path!(), "killed_processes_lose_and_repeat_nothing");
    processes::run(open(place).await, &Swarm::new(&test, place)).await;
}
