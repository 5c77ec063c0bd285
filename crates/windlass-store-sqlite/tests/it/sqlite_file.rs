//! The suite on a file, each handle opened as another process would, and random
//! scripts with restarts and crashes against the model.

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::sql::SqlReader;
use windlass_core::sql::lexer::Dialect;
use windlass_core::store::Store;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::harness::{Harness, SqlHarness};
use windlass_testkit::planted::{Fault, expect_found};
use windlass_testkit::script;

struct File {
    folder: TempDir,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Harness for File {
    async fn open(&self) -> Arc<dyn Store> {
        let options = SqliteOptions::file(self.folder.path().join("a.db")).with_clock(self.clock.clone());
        Arc::new(SqliteStore::open(options).await.expect("a store"))
    }

    async fn open_proving(&self) -> Arc<dyn Store> {
        let options = SqliteOptions::file(self.folder.path().join("a.db")).with_clock(self.clock.clone());
        let options = SqliteOptions { prove_alive: true, ..options };
        Arc::new(SqliteStore::open(options).await.expect("a store"))
    }

    fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }
}

#[async_trait]
impl SqlHarness for File {
    async fn open_sql(&self) -> Arc<dyn SqlReader> {
        let options =
            SqliteOptions { read_only: true, ..SqliteOptions::file(self.folder.path().join("a.db")) };
        Arc::new(SqliteStore::open(options).await.expect("a store"))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn execute(&self, sql: &str) {
        let connection = Connection::open(self.folder.path().join("a.db")).expect("a connection");
        connection.execute_batch(sql).expect(sql);
    }

    async fn number(&self, sql: &str) -> i64 {
        let connection = Connection::open(self.folder.path().join("a.db")).expect("a connection");
        connection.query_row(sql, [], |row| row.get(0)).expect(sql)
    }
}

async fn fresh() -> File {
    File { folder: tempfile::tempdir().expect("a temporary folder"), clock: Arc::new(ManualClock::new()) }
}

windlass_testkit::conformance!(fresh());
windlass_testkit::conformance_of_instances!(fresh());
windlass_testkit::conformance_of_sql!(fresh());

/// Scripts of up to so many steps: each crash opens the file anew.
const MAX_STEPS: usize = 120;

#[test]
fn the_whole_store_answers_as_the_model_does() {
    script::check::<script::WholeScript, _>(script::Budget::new(30, MAX_STEPS), fresh);
}

#[test]
fn tables_answer_as_the_model_does() {
    script::check::<script::TableScript, _>(script::Budget::standard(), fresh);
}

#[test]
fn missing_fencing_is_found_out() {
    expect_found::<script::JobScript, _>(script::Budget::standard(), Fault::FencingRemoved, fresh);
}

#[test]
fn a_torn_commit_is_found_out() {
    expect_found::<script::WholeScript, _>(script::Budget::standard(), Fault::CommitTorn, fresh);
}
