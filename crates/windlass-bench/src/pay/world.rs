//! A development chain with a vault on it, served over loopback by a process of its own: what it keeps
//! of its blocks in memory is not the payer's.

use std::sync::Arc;
use std::time::Duration;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256};
use alloy_sol_types::{SolCall, SolValue, sol};
use tokio_util::sync::CancellationToken;
use windlass_core::chain::ChainId;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::vault::event::topics;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount, LogFilter, Mining};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

use super::Broken;
use super::served::ChainDescription;

sol! {
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit);
    function mint(address to, uint256 amount);
    function grantRole(bytes32 role, address account);
}

const VAULT: &str = include_str!("../../../../contracts/artifacts/SettlementVault.json");
const TOKEN: &str = include_str!("../../../../contracts/artifacts/DemoToken.json");

/// So much that blocks are not the bound.
const BLOCK_GAS: u64 = 20_000_000_000;

pub(super) struct World {
    chain: Chain,
    vault: VaultRef,
    token: Address,
    server: ServerHandle,
    mining: CancellationToken,
}

impl World {
    pub(super) async fn start() -> Result<Self, Broken> {
        let options = ChainOptions {
            mining: Mining::Manual,
            block_gas_limit: BLOCK_GAS,
            finality_depth: 8,
            ..ChainOptions::default()
        };
        let chain = Chain::new(options);
        let accounts = chain.accounts();
        let admin = accounts[0].address();
        let name = ("Demo Dollar".to_owned(), "DUSD".to_owned(), U256::from(6)).abi_encode_params();
        let token = deploy(&chain, &accounts[0], TOKEN, &name)?;
        let parts =
            (admin, accounts[1].address(), admin, accounts[9].address(), Address::ZERO, U256::from(3_600));
        let address = deploy(&chain, &accounts[0], VAULT, &parts.abi_encode_params())?;
        let vault = VaultRef { chain: ChainId::new(chain.chain_id())?, address };
        let limits = U256::ZERO;
        act(&chain, address, &setTokenCall { token, enabled: true, payoutLimit: limits, dayLimit: limits })?;
        act(&chain, token, &mintCall { to: address, amount: U256::from(u64::MAX) })?;
        for account in &accounts[2..8] {
            let role = alloy_primitives::keccak256("OPERATOR_ROLE");
            act(&chain, address, &grantRoleCall { role, account: account.address() })?;
        }
        let server = Server::start(Arc::new(chain.clone()), ServerOptions::default()).await?;
        let mining = CancellationToken::new();
        let (miner, stop) = (chain.clone(), mining.clone());
        tokio::spawn(async move {
            let mut beat = tokio::time::interval(Duration::from_secs(1));
            while !stop.is_cancelled() {
                beat.tick().await;
                let miner = miner.clone();
                // A full block takes the machine a while, and others are to go on.
                let _ = tokio::task::spawn_blocking(move || miner.mine()).await;
            }
        });
        Ok(Self { chain, vault, token, server, mining })
    }

    /// What the measuring process has to know of it.
    pub(super) fn describe(&self) -> ChainDescription {
        let accounts = self.chain.accounts();
        ChainDescription {
            url: self.server.http_url(),
            vault: self.vault,
            token: self.token,
            keys: accounts.iter().map(|account| account.key().to_string()).collect(),
        }
    }

    /// The next nonce of an account.
    pub(super) fn next_nonce(&self, account: Address) -> u64 {
        self.chain.next_nonce(account)
    }

    /// How many payouts the vault has told of behind a block, and the block up to which.
    pub(super) fn paid_after(&self, block: u64) -> (u64, u64) {
        let head = self.chain.head().number();
        if head <= block {
            return (0, block);
        }
        let told = LogFilter::range(block + 1, head).address(self.vault.address).topic([topics()[0]]);
        (self.chain.canonical_logs(&told).len() as u64, head)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.mining.cancel();
    }
}

fn act(chain: &Chain, to: Address, call: &impl SolCall) -> Result<(), Broken> {
    let sender = chain.accounts().swap_remove(0);
    let transaction = TxEip1559 {
        chain_id: chain.chain_id(),
        nonce: chain.next_nonce(sender.address()),
        gas_limit: 500_000,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(to),
        input: call.abi_encode().into(),
        ..TxEip1559::default()
    };
    chain.send(sender.sign(transaction)?)?;
    chain.mine();
    Ok(())
}

fn deploy(chain: &Chain, from: &DevAccount, artifact: &str, arguments: &[u8]) -> Result<Address, Broken> {
    let artifact: serde_json::Value = serde_json::from_str(artifact)?;
    let bytecode: Bytes = serde_json::from_value(artifact["bytecode"].clone())?;
    let address = chain.deploy(from, [bytecode.as_ref(), arguments].concat().into())?;
    chain.mine();
    Ok(address)
}
