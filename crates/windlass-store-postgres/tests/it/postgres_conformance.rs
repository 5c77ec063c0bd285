//! The suite that every store passes, each case in a schema of its own; and random
//! scripts, answered by the store as by the model.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::sql::SqlReader;
use windlass_core::sql::lexer::Dialect;
use windlass_core::store::Store;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::harness::{Harness, SqlHarness};
use windlass_testkit::script;

use crate::database::{Database, url};

#[async_trait]
impl Harness for Database {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Database::open(self).await)
    }

    async fn open_proving(&self) -> Arc<dyn Store> {
        let options = PostgresOptions { prove_alive: true, ..self.options(&url()) };
        Arc::new(PostgresStore::open(options).await.expect("the server is up"))
    }

    fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }
}

#[async_trait]
impl SqlHarness for Database {
    async fn open_sql(&self) -> Arc<dyn SqlReader> {
        let options = PostgresOptions { read_only: true, ..self.options(&url()) };
        Arc::new(PostgresStore::open(options).await.expect("the server is up"))
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn execute(&self, sql: &str) {
        self.client().await.batch_execute(sql).await.expect(sql);
    }

    async fn number(&self, sql: &str) -> i64 {
        let row = self.client().await.query_one(&format!("SELECT ({sql})::BIGINT"), &[]).await.expect(sql);
        row.get(0)
    }
}

async fn fresh() -> Database {
    Database::new()
}

windlass_testkit::conformance!(fresh());
windlass_testkit::conformance_of_instances!(fresh());
windlass_testkit::conformance_of_sql!(fresh());

macro_rules! scripts {
    ($($test:ident: $profile:ident;)*) => {$(
        #[test]
        fn $test() {
            script::check::<script::$profile, _>(script::Budget::standard(), fresh);
        }
    )*};
}

scripts! {
    leases_answer_as_the_model_does: LeaseScript;
    jobs_answer_as_the_model_does: JobScript;
    the_outbox_answers_as_the_model_does: OutboxScript;
    tables_answer_as_the_model_does: TableScript;
    the_whole_store_answers_as_the_model_does: WholeScript;
}
