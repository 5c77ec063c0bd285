//! Many processes on one database, some of them killed.

use std::sync::Arc;

use windlass_core::store::Store;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_testkit::processes::{self, Swarm};

use crate::database::{Database, url};

/// Opens a schema by name, with the clock that processes share: the database's.
async fn open(schema: &str) -> Arc<dyn Store> {
    let schema = Some(schema.to_owned());
    let options = PostgresOptions { schema, prove_alive: true, ..PostgresOptions::new(url()) };
    Arc::new(PostgresStore::open(options).await.expect("the server is up"))
}

#[tokio::test]
async fn killed_processes_lose_and_repeat_nothing() {
    if let Some(schema) = processes::worker_place() {
        return processes::work(open(&schema).await).await;
    }
    let database = Database::new();
    let test = processes::test_path(module_path!(), "killed_processes_lose_and_repeat_nothing");
    processes::run(open(&database.schema).await, &Swarm::new(&test, &database.schema)).await;
}
