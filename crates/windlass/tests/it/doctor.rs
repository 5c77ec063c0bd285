//! `windlass doctor`

use crate::binary::{Folder, NOBODY, Running, hide_numbers};

/// How often a test looks for what takes a while to come about.
const MAX_LOOKS: usize = 500;

fn shown(text: &str) -> String {
    let text = hide_numbers(&hide_numbers(text, "127.0.0.1:"), "answers within ");
    let text = hide_columns(&text);
    let text = hide_numbers(&hide_numbers(&text, "head is block 0, "), "sqlite 3.");
    hide_numbers(&text, "sqlite 3.[N].")
}

/// Replaces what is free on the disk, however wide the column before it is.
fn hide_columns(text: &str) -> String {
    let line = |line: &str| match line.split_once(" MiB free at ") {
        Some((before, after)) => {
            let kept = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{kept}[N] MiB free at {after}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn devnet(folder: &Folder, args: &[&str]) -> (Running, String) {
    let mut devnet = folder.start(&[&["devnet", "--port", "0", "--json"], args].concat());
    let url = devnet.json()["http_url"].as_str().expect("a url").to_owned();
    (devnet, url)
}

fn config(url: &str) -> String {
    format!("[chain.local]\nid = 31337\nrpc = [\"{url}\"]\n")
}

#[test]
fn all_is_well() {
    let folder = Folder::new();
    let (_devnet, url) = devnet(&folder, &[]);
    folder.write("windlass.toml", &config(&url));
    insta::assert_snapshot!("doctor_well", shown(&folder.run(&["doctor"]).shown()));
}

#[test]
fn a_missing_database_folder_and_a_dead_endpoint_are_failures() {
    let text =
        format!("database.url = 'sqlite:no/such/windlass.db'\n{}", config(&format!("http://{NOBODY}/key")));
    insta::assert_snapshot!("doctor_failing", shown(&Folder::with_config(&text).run(&["doctor"]).shown()));
}

#[test]
fn an_endpoint_of_another_chain_is_a_failure() {
    let folder = Folder::new();
    let (_devnet, url) = devnet(&folder, &["--chain-id", "5"]);
    folder.write("windlass.toml", &config(&url));
    let ran = folder.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).expect("json");
    let finding = report["findings"].as_array().and_then(|all| all.last()).expect("a finding").clone();
    assert_eq!((finding["level"].as_str(), finding["code"].as_str()), (Some("failure"), Some("W0202")));
}

#[test]
fn an_endpoint_in_trouble_is_told_from_one_that_is_gone() {
    let folder = Folder::new();
    let (_devnet, url) = devnet(&folder, &["--faults", "503=1"]);
    folder.write("windlass.toml", &config(&url));
    insta::assert_snapshot!("doctor_status_503", shown(&folder.run(&["doctor"]).shown()));
}

/// Asks until the chain is long enough for the limit to show.
#[test]
fn a_provider_that_limits_log_ranges_is_found_out() {
    let folder = Folder::new();
    let (_devnet, url) = devnet(&folder, &["--block-time", "1ms", "--faults", "logs=quicknode:150"]);
    folder.write("windlass.toml", &config(&url));
    let warned = (0..MAX_LOOKS).any(|_| {
        let ran = folder.run(&["doctor"]);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        let limit = ran.stdout.lines().find(|line| line.ends_with("limits log ranges to 150 blocks"));
        limit.is_some_and(|line| line.starts_with("warning  chain.local.rpc[0]"))
    });
    assert!(warned, "the limit was not seen");
}

#[test]
fn a_wrong_configuration_ends_the_examination() {
    insta::assert_snapshot!("doctor_config", Folder::with_config("lgo = 1\n").run(&["doctor"]).shown());
}

#[test]
fn secrets_that_are_missing_and_sockets_that_lead_nowhere() {
    let text = format!("[chain.a]\nid = 1\nrpc = [\"env:NO_SUCH_RPC\", \"ws://{NOBODY}/hunter2\"]\n");
    let ran = Folder::with_config(&text).run(&["doctor"]);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("doctor_secret", shown(&ran.shown()));
}

#[test]
fn a_database_that_is_there_is_looked_at_closely() {
    let folder = Folder::new();
    let mut running = folder.start(&["run", "--role", "upkeep"]);
    running.wait_for("running");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    insta::assert_snapshot!("doctor_database", shown(&folder.run(&["doctor"]).shown()));
    let before = std::fs::read(folder.path().join("windlass.db")).expect("a database");
    folder.run(&["doctor"]);
    let after = std::fs::read(folder.path().join("windlass.db")).expect("a database");
    assert!(before == after, "the doctor has changed the database");
}

/// Whoever reads a passphrase and its keystore pays.
#[test]
fn a_passphrase_that_others_can_read_is_warned_about() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_config("[signer.ops]\nkeystore = 'ops.json'\npassphrase = 'file:ops.pass'\n");
    for (file, mode) in [("ops.json", 0o600), ("ops.pass", 0o644)] {
        folder.write(file, "x\n");
        let path = folder.path().join(file);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    }
    let ran = folder.run(&["doctor"]);
    let warned: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("warning  keys")).collect();
    assert!(
        matches!(warned[..], [line] if line.contains("ops.pass") && line.contains("0644")),
        "{}",
        ran.shown()
    );
    assert!(ran.code == Some(0) && ran.stdout.contains("hint: chmod 600"), "{}", ran.shown());
}

#[test]
fn a_damaged_database_is_found_out() {
    let folder = Folder::new();
    let mut running = folder.start(&["run", "--role", "upkeep"]);
    running.wait_for("running");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let path = folder.path().join("windlass.db");
    let mut bytes = std::fs::read(&path).expect("a database");
    // The first page, where the schema is, stays; what follows it is overwritten.
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    bytes[page..].fill(0xa5);
    std::fs::write(&path, bytes).expect("written");
    let ran = folder.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(ran.stdout.contains("windlass explain W0106"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("windlass doctor"), "{}", ran.stdout);
}

#[test]
fn a_folder_in_place_of_the_database_is_a_failure() {
    let folder = Folder::with_config("database.url = 'sqlite:data'");
    std::fs::create_dir(folder.path().join("data")).expect("a folder");
    insta::assert_snapshot!("doctor_folder", shown(&folder.run(&["doctor"]).shown()));
}

#[test]
fn every_endpoint_is_named_by_its_place_and_none_by_its_key() {
    let folder = Folder::new().variable("STRANGE", "ftp://hunter2");
    let text = "[chain.a]\nid = 1\nrpc = [\"env:STRANGE\", \"env:NO_SUCH_RPC\"]\n";
    folder.write("windlass.toml", text);
    let ran = folder.run(&["doctor"]);
    assert!(!ran.shown().contains("hunter2"), "{}", ran.shown());
    for words in ["chain.a.rpc[0]  ftp://*** is not an HTTP endpoint", "chain.a.rpc[1]  the environment"] {
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
}
