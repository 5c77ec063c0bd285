//! A chain with a token and a vault on it, served in this process, for the binary to pay from.

use std::sync::Arc;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use alloy_sol_types::{SolCall, SolValue, sol};
use serde::Deserialize;
use serde_json::Value;
use windlass_core::payout::vault::event;
use windlass_devnet::chain::{Chain, ChainOptions, LogFilter};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

use crate::binary::{Folder, Ran};
use crate::collect::world::until;

sol! {
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit);
    function mint(address to, uint256 amount);
    function balanceOf(address owner) returns (uint256);
}

const VAULT: &str = include_str!("../../../../../contracts/artifacts/SettlementVault.json");
pub(super) const TOKEN: &str = include_str!("../../../../../contracts/artifacts/DemoToken.json");
/// So deep a block is final.
pub(super) const FINALITY: u64 = 5;
/// Somebody to be paid.
pub(crate) const TO: &str = "0x00000000000000000000000000000000000000a1";

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

/// A chain, its token and its vault.
pub(crate) struct PayWorld {
    pub(crate) chain: Chain,
    pub(crate) vault: Address,
    pub(crate) token: Address,
    server: ServerHandle,
}

impl PayWorld {
    /// The second account may pay.
    pub(crate) async fn start() -> Self {
        Self::begun(VAULT, ChainOptions::default().genesis_timestamp_s).await
    }

    /// The same with another vault's code.
    pub(crate) async fn start_with(artifact: &str) -> Self {
        Self::begun(artifact, ChainOptions::default().genesis_timestamp_s).await
    }

    /// The same on a chain whose first block is of another time, and another one so.
    pub(super) async fn begun_at(genesis_timestamp_s: u64) -> Self {
        Self::begun(VAULT, genesis_timestamp_s).await
    }

    async fn begun(artifact: &str, genesis_timestamp_s: u64) -> Self {
        let options =
            ChainOptions { finality_depth: FINALITY, genesis_timestamp_s, ..ChainOptions::deterministic() };
        let chain = Chain::new(options);
        let name = ("US Dollar".to_owned(), "USDC".to_owned(), U256::from(6)).abi_encode_params();
        let token = deploy(&chain, TOKEN, &name);
        let vault = deploy_vault(&chain, artifact);
        let server =
            Server::start(Arc::new(chain.clone()), ServerOptions::default()).await.expect("a server");
        let world = Self { chain, vault, token, server };
        let none = U256::ZERO;
        world.act(0, vault, &setTokenCall { token, enabled: true, payoutLimit: none, dayLimit: none });
        world.act(0, token, &mintCall { to: vault, amount: U256::from(1_000_000_000_000_u64) });
        world.chain.mine_many(FINALITY);
        world
    }

    /// The same chain with another vault, which pays nothing yet.
    pub(super) fn with_another_vault(&mut self) {
        self.vault = deploy_vault(&self.chain, VAULT);
        self.chain.mine_many(FINALITY);
    }

    /// The same configuration on a chain that began anew: it has blocks and nothing else.
    pub(super) async fn emptied(self) -> Self {
        let genesis_timestamp_s = ChainOptions::default().genesis_timestamp_s + 1_000;
        let options =
            ChainOptions { finality_depth: FINALITY, genesis_timestamp_s, ..ChainOptions::deterministic() };
        let chain = Chain::new(options);
        chain.mine_many(60);
        let server =
            Server::start(Arc::new(chain.clone()), ServerOptions::default()).await.expect("a server");
        Self { chain, server, ..self }
    }

    /// A transaction of an account, mined at once.
    pub(crate) fn act(&self, account: usize, to: Address, call: &impl SolCall) {
        act(&self.chain, account, to, call);
    }

    /// A folder with a configuration that pays, and the keys it names. `more` goes to `[pay]`.
    pub(crate) fn folder(&self, more: &str) -> Folder {
        Folder::with_config(&self.config(more))
            .variable("AUDIT_KEY", "11".repeat(32))
            .variable("OPS_KEY", hex::encode(self.chain.accounts()[1].key()))
    }

