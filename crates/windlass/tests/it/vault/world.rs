//! A vault on a chain that is served in this process, and a configuration for it. A block is
//! ten minutes later than the one before, so that a delay of an hour is six blocks.

use std::sync::Arc;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use alloy_sol_types::{SolCall, SolValue, sol};
use serde::Deserialize;
use serde_json::Value;
use windlass_devnet::chain::{Chain, ChainOptions, Clock, Mining, dev_accounts};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

use crate::binary::{Folder, Ran};

sol! {
    function mint(address to, uint256 amount);
    function pause();
    function payout(bytes32 requestId, address token, address to, uint256 amount);
}

pub(super) const VAULT: &str = include_str!("../../../../../contracts/artifacts/SettlementVault.json");
pub(super) const TOKEN: &str = include_str!("../../../../../contracts/artifacts/DemoToken.json");

/// Accounts by what they do here.
pub(super) const ADMIN: usize = 0;
pub(super) const OPERATOR: usize = 1;
pub(super) const GUARDIAN: usize = 2;
pub(super) const STRANGER: usize = 3;
pub(super) const TREASURY: usize = 9;

/// The delay, in seconds, and in blocks.
const DELAY_S: u64 = 3_600;
pub(super) const DELAY_BLOCKS: u64 = 6;
/// What the vault has of each token.
pub(super) const FUNDS: u64 = 5_000_000_000;

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

pub(super) struct World {
    pub(super) chain: Chain,
    pub(super) vault: Address,
    /// Known to the configuration.
    pub(super) token: Address,
    /// Known to nobody.
    pub(super) other: Address,
    pub(super) folder: Folder,
    server: ServerHandle,
}

impl World {
    /// A vault without a risk signer; accounts 0 to 2 are its admin, operator and guardian.
    pub(super) async fn start() -> Self {
        Self::with("").await
    }

    /// The same with more signers, such as `stranger`, in the configuration.
    pub(super) async fn with(signers: &str) -> Self {
        let chain = Chain::new(ChainOptions {
            mining: Mining::Auto,
            clock: Clock::Step { seconds: 600 },
            // One in the morning: no test lasts until midnight, when days' sums begin anew.
            genesis_timestamp_s: 1_700_010_000,
            ..ChainOptions::default()
        });
        let name = |symbol: &str| (symbol.to_owned(), symbol.to_owned(), U256::from(6)).abi_encode_params();
        let token = deploy(&chain, TOKEN, &name("DUSD"));
        let other = deploy(&chain, TOKEN, &name("LOST"));
        let [admin, operator, guardian, treasury] = [ADMIN, OPERATOR, GUARDIAN, TREASURY].map(account);
        let parts = (admin, operator, guardian, treasury, Address::ZERO, U256::from(DELAY_S));
        let vault = deploy(&chain, VAULT, &parts.abi_encode_params());
        let server =
            Server::start(Arc::new(chain.clone()), ServerOptions::default()).await.expect("a server");
        let config = config(&server.http_url(), vault, token) + signers;
        let folder = keys(Folder::with_config(&config));
        let world = Self { chain, vault, token, other, folder, server };
        for held in [token, other] {
            world.act(ADMIN, held, &mintCall { to: vault, amount: U256::from(FUNDS) });
        }
        world
    }

    /// Where the chain is served.
    pub(super) fn url(&self) -> String {
        self.server.http_url()
    }

    /// Runs `windlass vault …`.
    pub(super) fn run(&self, args: &[&str]) -> Ran {
        self.folder.run(&[&["vault"], args].concat())
    }

    /// The same, which has to succeed.
    pub(super) fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.shown());
        ran
    }

    /// The same, which has to be refused; gives what is said.
    pub(super) fn refused(&self, args: &[&str]) -> String {
        let before = self.chain.head().number();
        let ran = self.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{args:?}: {}", ran.shown());
        assert_eq!(self.chain.head().number(), before, "nothing is sent");
        ran.stderr
    }

    /// What `show --json` says.
    pub(super) fn shown(&self) -> Value {
        serde_json::from_str(&self.done(&["show", "--json"]).stdout).expect("JSON")
    }

    /// Sends a call from an account, past the binary; it succeeds.
    pub(super) fn act(&self, from: usize, to: Address, call: &impl SolCall) {
        let hash = self.send(from, to, call);
        assert!(self.chain.receipt(hash).expect("mined").inner.status(), "it succeeds");
    }

    /// The same, whenever it is mined; it offers more than the binary does.
    pub(super) fn send(&self, from: usize, to: Address, call: &impl SolCall) -> B256 {
        let from = dev_accounts().swap_remove(from);
        let transaction = TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce: self.chain.next_nonce(from.address()),
            gas_limit: 500_000,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 5_000_000_000,
            to: TxKind::Call(to),
            input: call.abi_encode().into(),
            ..TxEip1559::default()
        };
        self.chain.send(from.sign(transaction).expect("signed")).expect("taken")
    }

    /// Pays somebody out of the vault.
    pub(super) fn pay(&self, id: B256, to: Address, amount: u64) {
        let (token, amount) = (self.token, U256::from(amount));
        self.act(OPERATOR, self.vault, &payoutCall { requestId: id, token, to, amount });
    }

    /// What an account has of a token.
    pub(super) fn balance(&self, token: Address, owner: Address) -> U256 {
        // OpenZeppelin keeps balances in a mapping in the first slot.
        let slot = alloy_primitives::keccak256((owner, U256::ZERO).abi_encode());
        self.chain.storage(token, slot.into())
    }
}

/// One of the chain's accounts.
pub(super) fn account(number: usize) -> Address {
    dev_accounts()[number].address()
}

/// The keys of the accounts, in the environment.
pub(super) fn keys(folder: Folder) -> Folder {
    let names = [("ADMIN", ADMIN), ("OPERATOR", OPERATOR), ("GUARDIAN", GUARDIAN), ("STRANGER", STRANGER)];
    let folder = folder.variable("AUDIT_KEY", "11".repeat(32));
    names.into_iter().fold(folder, |folder, (name, number)| {
        folder.variable(name, hex::encode_prefixed(dev_accounts()[number].key()))
    })
}

/// A configuration with an admin that sends and an operator that pays.
pub(super) fn config(url: &str, vault: Address, token: Address) -> String {
    format!(
        "[chain.local]\nid = 31337\nrpc = [\"{url}\"]\n
[pay]\nchain = \"local\"\nvault = \"{vault}\"\nsigners = [\"operator\"]\naudit_key = \"env:AUDIT_KEY\"\ndevelopment = true\n
[pay.token.DUSD]\naddress = \"{token}\"\ndecimals = 6\n
[signer.operator]\ndevelopment_key = \"env:OPERATOR\"\n
[signer.admin]\ndevelopment_key = \"env:ADMIN\"\n"
    )
}

/// A signer's section.
pub(super) fn signer(name: &str) -> String {
    format!("\n[signer.{name}]\ndevelopment_key = \"env:{}\"\n", name.to_uppercase())
}

fn deploy(chain: &Chain, artifact: &str, arguments: &[u8]) -> Address {
    let artifact: Artifact = serde_json::from_str(artifact).expect("an artifact");
    let init_code = [artifact.bytecode.as_ref(), arguments].concat();
    chain.deploy(&dev_accounts()[ADMIN], init_code.into()).expect("deployed")
}
