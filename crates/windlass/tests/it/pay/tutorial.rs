//! The tutorial of `docs/pay.md`, run as it is written: its blocks one after another, in a shell,
//! in an empty folder. The test plays the person: it sends the gas and the tokens that the text
//! asks for, and puts an endpoint, an address and an id where the text has `…`.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolValue, sol};
use serde_json::Value;
use windlass_core::payout::vault::event;
use windlass_devnet::chain::{Chain, ChainOptions, LogFilter};
use windlass_devnet::rpc::{Server, ServerOptions};

use super::world::{TOKEN, act, deploy, transfer};
use crate::binary::Folder;
use crate::collect::world::until;

sol! {
    function mint(address to, uint256 amount);
}

const TEXT: &str = include_str!("../../../../../docs/pay.md");
/// What a command that goes on has logged.
const LOG: &str = "run.log";
const COIN: u128 = 1_000_000_000_000_000_000;
/// The variables are kept from one block to the next, in one step: a command that was started and
/// goes on may be reading them.
const BEFORE: &str = "set -eu; if [ -f .env ]; then . ./.env; fi\n";
const AFTER: &str = "\nexport -p > .env.new && mv .env.new .env\n";

/// A block of the tutorial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block<'t> {
    Shell(&'t str),
    Config(&'t str),
    /// What is printed.
    Output(&'t str),
}

/// The blocks below a heading, in order.
fn blocks<'t>(text: &'t str, heading: &str) -> Vec<Block<'t>> {
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let pieces = section.split("\n```").skip(1).step_by(2);
    let block = |piece: &'t str| match piece.split_once('\n').expect("a block") {
        ("sh", code) => Block::Shell(code),
        ("toml", code) => Block::Config(code),
        (_, output) => Block::Output(output),
    };
    pieces.map(block).collect()
}

/// A folder with a shell in it that finds the binary.
struct Shell {
    folder: Folder,
    path: String,
}

impl Shell {
    fn new() -> Self {
        let folder = Folder::new();
        let binary = std::path::Path::new(env!("CARGO_BIN_EXE_windlass"));
        let programs = std::env::var("PATH").expect("a path");
        let path = format!("{}:{programs}", binary.parent().expect("its folder").display());
        Self { folder, path }
    }

    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.folder.path()).env_clear();
        command.env("PATH", &self.path).env("WINDLASS_API__LISTEN", "127.0.0.1:0").stdin(Stdio::null());
        command
    }

    /// Runs a block to its end, which has to be a good one; gives what it printed.
    fn run(&self, script: &str) -> String {
        let script = format!("{BEFORE}{script}{AFTER}");
        let Output { status, stdout, stderr } = self.command(&script).output().expect("a shell");
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        assert!(status.success(), "{script}\n{stdout}\n{stderr}");
        stdout
    }

    /// The value of an exported variable.
    fn variable(&self, name: &str) -> String {
        self.run(&format!("printf %s \"${name}\""))
    }

    /// Starts a command that does not end by itself; it ends when this is dropped.
    fn start(&self, script: &str) -> Started {
        let script = format!("{BEFORE}exec {script}");
        let log = std::fs::File::create(self.folder.path().join(LOG)).expect("a file");
        let child = self.command(&script).stdout(Stdio::null()).stderr(log).spawn();
        Started(child.expect("it starts"))
    }
}

