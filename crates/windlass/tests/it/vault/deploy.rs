//! A new vault, on `windlass devnet` as a person starts it.

use alloy_primitives::Address;
use serde_json::Value;

use super::world::{ADMIN, GUARDIAN, OPERATOR, STRANGER, TREASURY, World, account, keys, signer};
use crate::binary::Folder;

fn wanted() -> Vec<String> {
    let of = |number| account(number).to_string();
    let flags = [("--operator", OPERATOR), ("--treasury", TREASURY), ("--guardian", GUARDIAN)];
    let mut args = vec!["vault".to_owned(), "deploy".to_owned(), "--chain".to_owned(), "local".to_owned()];
    args.extend(flags.into_iter().flat_map(|(flag, number)| [flag.to_owned(), of(number)]));
    args.extend(["--risk-signer".to_owned(), of(STRANGER), "--delay".to_owned(), "2h".to_owned()]);
    args
}

#[test]
fn a_vault_is_deployed_and_works() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--json"]);
    let url = devnet.json()["http_url"].as_str().expect("a URL").to_owned();
    let folder = keys(Folder::with_config(&format!(
        "[chain.local]\nid = 31337\nrpc = [\"{url}\"]\n{}",
        signer("admin")
    )));
    let typed = wanted();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let ran = folder.run(&[&typed[..], &["--dry-run"]].concat());
    insta::assert_snapshot!("vault_deploy_dry_run", ran.shown());
    let ran = folder.run(&[&typed[..], &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let done: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let vault: Address = done["vault"].as_str().expect("an address").parse().expect("an address");
    assert_eq!(vault, account(ADMIN).create(0));
    assert!(ran.stderr.starts_with(&format!("warning: signer `admin` is a bare private key, for development only\nthe vault will be at {vault}\nsending 0x")), "{}", ran.shown());

    let at = ["--chain", "local", "--vault", &vault.to_string()].map(str::to_owned);
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    let shown = folder.run(&[&["vault", "show", "--json"], &at[..]].concat());
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(shown["admin"], account(ADMIN).to_string().as_str());
    assert_eq!(shown["roles"]["operators"][0], account(OPERATOR).to_string().as_str());
    assert_eq!(shown["roles"]["guardians"][0], account(GUARDIAN).to_string().as_str());
    assert_eq!(shown["treasury"], account(TREASURY).to_string().as_str());
    assert_eq!(shown["risk_signer"], account(STRANGER).to_string().as_str());
    assert_eq!((shown["delay_s"].as_u64(), shown["approval_required"].as_bool()), (Some(7_200), Some(true)));
    assert_eq!(shown["code_is_carried"], true);

    let ran = folder.run(&typed);
    assert!(
        ran.code == Some(1) && ran.stderr.contains(&format!("made a contract, at {vault}")),
        "{}",
        ran.shown()
    );
    assert_eq!(folder.run(&[&["vault", "pause"], &at[..]].concat()).code, Some(0));
    assert_eq!(folder.run(&typed).code, Some(0), "another, once something lies in between");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_vault_can_be_is_refused_before_a_key_is_opened() {
    let world = World::start().await;
    let (who, zero) = (account(1).to_string(), Address::ZERO.to_string());
    for (operator, treasury, delay, words) in [
        (&zero, &who, "2h", "the operator cannot be the zero address"),
        (&who, &zero, "2h", "the treasury cannot be the zero address"),
        (&who, &who, "59m", "the delay is between 1 hour and 30 days"),
        (&who, &who, "721h", "the delay is between 1 hour and 30 days"),
        (&who, &who, "3600500ms", "--delay is whole seconds"),
    ] {
        let ran = world.run(&["deploy", "--operator", operator, "--treasury", treasury, "--delay", delay]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.shown());
        assert!(ran.stderr.starts_with(&format!("error: {words}")), "{}", ran.shown());
    }
}

/// The same code elsewhere: it was made for another address, and cannot check approvals.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_not_taken_for_the_binarys() {
    let world = World::start().await;
    assert_eq!(world.shown()["code_is_carried"], true);
    let code = world.chain.code(world.vault);
    let length = u16::try_from(code.len()).expect("short").to_be_bytes();
    // PUSH2 length, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN
    let init = [&[0x61, length[0], length[1], 0x80, 0x60, 0x0a, 0x5f, 0x39, 0x5f, 0xf3][..], &code].concat();
    let accounts = windlass_devnet::chain::dev_accounts();
    let fake = world.chain.deploy(&accounts[ADMIN], init.into()).expect("deployed");
    let ran = world.run(&["show", "--json", "--vault", &fake.to_string()]);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.shown()));
    assert_eq!(shown["code_is_carried"], false);
}
