//! The operator's table: what stops payouts, what `payout show`, `/readyz` and `doctor` say of it, and
//! that it goes on after the mend.

use alloy_primitives::{Address, B256, U256, hex, keccak256};
use alloy_sol_types::sol;
use serde_json::Value;
use windlass_devnet::chain::{DevAccount, ReorgOptions};

use super::world::{FINALITY, PayWorld, create, transfer};
use crate::binary::{Folder, Running};
use crate::collect::http::{get, url_in};
use crate::collect::world::until;

sol! {
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit);
    function mint(address to, uint256 amount);
    function pause();
    function unpause();
    function grantRole(bytes32 role, address account);
    function revokeRole(bytes32 role, address account);
}

/// A process that pays, and what it pays from.
struct Case {
    world: PayWorld,
    folder: Folder,
    _running: Running,
    url: String,
}

impl Case {
    async fn new() -> Self {
        let world = PayWorld::start().await;
        let folder = world.folder("");
        Self::on(world, folder)
    }

    fn on(world: PayWorld, folder: Folder) -> Self {
        let mut running = folder.start(&["run", "--role", "pay,api"]);
        let url = url_in(&running.wait_for("serving what was collected"));
        Self { world, folder, _running: running, url }
    }

    fn approved(&self, key: &str, amount: &str) -> String {
        let id = create(&self.folder, key, amount);
        let approved = self.folder.run(&["payout", "approve", &id]);
        assert_eq!(approved.code, Some(0), "{}", approved.shown());
        id
    }

    fn is_final(&self, id: &str) {
        self.world.until_payout(&self.folder, id, |payout| payout["finalizedAt"].is_string());
    }

    /// What an operator sees once the payout waits for something with these words.
    fn seen(&self, id: &str, words: &str, readiness: &str) -> String {
        let waits_for =
            |payout: &Value| payout["hold"]["reason"].as_str().is_some_and(|why| why.contains(words));
        self.world.until_payout(&self.folder, id, waits_for);
        let ready = until(|| {
            let body = get(&self.url, "/readyz").1;
            if body.contains(readiness) { Ok(body) } else { Err(body) }
        });
        let shown = self.folder.run(&["payout", "show", id]).stdout;
        let lines = shown.lines().filter(|line| line.starts_with("state") || line.starts_with("waits for"));
        let shown: Vec<&str> = lines.collect();
        let text = format!(
            "payout show\n  {}\n/readyz\n{}doctor\n{}",
            shown.join("\n  "),
            reasons(&ready),
            self.doctor()
        );
        masked(&text)
    }

    /// What `doctor` finds of paying that is not well.
    fn doctor(&self) -> String {
        let ran = self.folder.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.shown()));
        let findings = report["findings"].as_array().expect("findings").iter();
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let is_of_paying =
            |finding: &&Value| text(finding, "subject").starts_with("pay") && finding["level"] != "ok";
        let line = |finding: &Value| {
            let (level, subject) = (text(finding, "level"), text(finding, "subject"));
            format!(
                "  {level} {subject}: {}\n    hint: {}\n",
                text(finding, "message"),
                text(finding, "hint")
            )
        };
        let lines: String = findings.filter(is_of_paying).map(line).collect();
        if lines.is_empty() { "  nothing\n".to_owned() } else { lines }
    }
}

fn reasons(body: &str) -> String {
    let body: Value = serde_json::from_str(body).expect("json");
    let reasons = body["reasons"].as_array().cloned().unwrap_or_default();
    let line = |reason: &Value| {
        let text = |name: &str| reason[name].as_str().unwrap_or_default().to_owned();
        format!("  {} {}: {}\n", text("code"), text("subject"), text("message"))
    };
    let lines: String = reasons.iter().map(line).collect();
    if lines.is_empty() { "  ready\n".to_owned() } else { lines }
}

