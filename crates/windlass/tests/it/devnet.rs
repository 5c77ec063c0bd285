//! `windlass devnet`

use std::net::TcpListener;

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
