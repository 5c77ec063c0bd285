//! `windlass devnet`

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::binary::{Folder, hide_numbers};

#[test]
fn accounts_keys_and_urls_are_printed() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--accounts", "2"]);
    devnet.wait_for("Ctrl-C");
    devnet.signal("TERM");
    let (status, stdout) = devnet.end_with_stdout();
    assert_eq!(status.code(), Some(0));
    insta::assert_snapshot!("devnet", hide_numbers(&stdout, "127.0.0.1:"));
}

/// On a terminal of 80 columns an account takes two rows; the URLs are still there at the end.
#[test]
fn the_urls_are_on_the_screen_of_a_small_terminal() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0"]);
    devnet.wait_for("Ctrl-C");
    devnet.signal("TERM");
    let (_, stdout) = devnet.end_with_stdout();
    let rows =
        stdout.lines().flat_map(|line| line.as_bytes().chunks(80).map(<[u8]>::to_vec).collect::<Vec<_>>());
    let screen: Vec<String> = rows.map(|row| String::from_utf8(row).expect("ASCII")).collect();
    let last = &screen[screen.len().saturating_sub(22)..];
    assert!(last.iter().any(|row| row.starts_with("HTTP       http://127.0.0.1:")), "{last:#?}");
}

#[test]
fn a_port_that_is_taken_is_said_so() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("its number").port().to_string();
    let ran = Folder::new().run(&["devnet", "--port", &port]);
    insta::assert_snapshot!("devnet_taken", hide_numbers(&ran.shown(), "127.0.0.1:"));
}

/// Runs until its gas is used up: JUMPDEST, PUSH1 0, JUMP.
const ENDLESS: &str = "0x5b600056";

/// The batch is far longer than anyone would wait for; only its first call is finished.
#[test]
fn a_signal_ends_it_in_the_middle_of_a_batch() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--json"]);
    let url = devnet.json()["http_url"].as_str().expect("a URL").to_owned();
    let addr = url.strip_prefix("http://").expect("an address").to_owned();
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{{"data":"{ENDLESS}"}},"latest"]}}"#
    );
    let batch = format!("[{}]", vec![call; 1_000].join(","));
    let mut stream = TcpStream::connect(&addr).expect("a connection");
    write!(stream, "POST / HTTP/1.1\r\nHost: {addr}\r\nContent-Length: {}\r\n\r\n{batch}", batch.len())
        .expect("sent");
    let mut half = TcpStream::connect(&addr).expect("a connection");
    half.write_all(b"POST / HTTP/1.1\r\nHost: ").expect("sent");
    devnet.wait_for("Ctrl-C");
    devnet.signal("INT");
    let (status, stderr) = devnet.end();
    assert_eq!(status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("still under way"), "{stderr}");
}

/// What the server at a URL says to a call.
fn ask(url: &str, method: &str) -> String {
    let addr = url.strip_prefix("http://").expect("an address");
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
    let mut stream = TcpStream::connect(addr).expect("a connection");
    let length = call.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{call}"
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn endpoints_have_faults_of_their_own() {
    let folder = Folder::new();
    let endpoint = "port=0,faults=503=1,lie=empty*0.5";
    let mut devnet =
        folder.start(&["devnet", "--port", "0", "--json", "--endpoint", endpoint, "--endpoint", "port=0"]);
    let announced = devnet.json();
    let urls: Vec<&str> =
        announced["endpoints"].as_array().expect("a list").iter().filter_map(|url| url.as_str()).collect();
    assert_eq!((urls.len(), urls[0]), (3, announced["http_url"].as_str().expect("a URL")));
    assert!(ask(urls[0], "eth_chainId").contains("0x7a69"));
    assert!(ask(urls[1], "eth_chainId").starts_with("HTTP/1.1 503"));
    assert!(ask(urls[1], "windlass_faults").contains(r#""plan":"503=1,lie=empty*0.5""#));
    assert!(ask(urls[2], "eth_chainId").contains("0x7a69"));
    devnet.signal("TERM");
    assert_eq!(devnet.end().0.code(), Some(0));
}

#[test]
fn an_endpoint_that_cannot_be_read_is_wrong_usage() {
    for wrong in ["8546", "port=x", "port=1,reset=1", "port=1,faults=resett=1"] {
        let ran = Folder::new().run(&["devnet", "--endpoint", wrong]);
        assert!(ran.stderr.contains("--endpoint"), "{}", ran.shown());
        assert_eq!(ran.code, Some(2), "{}", ran.shown());
    }
}
