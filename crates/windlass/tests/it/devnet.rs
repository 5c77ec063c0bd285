//! `windlass devnet`

use std::io::Write;
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
