//! The suite on a database in memory, and random scripts against the model.

use std::sync::Arc;

use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::harness::OneHandle;
use windlass_testkit::script;

async fn fresh() -> OneHandle {
    let clock = Arc::new(ManualClock::new());
    let options = SqliteOptions::memory().with_clock(clock.clone());
    OneHandle { store: Arc::new(SqliteStore::open(options).await.expect("a store")), clock }
}

windlass_testkit::conformance!(fresh());

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
