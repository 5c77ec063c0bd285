//! Opening: many at once, again, and after a later version has been here.

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::payout::ledger::PayWrite;
use windlass_core::store::{Door, Events, Health, Jobs, Leases};
use windlass_store_postgres::{PostgresOptions, PostgresStore, SCHEMA_VERSION};
use windlass_testkit::make;

use crate::database::{Database, url};

#[tokio::test]
async fn many_may_open_a_new_database_at_once() {
    let database = Database::new();
    let opening: Vec<_> =
        (0..8).map(|_| tokio::spawn(PostgresStore::open(database.options(&url())))).collect();
    for opened in opening {
        let store = opened.await.expect("no panic").expect("opened");
        assert_eq!(store.list_leases().await.expect("leases"), []);
    }
    let versions = database.client().await.query("SELECT version FROM schema_version", &[]).await;
    assert_eq!(versions.expect("versions").len() as i64, SCHEMA_VERSION);
}

#[tokio::test]
async fn opening_again_keeps_what_is_there() {
    let database = Database::new();
    let store = database.open().await;
    let name = make::lease_name("l");
    let lease = store.acquire_lease(&name, &make::owner("a"), make::ms(10)).await.expect("an answer");
    drop(store);
    assert_eq!(database.open().await.list_leases().await.expect("leases"), [lease.expect("a lease")]);
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let database = Database::new();
    drop(database.open().await);
    let client = database.client().await;
    let newer = SCHEMA_VERSION + 1;
    client.execute("INSERT INTO schema_version VALUES ($1)", &[&newer]).await.expect("written");
    client.batch_execute("DROP TABLE commit_mark").await.expect("dropped");
    let refused = PostgresStore::open(database.options(&url())).await.expect_err("refused");
    assert!(
        matches!(refused, StoreError::NewerSchema { found, known } if found == newer && known == SCHEMA_VERSION)
    );
    let touched = client.query_one("SELECT to_regclass('commit_mark')::TEXT", &[]).await.expect("an answer");
    assert_eq!(touched.get::<_, Option<String>>(0), None);
}

#[tokio::test]
async fn a_database_of_an_earlier_version_is_brought_up_to_date_and_keeps_what_it_has() {
    let database = Database::new();
    let client = database.client().await;
    let schema = &database.schema;
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.expect("a schema");
    client.batch_execute(include_str!("../../migrations/0001_foundation.sql")).await.expect("the first step");
    let version = "CREATE TABLE schema_version (version BIGINT PRIMARY KEY);
        INSERT INTO schema_version VALUES (1); INSERT INTO state VALUES ('k', '1', 0)";
    client.batch_execute(version).await.expect("a version");
    let store = database.open().await;
    assert_eq!(store.describe().await.expect("described").schema, SCHEMA_VERSION);
    assert_eq!(store.state(&make::state_key("k")).await.expect("read").as_deref(), Some("1"));
    let write = Write::Pay(PayWrite::Payouts(vec![make::payout(1)]));
    store.commit(Commit::of(vec![write])).await.expect("written");
}

fn only_to_look(database: &Database) -> PostgresOptions {
    PostgresOptions { read_only: true, ..database.options(&url()) }
}

#[tokio::test]
async fn an_opening_that_only_looks_creates_nothing() {
    let database = Database::new();
    let refused = PostgresStore::open(only_to_look(&database)).await.expect_err("no schema");
    assert!(
        matches!(refused, StoreError::OlderSchema { found: 0, known } if known == SCHEMA_VERSION),
        "{refused:?}"
    );
    let client = database.client().await;
    let sql = "SELECT FROM pg_namespace WHERE nspname = $1";
    assert!(client.query(sql, &[&database.schema]).await.expect("an answer").is_empty());
}

#[tokio::test]
async fn an_opening_that_only_looks_reads_and_refuses_every_write() {
    let database = Database::new();
    database.open().await.enqueue_jobs(vec![make::job("q", "k", "{}")]).await.expect("an id");
    let store = PostgresStore::open(only_to_look(&database)).await.expect("the schema is there");
    assert_eq!(store.list_jobs(&Default::default()).await.expect("jobs").len(), 1);
    let written = store.enqueue_jobs(vec![make::job("q", "k", "{}")]).await;
    assert!(matches!(written, Err(StoreError::ReadOnly)), "{written:?}");
    let claimed = store.claim_jobs(&make::claim("q", "a", 1)).await;
    assert!(matches!(claimed, Err(StoreError::ReadOnly)), "{claimed:?}");
    let taken = store.acquire_lease(&make::lease_name("l"), &make::owner("a"), make::ms(1)).await;
    assert!(matches!(taken, Err(StoreError::ReadOnly)), "{taken:?}");
}

#[tokio::test]
async fn a_close_look_says_whether_a_write_would_be_taken() {
    let database = Database::new();
    drop(database.open().await);
    PostgresStore::open(only_to_look(&database)).await.expect("opened").check().await.expect("it would");
    let client = database.client().await;
    let role = format!("reader_{}", std::process::id());
    let schema = client.query_one("SELECT current_schema()::TEXT", &[]).await.expect("a name");
    let schema: String = schema.get(0);
    client
        .batch_execute(&format!(
            "CREATE ROLE {role} LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA \"{schema}\" TO {role}; \
             GRANT SELECT ON ALL TABLES IN SCHEMA \"{schema}\" TO {role}"
        ))
        .await
        .expect("a role that only reads");
    let given = url();
    let (scheme, rest) = given.split_once("://").expect("a URL");
    let server = rest.rsplit_once('@').map_or(rest, |(_, server)| server);
    let reader = format!("{scheme}://{role}:reader@{server}");
    let options = PostgresOptions { read_only: true, ..database.options(&reader) };
    let answer = PostgresStore::open(options).await.expect("opened").check().await;
    let forget = format!("DROP OWNED BY {role}; DROP ROLE {role}");
    client.batch_execute(&forget).await.expect("the role is gone");
    assert!(matches!(answer, Err(StoreError::ReadOnly)), "{answer:?}");
}