    pub(crate) fn config(&self, more: &str) -> String {
        let (id, url) = (self.chain.chain_id(), self.server.http_url());
        let (vault, token) = (self.vault, self.token);
        format!(
            "[chain.local]\nid = {id}\nrpc = [\"{url}\"]\n[api]\nlisten = \"127.0.0.1:0\"\n\
             [signer.ops]\ndevelopment_key = \"env:OPS_KEY\"\n\
             [pay]\nchain = \"local\"\nvault = \"{vault}\"\nsigners = [\"ops\"]\naudit_key = \"env:AUDIT_KEY\"\n\
             track_interval = \"100ms\"\nhold_interval = \"100ms\"\nlease_ttl = \"2s\"\ndevelopment = true\n{more}\n\
             [pay.token.USDC]\naddress = \"{token}\"\ndecimals = 6\n"
        )
    }

    /// The same folder with the chain's own coin beside the token, and the key that sets the vault's rules.
    pub(crate) fn folder_with_coin(&self, more: &str) -> Folder {
        let coin = "[signer.admin]\ndevelopment_key = \"env:ADMIN_KEY\"\n[pay.token.POL]\nnative = true\n";
        let config = self.config(more) + coin;
        let folder = self.folder("").variable("ADMIN_KEY", hex::encode(self.chain.accounts()[0].key()));
        folder.write("windlass.toml", &config);
        folder
    }

    /// How often the vault has paid, and how much.
    pub(crate) fn paid(&self) -> (usize, U256) {
        let filter = LogFilter::all().address(self.vault).topic([event::topics()[0]]);
        let logs = self.chain.canonical_logs(&filter);
        let amount = |data: &[u8]| U256::from_be_slice(&data[..32]);
        let total = logs.iter().map(|log| amount(&log.data().data)).fold(U256::ZERO, |sum, one| sum + one);
        (logs.len(), total)
    }

    /// Lets the chain go on until a payout is as wanted.
    pub(crate) fn until_payout(
        &self,
        folder: &Folder,
        id: &str,
        is_wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        until(|| {
            self.chain.mine();
            let ran = folder.run(&["payout", "show", id, "--json"]);
            let shown: Value = serde_json::from_str(&ran.stdout).map_err(|_| ran.shown())?;
            if is_wanted(&shown) { Ok(shown) } else { Err(ran.shown()) }
        })
    }
}

/// A call of one of the chain's accounts, mined at once.
pub(super) fn act(chain: &Chain, account: usize, to: Address, call: &impl SolCall) {
    send(chain, account, TxEip1559 { to: TxKind::Call(to), input: call.abi_encode().into(), ..plain() });
}

/// So many wei of the first account's, mined at once.
pub(super) fn transfer(chain: &Chain, to: Address, value: U256) {
    send(chain, 0, TxEip1559 { to: TxKind::Call(to), value, ..plain() });
}

fn plain() -> TxEip1559 {
    TxEip1559 {
        gas_limit: 500_000,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        ..TxEip1559::default()
    }
}

fn send(chain: &Chain, account: usize, transaction: TxEip1559) {
    let sender = chain.accounts().swap_remove(account);
    let nonce = chain.next_nonce(sender.address());
    let transaction = TxEip1559 { chain_id: chain.chain_id(), nonce, ..transaction };
    chain.send(sender.sign(transaction).expect("signed")).expect("taken");
    chain.mine();
}

/// A vault out of which the second account may pay.
fn deploy_vault(chain: &Chain, artifact: &str) -> Address {
    let accounts = chain.accounts();
    let (admin, operator) = (accounts[0].address(), accounts[1].address());
    let parts = (admin, operator, admin, admin, Address::ZERO, U256::from(3_600));
    deploy(chain, artifact, &parts.abi_encode_params())
}

/// A block with a contract.
pub(super) fn deploy(chain: &Chain, artifact: &str, arguments: &[u8]) -> Address {
    let deployer = chain.accounts().swap_remove(0);
    let artifact: Artifact = serde_json::from_str(artifact).expect("an artifact");
    let code = [artifact.bytecode.as_ref(), arguments].concat();
    let address = chain.deploy(&deployer, code.into()).expect("deployed");
    chain.mine();
    address
}

/// What a run that went well has said as JSON.
pub(crate) fn json(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    serde_json::from_str(&ran.stdout).expect("json")
}

/// Asks for a payout; gives its id.
pub(crate) fn create(folder: &Folder, key: &str, amount: &str) -> String {
    let args = ["payout", "create", "--to", TO, "--amount", amount, "--key", key, "--json"];
    let created = json(&folder.run(&args));
    created["payout"]["id"].as_str().expect("an id").to_owned()
}
