//! `windlass config check` on a file with something wrong at every level.

use crate::binary::Folder;

const WRONG: &str = r#"
[chain.local]
id = 0
rpc = ["http://127.0.0.1:1"]

[chain.second]
id = 7
rpc = ["http://127.0.0.1:1"]

[chain.third]
id = 7
rpc = ["http://127.0.0.1:1"]

[index.fees]
chain = "locl"
contract = "0x0000000000000000000000000000000000000000"
start = 0
abi = "missing.json"

[index.more]
chain = "second"
contract = "0x1111111111111111111111111111111111111111"
start = "soon"
events = ["E(adress a)"]

[index.slips]
chain = "local"
contract = "0x1111111111111111111111111111111111111111"
start = 0
abi = "abi.json"
events = ["Transferr", "Transfer", "Aproval"]

[log]
level = "loud"
"#;

/// Nobody has to run it twice: what is wrong with values, between sections and in ABI files.
#[test]
fn every_problem_of_every_kind_is_told_at_once() {
    let folder = Folder::with_config(WRONG);
    folder.write(
        "abi.json",
        r#"[
          {"type":"event","name":"Transfer","inputs":[{"name":"to","type":"address","indexed":true}]},
          {"type":"event","name":"Approval","inputs":[]}
        ]"#,
    );
    insta::assert_snapshot!("config_check_levels", folder.run(&["config", "check"]).shown());
}

/// Each of a great many sections is looked at by itself, and only so many of them.
#[test]
fn a_great_many_wrong_indexes_are_counted() {
    let wrong = |n| format!("[index.i{n}]\nchain = 'c{n}x'\n[chain.c{n}]\n");
    let text: String = (0..20_000).map(wrong).collect();
    let ran = Folder::with_config(&text).run(&["config", "check"]);
    assert!(ran.stderr.starts_with("error[W0002]: the configuration has 1002 problems\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1 + 50 + 1 + 2, "{}", ran.stderr);
}

/// More than a chain's ledger holds is refused before anything is begun, not by the store later.
#[test]
fn more_sources_than_a_chain_can_have_are_refused() {
    let contracts: Vec<String> = (1..=51).map(|number| format!("'0x{number:040x}'")).collect();
    let events: Vec<String> = (0..100).map(|number| format!("'E{number}()'")).collect();
    let index = |name: &str| {
        let (contracts, events) = (contracts.join(","), events.join(","));
        format!("[index.{name}]\nchain = 'local'\ncontract = [{contracts}]\nstart = 0\nevents = [{events}]\n")
    };
    let chain = "[api]\nlisten = '127.0.0.1:0'\n[chain.local]\nid = 7\nrpc = ['http://127.0.0.1:1']\n";
    let one = Folder::with_config(&format!("{chain}{}", index("one")));
    assert_eq!(one.run(&["config", "check"]).code, Some(0), "as many as it may have");
    let two = Folder::with_config(&format!("{chain}{}{}", index("one"), index("two")));
    for verb in [&["config", "check"][..], &["run"]] {
        let ran = two.run(verb);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let told = "the indexes of chain `local` have 10200 sources";
        assert!(ran.stderr.contains("W0002") && ran.stderr.contains(told), "{}", ran.stderr);
        assert!(ran.stderr.contains("index.two.contract"), "{}", ran.stderr);
    }
}
