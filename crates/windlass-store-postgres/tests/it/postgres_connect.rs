//! Servers that cannot be reached, or do not want us: each says so, none prints the password.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_core::error::StoreError;
use windlass_core::store::{Health, Leases};
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_testkit::make;

use crate::database::{Database, address, url};

const SECRET: &str = "n0t-the-passw0rd";

async fn refusal(url: String) -> StoreError {
    let error = PostgresStore::open(PostgresOptions::new(url)).await.expect_err("refused");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    error
}

#[tokio::test]
async fn a_wrong_password_or_user_is_named_without_the_password() {
    let database = format!("{}/postgres", address());
    let error = refusal(format!("postgres://windlass:{SECRET}@{database}")).await;
    assert!(matches!(&error, StoreError::AuthFailed { user } if user == "windlass"), "{error:?}");
    let error = refusal(format!("postgres://nobody-here:{SECRET}@{database}")).await;
    assert!(matches!(&error, StoreError::AuthFailed { user } if user == "nobody-here"), "{error:?}");
    let error = refusal(format!("postgres://windlass@{database}")).await;
    assert!(matches!(&error, StoreError::AuthFailed { .. }), "{error:?}");
}

#[tokio::test]
async fn a_wrong_port_host_or_database_is_named() {
    // Port 1 is handed out to no one: nobody listens there while the tests run, either.
    let error = refusal(format!("postgres://windlass:{SECRET}@127.0.0.1:1/books")).await;
    assert!(
        matches!(&error, StoreError::Unreachable { place, .. } if place == "127.0.0.1:1/books"),
        "{error:?}"
    );

    let error = refusal(format!("host=/no/such/folder user=windlass password={SECRET} dbname=books")).await;
    assert!(
        matches!(&error, StoreError::Unreachable { place, .. } if place.starts_with("/no/such")),
        "{error:?}"
    );

    let mut parts: tokio_postgres::Config = url().parse().expect("a URL");
    let user = parts.dbname("no-such-books").get_user().expect("a user").to_owned();
    let password = String::from_utf8_lossy(parts.get_password().expect("a password")).into_owned();
    let error = refusal(format!("postgres://{user}:{password}@{}/no-such-books", address())).await;
    assert!(error.to_string().contains("\"no-such-books\" does not exist"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused_when_tls_is_required() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 8];
            let _ = client.read_exact(&mut request).await;
            let _ = client.write_all(b"N").await;
        }
    });
    let error = refusal(format!("postgres://windlass:{SECRET}@127.0.0.1:{port}/x?sslmode=require")).await;
    assert!(error.to_string().contains("server does not support TLS"), "{error}");
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let database = Database::new();
    let store = database.open().await;
    store.close().await;
    let answer = store.acquire_lease(&make::lease_name("l"), &make::owner("a"), make::ms(1)).await;
    assert!(matches!(answer, Err(StoreError::Closed)), "{answer:?}");
    assert!(matches!(store.now().await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn the_databases_clock_is_used_unless_another_is_given() {
    let database = Database::new();
    assert_eq!(
        database.open().await.now().await.expect("a time"),
        windlass_core::time::Clock::now(&*database.clock)
    );
    let options = PostgresOptions { clock: None, ..database.options(&url()) };
    let store = PostgresStore::open(options).await.expect("the server is up");
    let now = store.now().await.expect("a time");
    assert!(now.as_ms() > windlass_testkit::clock::ManualClock::START_MS + 1_000_000);
    let info = store.describe().await.expect("a description");
    assert_eq!((info.kind.as_str(), info.schema), ("postgres", windlass_store_postgres::SCHEMA_VERSION));
    assert!(info.place.starts_with(&address()) && !info.place.contains('@'), "{}", info.place);
}