/// Addresses, hashes, ids, blocks and amounts of gas differ from run to run.
fn masked(text: &str) -> String {
    let word = |word: &str| -> String {
        let plain = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_hex = plain.starts_with("0x") && plain.len() > 10;
        let is_id = plain.len() == 36 && plain.matches('-').count() == 4;
        let is_gas = plain
            .split_once('.')
            .is_some_and(|(_, rest)| rest.len() > 6 && rest.bytes().all(|b| b.is_ascii_digit()));
        let is_endpoint = plain.starts_with("127.0.0.1:") || plain.starts_with("http://");
        match (is_hex, is_id, is_gas, is_endpoint) {
            (true, ..) => word.replace(plain, "0x…"),
            (_, true, ..) => word.replace(plain, "ID"),
            (_, _, true, _) => word.replace(plain, "N"),
            (.., true) => word.replace(plain, "ENDPOINT"),
            _ => word.to_owned(),
        }
    };
    let line = |line: &str| {
        let words: Vec<String> = line.split(' ').map(word).collect();
        crate::binary::hide_numbers(&words.join(" "), "block ").replace("block [N]x…", "block 0x…")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn role() -> B256 {
    keccak256("OPERATOR_ROLE")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_gas() {
    let world = PayWorld::start().await;
    let poor = DevAccount::from_key(B256::repeat_byte(0x77)).expect("a key");
    world.act(0, world.vault, &grantRoleCall { role: role(), account: poor.address() });
    let folder = world.folder("").variable("OPS_KEY", hex::encode(poor.key()));
    let case = Case::on(world, folder);
    let id = case.approved("invoice-1", "5 USDC");
    insta::assert_snapshot!("operator_no_gas", case.seen(&id, "for gas", "W0613"));
    transfer(&case.world.chain, poor.address(), U256::from(10_u64.pow(18)));
    case.is_final(&id);
    insta::assert_snapshot!(
        "operator_mended",
        masked(&reasons(&until(|| {
            let body = get(&case.url, "/readyz").1;
            if body.contains("W0613") { Err(body) } else { Ok(body) }
        })))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_vault() {
    let case = Case::new().await;
    let id = case.approved("invoice-1", "1000005 USDC");
    insta::assert_snapshot!("operator_short_vault", case.seen(&id, "the vault holds", ""));
    let (vault, token) = (case.world.vault, case.world.token);
    case.world.act(0, token, &mintCall { to: vault, amount: U256::from(10_000_000_u64) });
    case.is_final(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_vault() {
    let case = Case::new().await;
    case.world.act(0, case.world.vault, &pauseCall {});
    let id = case.approved("invoice-1", "5 USDC");
    insta::assert_snapshot!("operator_paused", case.seen(&id, "EnforcedPause", ""));
    case.world.act(0, case.world.vault, &unpauseCall {});
    case.is_final(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_the_days_limit() {
    let case = Case::new().await;
    let (vault, token) = (case.world.vault, case.world.token);
    let limit = |units: u64| setTokenCall {
        token,
        enabled: true,
        payoutLimit: U256::ZERO,
        dayLimit: U256::from(units),
    };
    case.world.act(0, vault, &limit(10_000_000));
    let first = case.approved("invoice-1", "6 USDC");
    case.is_final(&first);
    let id = case.approved("invoice-2", "6 USDC");
    insta::assert_snapshot!("operator_over_limit", case.seen(&id, "day limit leaves", ""));
    case.world.act(0, vault, &limit(20_000_000));
    case.is_final(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_role() {
    let case = Case::new().await;
    let (vault, account) = (case.world.vault, case.world.chain.accounts()[1].address());
    case.world.act(0, vault, &revokeRoleCall { role: role(), account });
    let id = case.approved("invoice-1", "5 USDC");
    insta::assert_snapshot!("operator_missing_role", case.seen(&id, "OPERATOR_ROLE", ""));
    case.world.act(0, vault, &grantRoleCall { role: role(), account });
    case.is_final(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_used_elsewhere() {
    let case = Case::new().await;
    let first = case.approved("invoice-1", "5 USDC");
    case.is_final(&first);
    let (token, to) = (case.world.token, Address::repeat_byte(9));
    case.world.act(1, token, &mintCall { to, amount: U256::ONE });
    let id = case.approved("invoice-2", "5 USDC");
    insta::assert_snapshot!("operator_key_used_elsewhere", case.seen(&id, "is halted", "W0608"));
    case.world.chain.mine_many(FINALITY + 2);
    let resumed = case.folder.run(&["signer", "resume", "ops", "--yes"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.shown());
    case.is_final(&id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorg_below_finality() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let case = Case::on(world, folder);
    let id = case.approved("invoice-1", "5 USDC");
    case.is_final(&id);
    // A process that begins compares at once, and again half a minute later.
    let Case { world, folder, _running: running, .. } = case;
    running.signal("TERM");
    running.end();
    let shown = folder.run(&["payout", "show", &id, "--json"]).stdout;
    let shown: Value = serde_json::from_str(&shown).expect("json");
    let block = shown["inclusion"]["blockNumber"].as_u64().expect("a block");
    let options =
        ReorgOptions { return_to_pool: false, fill: false, allow_finalized: true, ..ReorgOptions::default() };
    world.chain.reorg(world.chain.head().number() - block + 1, &options).expect("a reorg");
    world.chain.mine_many(FINALITY + 2);
    let case = Case::on(world, folder);
    insta::assert_snapshot!("operator_reorg", case.seen(&id, "its payment is gone", "W0608"));
    for args in [vec!["payout", "resend", &id, "--yes"], vec!["signer", "resume", "ops", "--yes"]] {
        let ran = case.folder.run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    }
    case.is_final(&id);
}

/// A devnet that was restarted under the same id: not in the table, and stops payouts alike.
#[tokio::test(flavor = "multi_thread")]
async fn another_chain_of_the_same_id() {
    let case = Case::new().await;
    let first = case.approved("invoice-1", "5 USDC");
    case.is_final(&first);
    let right = case.folder.read("windlass.toml");
    let Case { world, folder, _running: running, .. } = case;
    running.signal("TERM");
    running.end();
    let other = PayWorld::begun_at(1_900_000_000).await;
    assert_eq!((other.vault, other.token), (world.vault, world.token));
    other.chain.mine_many(20);
    folder.write("windlass.toml", &other.config(""));
    let case = Case::on(other, folder);
    let id = case.approved("invoice-2", "5 USDC");
    insta::assert_snapshot!("operator_other_chain", case.seen(&id, "began anew", "W0206"));
    assert_eq!(case.world.paid().0, 0, "nothing is signed");
    let dry = case.folder.run(&["pay", "accept-chain", "--dry-run"]);
    assert!(dry.code == Some(0) && dry.stdout.contains("would be known by block"), "{}", dry.shown());
    let unsaid = case.folder.run(&["pay", "accept-chain"]);
    assert!(unsaid.code == Some(1) && unsaid.stderr.contains("--yes"), "{}", unsaid.shown());
    // The right endpoint again.
    let Case { folder, _running: running, .. } = case;
    running.signal("TERM");
    running.end();
    folder.write("windlass.toml", &right);
    let case = Case::on(world, folder);
    case.is_final(&id);
    let same = case.folder.run(&["pay", "accept-chain", "--yes"]);
    assert!(same.code == Some(1) && same.stderr.contains("nothing to accept"), "{}", same.shown());
}
