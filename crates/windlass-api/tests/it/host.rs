//! Under which names the API answers: a page that a browser has from elsewhere may have
//! its own name point at this machine, and must not read what is served here.

use std::net::Ipv4Addr;

use windlass_api::{Api, ApiOptions, ApiParts, BindError};
use windlass_core::code::Code;

use crate::app::{App, free_port};
use crate::database::Kind;

/// The status of a request that is made under a name.
async fn status_of(app: &App, line: &str, headers: &str) -> u16 {
    let answer = app.raw(format!("{line}\r\n{headers}connection: close\r\n\r\n").as_bytes()).await;
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("{line} {headers}: {answer}"));
    if status == "421" {
        assert!(answer.contains("content-type: application/json"), "{answer}");
        assert!(answer.contains(r#""code":"unknown_host""#) && answer.contains("api.hosts"), "{answer}");
    }
    status.parse().unwrap()
}

const GET: &str = "GET /healthz HTTP/1.1";

#[tokio::test]
async fn on_loopback_only_local_names_are_answered() {
    let app = App::spawn(Kind::Sqlite).await;
    for host in
        ["localhost", "localhost:9999", "LocalHost:1", "127.0.0.1", "127.0.0.1:9999", "[::1]", "[::1]:9999"]
    {
        assert_eq!(status_of(&app, GET, &format!("host: {host}\r\n")).await, 200, "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:9999",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "192.168.0.1",
        "0.0.0.0",
        "169.254.169.254",
        "[::ffff:192.168.0.1]",
        "",
        "localhost, evil.example",
        "localhost/",
    ] {
        assert_eq!(status_of(&app, GET, &format!("host: {host}\r\n")).await, 421, "{host:?}");
    }
    assert_eq!(status_of(&app, GET, "host: localhost\r\nhost: evil.example\r\n").await, 421);
    assert_eq!(status_of(&app, GET, "").await, 421, "HTTP/1.1 wants a name");
    assert_eq!(status_of(&app, "GET /healthz HTTP/1.0", "").await, 200, "no browser is that old");
}

#[tokio::test]
async fn every_path_and_method_looks_at_the_name() {
    let app = App::with(Kind::Sqlite, |options, _| options.cors_origins = vec!["*".into()]).await;
    let evil = "host: evil.example\r\norigin: http://evil.example\r\n";
    for line in [
        "GET / HTTP/1.1",
        "GET /fees HTTP/1.1",
        "GET /api/v1/indexes HTTP/1.1",
        "GET /api/v1/stream HTTP/1.1",
        "GET /nothing HTTP/1.1",
        "POST /graphql HTTP/1.1",
        "GET http://evil.example/healthz HTTP/1.1",
        "GET http://localhost/healthz HTTP/1.1",
    ] {
        assert_eq!(status_of(&app, line, evil).await, 421, "{line}");
    }
    let preflight = format!("{evil}access-control-request-method: POST\r\n");
    assert_eq!(status_of(&app, "OPTIONS /graphql HTTP/1.1", &preflight).await, 421);
    // A name within the request's target counts too.
    let local = "host: localhost\r\n";
    assert_eq!(status_of(&app, "GET http://evil.example/healthz HTTP/1.1", local).await, 421);
    assert_eq!(status_of(&app, "GET http://localhost/healthz HTTP/1.1", local).await, 200);
}

#[tokio::test]
async fn names_that_are_listed_are_answered_too() {
    let hosts = vec!["Windlass.internal".to_owned(), "10.0.0.7".to_owned()];
    let app = App::with(Kind::Sqlite, |options, _| options.hosts = hosts).await;
    for host in ["windlass.internal", "WINDLASS.internal:80", "10.0.0.7:80", "localhost"] {
        assert_eq!(status_of(&app, GET, &format!("host: {host}\r\n")).await, 200, "{host}");
    }
    for host in ["windlass.internal.evil.example", "10.0.0.8"] {
        assert_eq!(status_of(&app, GET, &format!("host: {host}\r\n")).await, 421, "{host}");
    }
}

#[tokio::test]
async fn another_address_of_loopback_is_a_name_of_its_own() {
    let app =
        App::with(Kind::Sqlite, |options, _| options.listen = (Ipv4Addr::new(127, 0, 0, 9), 0).into()).await;
    assert_eq!(app.text("/healthz").await.0, 200);
}

#[tokio::test]
async fn an_address_that_is_open_to_the_network_has_names_that_nobody_knows() {
    let open = |options: &mut ApiOptions| {
        options.allow_remote = true;
        options.listen = (Ipv4Addr::UNSPECIFIED, 0).into();
    };
    let app = App::with(Kind::Sqlite, |options, _| open(options)).await;
    assert_eq!(status_of(&app, GET, "host: any.example\r\n").await, 200);
    let app = App::with(Kind::Sqlite, |options, _| {
        open(options);
        options.hosts = vec!["one.example".into()];
    })
    .await;
    assert_eq!(status_of(&app, GET, "host: any.example\r\n").await, 421);
    assert_eq!(status_of(&app, GET, "host: one.example\r\n").await, 200);
}

#[tokio::test]
async fn what_is_no_name_is_not_listed() {
    let app = App::spawn(Kind::Sqlite).await;
    for host in ["", "*", "http://a.example", "a.example:80", "a.example/", "a b", "é.example", "u@a.example"]
    {
        let options = ApiOptions { hosts: vec![host.to_owned()], ..free_port() };
        let refused = Api::bind(options, ApiParts::new(app.store.clone())).await.err().unwrap();
        assert!(matches!(refused, BindError::Host { .. }), "{host:?}");
        assert_eq!(refused.code(), Code::ConfigInvalid);
    }
}
