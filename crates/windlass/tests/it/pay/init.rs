//! `windlass pay init`: from an empty folder to a vault that pays.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolValue, sol};
use windlass_devnet::chain::{Chain, ChainOptions};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};
use windlass_testkit::foundry::Anvil;

use super::world::{TOKEN, act, create, deploy, json, transfer};
use crate::binary::{Folder, NOBODY, Ran};
use crate::collect::terminal::Shown;
use crate::collect::world::until;

sol! {
    function mint(address to, uint256 amount);
}

const COIN: u128 = 1_000_000_000_000_000_000;

/// Text with every address and hash replaced.
fn hide_hex(text: &str) -> String {
    let mut pieces = text.split("0x");
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(piece.len());
        shown.push_str(if digits >= 40 { "0x[HEX]" } else { "0x" });
        shown.push_str(if digits >= 40 { &piece[digits..] } else { piece });
    }
    shown
}

fn init(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["pay", "init"], more].concat())
}

/// A chain on which everything has a price, and a token on it.
async fn real_chain() -> (Chain, ServerHandle, Address) {
    let chain = Chain::new(ChainOptions { chain_id: 137, ..ChainOptions::default() });
    let name = ("USD Coin".to_owned(), "USDC".to_owned(), U256::from(6)).abi_encode_params();
    let token = deploy(&chain, TOKEN, &name);
    let server = Server::start(Arc::new(chain.clone()), ServerOptions::default()).await.expect("a server");
    (chain, server, token)
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn on_anvil_it_leaves_a_vault_that_pays_at_once() {
    let anvil = Anvil::start(&[]);
    let folder = Folder::new().variable("WINDLASS_API__LISTEN", "127.0.0.1:0");
    let ran = init(&folder, &["--rpc", &anvil.url, "--max-per-payout", "100", "--max-per-day", "1000 DUSD"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    insta::assert_snapshot!("pay_init_anvil", hide_hex(&ran.shown()));
    let config = folder.read("windlass.toml");
    insta::assert_snapshot!("pay_init_config", hide_hex(&config).replace(&anvil.url, "[URL]"));
    let mode = |name: &str| folder.path().join(name).metadata().expect(name).permissions().mode() & 0o777;
    for file in ["audit.key", "ops.json", "ops.pass", "risk.json", "risk.pass", "admin.json", "admin.pass"] {
        assert_eq!(mode(&format!("keys/{file}")), 0o600, "{file}");
    }
    assert_eq!(mode("keys"), 0o700);
    let shown = json(&folder.run(&["vault", "show", "--json"]));
    assert_eq!(shown["roles"]["operators"].as_array().map(Vec::len), Some(1), "{shown}");
    assert!(shown["risk_signer"].is_string() && shown["code_is_carried"] == true, "{shown}");
    let rules = &shown["tokens"][0];
    assert_eq!((&rules["per_payout"], &rules["per_day"]), (&"100000000".into(), &"1000000000".into()));

    let id = create(&folder, "invoice-1", "12.5 DUSD");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    let _running = folder.start(&["run"]);
    until(|| {
        let shown = json(&folder.run(&["payout", "show", &id, "--json"]));
        if shown["state"] == "CONFIRMED" { Ok(()) } else { Err(shown.to_string()) }
    });

    let again = init(&folder, &[]);
    assert!(again.code == Some(0) && again.stderr.contains("everything is ready"), "{}", again.shown());
    assert_eq!(folder.read("windlass.toml"), config);

    // The chain's own coin, added by hand: enabled and filled by the next run.
    folder.write("windlass.toml", &format!("{config}\n[pay.token.ETH]\nnative = true\n"));
    let with_coin = init(&folder, &[]);
    let words = [
        "the vault pays ETH within its limits",
        "sent 10 ETH of a development account to the vault",
        "everything is ready",
    ];
    assert!(words.iter().all(|words| with_coin.stderr.contains(words)), "{}", with_coin.shown());
    let id = create(&folder, "invoice-2", "0.5 ETH");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    let checked = folder.run(&["doctor"]);
    assert!(checked.stdout.contains("the vault holds 10 ETH"), "{}", checked.shown());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_things_have_a_price_nothing_is_sent_without_a_yes() {
    let (chain, server, token) = real_chain().await;
    let folder = Folder::new();
    let (head, token) = (chain.head().number(), token.to_string());
    let first = init(&folder, &["--rpc", &server.http_url(), "--token", &token]);
    assert_eq!(first.code, Some(0), "{}", first.shown());
    insta::assert_snapshot!("pay_init_left", hide_hex(&first.stdout));
    assert_eq!(chain.head().number(), head, "nothing is sent");
    assert_eq!(folder.run(&["config", "check"]).code, Some(0));
    assert!(!folder.read("windlass.toml").contains("development"), "keys are wanted here");

    for line in first.stdout.lines().filter(|line| line.contains("coin for gas to")) {
        let account = line.split_whitespace().find(|word| word.starts_with("0x")).expect("an account");
        transfer(&chain, account.parse().expect("an address"), U256::from(COIN));
    }
    let head = chain.head().number();
    let poor = init(&folder, &[]);
    assert!(poor.stdout.contains("  windlass vault deploy --chain polygon"), "{}", poor.shown());
    assert_eq!(chain.head().number(), head, "nothing is sent without a yes");
    let mut asked = Shown::start_with_input(&folder, &["pay", "init"]);
    asked.until(&["would now send, on polygon", "windlass vault deploy --chain polygon", "[no]: "]);
    asked.answer("");
    asked.until(&["then run `windlass pay init` again"]);
    assert_eq!((asked.end(), chain.head().number()), (Some(0), head), "nothing is sent after a no");
    // What is printed can be typed as it is.
    let typed = poor.stdout.lines().find(|line| line.contains("vault deploy")).expect("a command");
    let typed: Vec<&str> = typed.split_whitespace().skip(1).collect();
    let deployed = folder.run(&typed);
    assert_eq!(deployed.code, Some(0), "{}", deployed.shown());

    let mut asked = Shown::start_with_input(&folder, &["pay", "init"]);
    asked.until(&["windlass vault set-limit", "[no]: "]);
    asked.answer("yes");
    asked.until(&["the vault pays USDC within its limits", "then run `windlass pay init` again"]);
    assert_eq!(asked.end(), Some(0));
    let agreed = init(&folder, &["--yes"]);
    assert_eq!(agreed.code, Some(0), "{}", agreed.shown());
    assert!(!agreed.stdout.contains("windlass vault"), "{}", agreed.shown());
    let vault = json(&folder.run(&["vault", "show", "--json"]))["vault"].as_str().expect("one").to_owned();
    assert!(
        agreed.stdout.contains(&format!("  send some USDC to the vault, {vault}\n")),
        "{}",
        agreed.shown()
    );
    let to = vault.parse().expect("an address");
    act(&chain, 0, token.parse().expect("an address"), &mintCall { to, amount: U256::from(1) });
    let ready = init(&folder, &[]);
    assert!(ready.stderr.contains("next: windlass key create --role admin"), "{}", ready.shown());
}

/// Each failure leaves what was made, and the next run goes on with it.
#[tokio::test(flavor = "multi_thread")]
async fn it_stops_at_a_failure_and_goes_on_when_it_is_run_again() {
    let folder = Folder::new();
    let unreachable = init(&folder, &["--rpc", &format!("http://{NOBODY}")]);
    assert!(unreachable.code == Some(1) && unreachable.stderr.contains("W0201"), "{}", unreachable.shown());
    assert_eq!(names(&folder), Vec::<String>::new());

    let (_chain, server, token) = real_chain().await;
    let (url, token) = (server.http_url(), token.to_string());
    let args = ["--rpc", url.as_str(), "--token", token.as_str()];
    for (more, expected) in [
        (["--max-per-day", "1"], "a day's limit is at least 25000 USDC"),
        (["--max-per-payout", "0"], "a limit is above zero"),
        (["--approvals", "21"], "a number from 1 to 20"),
        (["--passphrase", "hunter2"], "write `env:NAME` or `file:PATH`"),
    ] {
        let ran = init(&folder, &[&args[..], &more].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{}", ran.shown());
        assert!(!ran.stderr.contains("hunter2") && names(&folder).is_empty(), "{}", ran.shown());
    }
    let dry = init(&folder, &[&args[..], &["--dry-run"]].concat());
    assert!(dry.code == Some(0) && dry.stdout.contains("vault = \"0x…\""), "{}", dry.shown());
    assert_eq!(names(&folder), Vec::<String>::new());

    let unset = init(&folder, &[&args[..], &["--passphrase", "env:NOT_SET"]].concat());
    assert!(unset.code == Some(1) && unset.stderr.contains("W0003"), "{}", unset.shown());
    assert_eq!(names(&folder), ["keys"]);
    let key = folder.read("keys/audit.key");
    std::fs::write(folder.path().join("keys/risk.json"), "{}").expect("written");
    let foreign = init(&folder, &args);
    assert!(foreign.code == Some(1) && foreign.stderr.contains("risk.pass"), "{}", foreign.shown());
    let ops = folder.read("keys/ops.json");
    std::fs::remove_file(folder.path().join("keys/risk.json")).expect("removed");
    let done = init(&folder, &args);
    assert_eq!(done.code, Some(0), "{}", done.shown());
    assert_eq!(
        (folder.read("keys/audit.key"), folder.read("keys/ops.json")),
        (key, ops),
        "nothing is replaced"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_configured_already_is_kept() {
    let (_chain, server, token) = real_chain().await;
    let before = format!("# mine\n[chain.mine]\nid = 137\nrpc = [\"{}\"]", server.http_url());
    let folder = Folder::with_config(&before);
    let ran = init(&folder, &["--token", &token.to_string()]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let after = folder.read("windlass.toml");
    assert!(after.starts_with(&format!("{before}\n\n# Signs: sends payouts.\n[signer.ops]\n")), "{after}");
    assert!(after.contains("[pay]\nchain = \"mine\"\n"), "{after}");
    let taken = Folder::with_config(&format!("{before}\n[signer.ops]\nkms = \"x\"\n"));
    let ran = init(&taken, &["--token", &token.to_string()]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("there is a `[signer.ops]` already"),
        "{}",
        ran.shown()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_terminal_it_asks_for_what_it_needs() {
    let (_chain, server, token) = real_chain().await;
    let folder = Folder::new();
    let mut shown = Shown::start_with_input(&folder, &["pay", "init", "--dry-run"]);
    shown.until(&["RPC endpoint", "[http://127.0.0.1:8545]: "]);
    shown.answer(&server.http_url());
    shown.until(&["the token to pay", "[USDC]: "]);
    shown.answer("DAI");
    shown.until(&["the address of `DAI` on chain 137 is not known"]);
    shown.answer("0x00000000000000000000000000000000000000aa");
    shown.until(&["is no token with decimals; check the address and the chain", "[USDC]: "]);
    shown.answer(&token.to_string());
    shown.until(&["the most of one payout, in USDC", "[25000]: "]);
    shown.answer("10");
    shown.until(&["the most of a day, in USDC", "[100000]: "]);
    shown.answer("");
    shown.until(&["how many have to approve a payout", "[1]: "]);
    shown.answer("2");
    shown.until(&["would make keys/admin.json", "after a yes"]);
    assert_eq!(shown.end(), Some(0));
}
