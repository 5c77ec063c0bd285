//! `windlass run`: how it starts and ends.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::binary::{Folder, hide_numbers};

/// Takes any port, since many of these run at a time.
const FREE_PORT: &str = "api.listen = '127.0.0.1:0'";
const PUBLIC: &str = "api.listen = '0.0.0.0:0'\napi.public = true";

#[test]
fn signals_end_it_cleanly() {
    for signal in ["TERM", "INT", "HUP"] {
        let folder = Folder::with_config(FREE_PORT);
        let mut running = folder.start(&["run"]);
        running.wait_for("running");
        running.signal(signal);
        let (status, rest) = running.end();
        assert_eq!(status.code(), Some(0), "{rest}");
        assert!(rest.contains("stopped"), "{rest}");
        assert_eq!(folder.run(&["status"]).code, Some(0));
    }
}

#[test]
fn logs_are_json_when_asked_for() {
    let folder = Folder::with_config("log.format = 'json'\nshutdown.limit = '5s'");
    let mut running = folder.start(&["run", "--role", "upkeep"]);
    running.wait_for("{\"timestamp\":");
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
    assert!(rest.contains("\"message\":\"stopped\""), "{rest}");
    assert!(rest.contains("\"message\":\"stopping; "), "{rest}");
    let plain = rest.lines().find(|line| serde_json::from_str::<serde_json::Value>(line).is_err());
    assert_eq!(plain, None, "what a signal says is a line of the log too");
}

/// A program that reads the log can read why it ended, too.
#[test]
fn a_failure_is_json_where_logs_are() {
    let folder = Folder::with_config("log.format = 'json'\ndatabase.url = 'sqlite:.'");
    let ran = folder.run(&["run", "--role", "upkeep"]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<serde_json::Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let last = lines.last().expect("a line");
    assert_eq!((&last["level"], &last["code"]), (&"ERROR".into(), &"W0101".into()), "{last}");
    assert!(last["message"].as_str().is_some_and(|text| text.contains("is a folder")), "{last}");
    assert!(last["hint"].is_string(), "{last}");
}

#[test]
fn where_nothing_is_configured_it_says_what_to_do_first() {
    let folder = Folder::new();
    insta::assert_snapshot!("run_nothing", folder.run(&["run"]).shown());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is written");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let listen = taken.local_addr().expect("its number").to_string();
    let configured = folder.run_with(&[("WINDLASS_API__LISTEN", &listen)], &["run"]);
    assert!(configured.stderr.contains("W0301"), "variables are a configuration: {}", configured.shown());
}

/// Nobody should think that something is collected.
#[test]
fn it_says_what_it_does() {
    let folder = Folder::with_config(FREE_PORT);
    let mut running = folder.start(&["run"]);
    running.wait_for("roles=\"collect,api,upkeep\"");
    running.wait_for("serving what was collected");
    running.wait_for("no index is configured");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
}

/// Whoever opens the API to the network is told so, at the start and by the doctor.
#[test]
fn an_api_beyond_loopback_is_served_and_said_plainly() {
    let folder = Folder::with_config(PUBLIC);
    let mut running = folder.start(&["run"]);
    let line = running.wait_for("serving what was collected");
    let port = line.rsplit(':').next().map(|rest| rest.trim_end_matches(|c: char| !c.is_ascii_digit()));
    let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("a port in {line}"));
    running.wait_for("`api.public` is true: everybody who reaches this address reads");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    // A container's port is reached under any name.
    stream.write_all(b"GET /healthz HTTP/1.0\r\nHost: windlass.example\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{answer}");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let doctor = folder.run(&["doctor"]);
    assert!(doctor.stdout.contains("without a key; payouts take a key"), "{}", doctor.shown());
}

#[test]
fn a_port_that_is_taken_is_told_before_anything_runs() {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let listen = taken.local_addr().expect("its number");
    let folder = Folder::with_config(&format!("api.listen = '{listen}'"));
    let ran = folder.run(&["run"]);
    insta::assert_snapshot!("run_port_taken", hide_numbers(&ran.shown(), "127.0.0.1:"));
    assert!(!folder.path().join("windlass.db").exists(), "nothing is written");
}

#[test]
fn it_does_not_start_on_a_database_that_is_none() {
    let folder = Folder::with_config(FREE_PORT);
    folder.write("windlass.db", "this is not a database, and long enough to be looked at as one\n");
    let ran = folder.run(&["run"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("error[W0106]"), "{}", ran.stderr);
    assert!(folder.read("windlass.db").starts_with("this is not"));
}

/// A file whose header says that a later SQLite wrote it may only be read, whoever asks.
#[test]
fn a_database_that_is_read_only_is_told_before_anything_runs() {
    let folder = Folder::with_config(FREE_PORT);
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let path = folder.path().join("windlass.db");
    let mut bytes = std::fs::read(&path).expect("a database");
    bytes[18] = 3;
    std::fs::write(&path, bytes).expect("written");
    insta::assert_snapshot!("run_read_only", folder.run(&["run"]).shown());
}

/// A call whose body never comes holds up the devnet's clean end. That the server has asked for the body
/// shows that the call is under way.
#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new();
    let mut running = folder.start(&["devnet", "--port", "0", "--json"]);
    let url = running.json()["http_url"].as_str().expect("a url").to_owned();
    running.wait_for("Ctrl-C");
    let address = url.strip_prefix("http://").expect("an address");
    let mut held = TcpStream::connect(address).expect("connected");
    let head = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    write!(held, "{head}content-length: 100\r\nexpect: 100-continue\r\n\r\n").expect("asked");
    let mut asked = [0; 12];
    held.read_exact(&mut asked).expect("the server asks for the body");
    assert_eq!(&asked, b"HTTP/1.1 100");
    running.signal("INT");
    running.wait_for("to force");
    running.signal("INT");
    assert_eq!(running.end().0.code(), Some(130));
}
