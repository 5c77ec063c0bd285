//! A chain with a fee collector on it, served in this process, for the binary to collect.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256};
use alloy_sol_types::{SolCall, sol};
use serde::Deserialize;
use windlass_devnet::chain::{Chain, ChainOptions};
use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

use crate::binary::Folder;

sol! {
    function collectNativeFees(uint256 integratorFee, uint256 lifiFee, address integrator) external payable;
}

/// The event as users write it.
pub(crate) const EVENT: &str = "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";
/// So many blocks behind the head are not final.
pub(crate) const FINALITY: u64 = 5;
/// However slow the machine, what a test looks for comes about by then.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// Between two looks, so that what is looked at gets its turn.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The compiled contract.
const FEE_COLLECTOR: &str = include_str!("../../../../../contracts/artifacts/FeeCollector.json");

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

/// A chain, its contract and its server.
pub(crate) struct World {
    pub(crate) chain: Chain,
    /// Deployed in block 3.
    pub(crate) contract: Address,
    pub(crate) faults: Faults,
    server: ServerHandle,
}

impl World {
    /// A chain of three blocks, the last of which has the contract.
    pub(crate) async fn start() -> Self {
        Self::with_id(31_337).await
    }

    pub(crate) async fn with_id(chain_id: u64) -> Self {
        let genesis_timestamp_s = ChainOptions::deterministic().genesis_timestamp_s;
        Self::begun_at(chain_id, genesis_timestamp_s).await
    }

    /// The same, with blocks of these days: the others are years old.
    pub(crate) async fn of_today(chain_id: u64) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        Self::begun_at(chain_id, now.as_secs()).await
    }

    async fn begun_at(chain_id: u64, genesis_timestamp_s: u64) -> Self {
        let options = ChainOptions {
            chain_id,
            genesis_timestamp_s,
            finality_depth: FINALITY,
            ..ChainOptions::deterministic()
        };
        let chain = Chain::new(options);
        chain.mine_many(2);
        let contract = deploy(&chain);
        let faults = Faults::new(1, Plan::default());
        let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
        let server = Server::start(Arc::new(chain.clone()), options).await.expect("a server");
        Self { chain, contract, faults, server }
    }

    /// Where the chain is served.
    pub(crate) fn url(&self) -> String {
        self.server.http_url()
    }

    /// The same, for news of heads.
    pub(crate) fn ws_url(&self) -> String {
        self.server.ws_url()
    }

    /// How often the chain was asked something.
    pub(crate) fn asked(&self, method: &str) -> u64 {
        self.server.requests().get(method).copied().unwrap_or(0)
    }

    /// Blocks with one payment each, of amounts that go up.
    pub(crate) fn pay(&self, blocks: u64) {
        let account = self.chain.accounts().swap_remove(1);
        for _ in 0..blocks {
            let number = self.chain.head().number() + 1;
            let (own, integrator) = (U256::from(number), Address::repeat_byte(0xaa));
            let call = collectNativeFeesCall { integratorFee: own, lifiFee: own * own, integrator };
            let transaction = TxEip1559 {
                chain_id: self.chain.chain_id(),
                nonce: self.chain.next_nonce(account.address()),
                gas_limit: 150_000,
                max_fee_per_gas: 100_000_000_000,
                max_priority_fee_per_gas: 1_000_000_000,
                to: TxKind::Call(self.contract),
                value: own + own * own,
                input: call.abi_encode().into(),
                ..TxEip1559::default()
            };
            self.chain.send(account.sign(transaction).expect("signed")).expect("taken");
            self.chain.mine();
        }
    }

    /// Empty blocks, until everything before them is final: what joins late waits for that.
    pub(crate) fn settle(&self) {
        self.chain.mine_many(FINALITY);
    }

    /// A configuration of this chain, which is looked at often and not verified.
    pub(crate) fn chain_section(&self) -> String {
        format!(
            "[chain.local]\nid = {}\nrpc = [\"{}\"]\nhistorical_poll_interval = \"20ms\"\nrealtime_poll_interval = \"20ms\"\nlease_ttl = \"5s\"\nverify = \"off\"\n",
            self.chain.chain_id(),
            self.url()
        )
    }

    /// The same with an index of the contract from a block on.
    pub(crate) fn config(&self, start: &str) -> String {
        format!(
            "{}\n[index.fees]\nchain = \"local\"\ncontract = \"{}\"\nstart = {start}\nevents = [\"{EVENT}\"]\n\n[api]\nlisten = \"127.0.0.1:0\"\n",
            self.chain_section(),
            self.contract
        )
    }
}

/// A block with a contract. Its address depends on how many there were before.
pub(crate) fn deploy(chain: &Chain) -> Address {
    let deployer = chain.accounts().swap_remove(0);
    let artifact: Artifact = serde_json::from_str(FEE_COLLECTOR).expect("an artifact");
    let owner = deployer.address().into_word();
    let init_code = [artifact.bytecode.as_ref(), owner.as_slice()].concat();
    let contract = chain.deploy(&deployer, init_code.into()).expect("deployed");
    chain.mine();
    contract
}

/// Looks at an index until it has collected everything.
pub(crate) fn wait_until_collected(folder: &Folder, index: &str, events: u64) -> serde_json::Value {
    wait_until(folder, index, |shown| shown["lag_blocks"] == 0 && shown["events"] == events)
}

/// The same while the chain goes on: blocks that came before a process has noticed that an index
/// was resumed are collected once they are final.
pub(crate) fn settle_until_collected(world: &World, folder: &Folder, index: &str, events: u64) {
    wait_until(folder, index, |shown| {
        let is_collected = shown["lag_blocks"] == 0 && shown["events"] == events;
        if !is_collected {
            world.chain.mine();
        }
        is_collected
    });
}

/// Looks at an index until it is as wanted.
pub(crate) fn wait_until(
    folder: &Folder,
    index: &str,
    is_wanted: impl Fn(&serde_json::Value) -> bool,
) -> serde_json::Value {
    until(|| {
        let ran = folder.run(&["index", "show", index, "--json"]);
        let shown = serde_json::from_str(&ran.stdout).ok().filter(|shown| is_wanted(shown));
        shown.ok_or_else(|| ran.shown())
    })
}

/// Looks again and again until there is what is looked for.
pub(crate) fn until<T>(mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(begun.elapsed() < MAX_WAIT, "it did not come about: {seen}"),
        }
        std::thread::park_timeout(LOOK_EVERY);
    }
}