struct Started(std::process::Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tutorials_first_payout_is_paid_at_once() {
    let chain = Chain::new(ChainOptions { chain_id: 137, ..ChainOptions::default() });
    let name = ("USD Coin".to_owned(), "USDC".to_owned(), U256::from(6)).abi_encode_params();
    let token = deploy(&chain, TOKEN, &name);
    let server = Server::start(Arc::new(chain.clone()), ServerOptions::default()).await.expect("a server");
    let shell = Shell::new();
    let mut config = String::new();
    let (mut vault, mut running) = (None, None);
    for block in blocks(TEXT, "From nothing to the first payout") {
        match block {
            Block::Config(text) => {
                let text = text.replace("0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", &token.to_string());
                let text =
                    vault.map_or(text.clone(), |vault: Address| text.replace("0x…", &vault.to_string()));
                config.push_str(&text);
                config.push('\n');
                shell.folder.write("windlass.toml", &config);
            }
            Block::Output(output) => panic!("unexpected: {output}"),
            Block::Shell("windlass run") => running = Some(shell.start("windlass run")),
            Block::Shell(script) if script.contains("payout create") => pay(&shell, &chain, script),
            Block::Shell(script) => {
                let said = shell.run(&script.replace("https://…", &server.http_url()));
                if script.contains("signer create") {
                    for account in ["OPS", "ADMIN"].map(|name| shell.variable(name)) {
                        transfer(&chain, account.parse().expect("an account"), U256::from(COIN));
                    }
                }
                if let Some((_, address)) = said.split_once("\nvault        ") {
                    let address = address.trim().parse().expect("an address");
                    act(&chain, 0, token, &mintCall { to: address, amount: U256::from(100_000_000_u64) });
                    vault = Some(address);
                }
            }
        }
    }
    let mode =
        |name: &str| shell.folder.path().join(name).metadata().expect(name).permissions().mode() & 0o777;
    assert_eq!(["keys/audit.key", "keys/ops.pass", "keys/ops.json"].map(mode), [0o600; 3]);
    let paid = LogFilter::all().address(vault.expect("a vault")).topic([event::topics()[0]]);
    assert_eq!(chain.canonical_logs(&paid).len(), 1);
    drop(running);
}

/// On the devnet that the binary serves: what the first section says is all it takes.
#[test]
fn on_a_test_chain_the_first_payout_takes_two_commands() {
    let shell = Shell::new();
    let mut devnet = shell.folder.start(&["devnet", "--port", "0", "--json"]);
    let url = devnet.json()["http_url"].as_str().expect("a URL").to_owned();
    let blocks = blocks(TEXT, "A first payout on a test chain");
    let [Block::Shell("windlass devnet"), Block::Shell(setup), Block::Shell(payout), Block::Output(log)] =
        blocks[..]
    else {
        panic!("{blocks:?}")
    };
    let init = setup.strip_suffix("\nwindlass run").expect("the last line");
    shell.run(&init.replace("http://127.0.0.1:8545", &url));
    let mut running = shell.folder.start_with(&[("WINDLASS_API__LISTEN", "127.0.0.1:0")], &["run"]);
    let id = type_lines(&shell, payout);
    for line in log.lines() {
        let (_, line) = line.split_once("INFO ").expect("a line of the log");
        running.wait_for(&line.replace("0198…", &id));
    }
}

/// The last block; then blocks are made until the payout is CONFIRMED.
fn pay(shell: &Shell, chain: &Chain, script: &str) {
    let id = type_lines(shell, script);
    until(|| {
        chain.mine();
        let said = shell.run(&format!("windlass payout show {id} --json"));
        let shown: Value = serde_json::from_str(&said).expect("json");
        if shown["state"] == "CONFIRMED" {
            return Ok(());
        }
        let log = std::fs::read_to_string(shell.folder.path().join(LOG));
        Err(format!("{said}\n{}", log.unwrap_or_default()))
    });
}

/// A block line by line: the id that `payout create` prints goes where the text has `0198…`.
fn type_lines(shell: &Shell, script: &str) -> String {
    let mut id = String::new();
    for line in script.lines().filter(|line| !line.is_empty()) {
        let said = shell.run(&line.replace("0198…", &id));
        let made = said.strip_prefix("payout ").and_then(|rest| rest.split_once(": "));
        if let Some((made, _)) = made.filter(|_| id.is_empty()) {
            assert!(said.contains("the rules would let it pass\n"), "{said}");
            id = made.to_owned();
        }
        if line.contains("--trail") {
            assert!(said.contains("12.5 USDC") && said.contains("payout.approved"), "{said}");
        }
    }
    id
}
