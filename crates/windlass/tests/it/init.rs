//! `windlass init`

use std::os::unix::fs::PermissionsExt;

use crate::binary::{Folder, NOBODY, hide_numbers};
use crate::collect::terminal::Shown;

#[test]
fn a_file_is_written_once() {
    let folder = Folder::new();
    insta::assert_snapshot!("init", folder.run(&["init"]).shown());
    assert_eq!(folder.run(&["config", "check"]).code, Some(0));
    folder.write("windlass.toml", "# mine\n");
    insta::assert_snapshot!("init_exists", folder.run(&["init"]).shown());
    assert_eq!(folder.read("windlass.toml"), "# mine\n");
    assert_eq!(folder.run(&["init", "--force"]).code, Some(0));
    assert_eq!(folder.read("windlass.toml"), folder.run(&["config", "example"]).stdout);
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = Folder::new();
    let ran = folder.run(&["init", "--dry-run"]);
    assert_eq!(ran.stdout, folder.run(&["config", "example"]).stdout);
    assert!(!folder.path().join("windlass.toml").exists());
}

#[test]
fn the_endpoint_is_asked_for_its_chain() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--chain-id", "137", "--json"]);
    let url = devnet.json()["http_url"].as_str().expect("a url").to_owned();
    let folder = Folder::new().variable("POLYGON_RPC", &url);
    assert_eq!(folder.run(&["init", "--rpc", "env:POLYGON_RPC"]).code, Some(0));
    let written = folder.read("windlass.toml");
    assert!(written.contains("[chain.polygon]\nid = 137\n"), "{written}");
    assert!(written.contains("rpc = [\"env:POLYGON_RPC\"]"), "{written}");
}

#[test]
fn an_endpoint_that_does_not_answer_leaves_no_file() {
    let folder = Folder::new();
    let ran = folder.run(&["init", "--rpc", &format!("http://{NOBODY}/hunter2hunter2")]);
    insta::assert_snapshot!("init_unreachable", hide_numbers(&ran.shown(), "127.0.0.1:"));
    assert!(!folder.path().join("windlass.toml").exists());
}

#[test]
fn a_key_is_kept_from_others_and_better_elsewhere() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--json"]);
    let url = devnet.json()["http_url"].as_str().expect("a url").to_owned();
    let mode = || {
        let file = std::fs::metadata(folder.path().join("windlass.toml")).expect("a file");
        file.permissions().mode() & 0o777
    };
    assert_eq!(folder.run(&["init", "--rpc", &url]).code, Some(0));
    assert_ne!(mode(), 0o600, "there is no key in it");
    let ran = folder.run(&["init", "--force", "--rpc", &format!("{url}/?key=hunter2")]);
    assert_eq!(mode(), 0o600);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("init_key", ran.shown());
}

#[test]
fn a_refusal_comes_with_a_fitting_hint_and_without_the_key() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--json", "--faults", "503=1"]);
    let url = devnet.json()["http_url"].as_str().expect("a url").to_owned();
    let ran = folder.run(&["init", "--rpc", &url]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("hint: the provider is in trouble"), "{}", ran.stderr);
}

#[test]
fn the_file_links_its_schema() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["init"]).code, Some(0));
    let text = folder.read("windlass.toml");
    assert!(text.starts_with("#:schema ./windlass.schema.json\n"), "{text}");
    assert!(text.contains("windlass config schema > windlass.schema.json"), "{text}");
}

/// Without a flag, on a terminal: an endpoint, a contract and an event. Each answer is checked at its own
/// question, says what was found, and is asked for again where it is wrong.
#[test]
fn on_a_terminal_it_asks() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--json"]);
    let url = devnet.json()["http_url"].as_str().expect("a url").to_owned();
    let mut shown = Shown::start_with_input(&folder, &["init"]);
    shown.until(&["URL of an RPC endpoint"]);
    shown.answer(&format!("http://{NOBODY}"));
    shown.until(&["no:", "URL of an RPC endpoint"]);
    shown.answer(&url);
    shown.until(&["the endpoint serves chain 31337, `local`", "address of a contract to collect"]);
    shown.answer("0x12");
    shown.until(&["no:", "address of a contract to collect"]);
    shown.answer("0x00000000000000000000000000000000000000a1");
    shown.until(&["there is no contract at 0x", "address of a contract to collect"]);
    shown.answer("");
    shown.until(&["wrote windlass.toml"]);
    assert_eq!(shown.end(), Some(0));
    assert!(folder.read("windlass.toml").contains(&format!("rpc = [\"{url}\"]")));

    // A flag that is wrong is said before any question.
    let mut shown =
        Shown::start_with_input(&folder, &["init", "--force", "--rpc", &format!("http://{NOBODY}")]);
    shown.until(&["W02"]);
    assert_eq!(shown.end(), Some(1));
}
