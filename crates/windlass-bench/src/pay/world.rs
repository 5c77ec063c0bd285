//! A development chain with a vault on it, served over loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256};
use alloy_sol_types::{SolCall, SolValue, sol};
use tokio_util::sync::CancellationToken;
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_chain::signer::development::DevelopmentSigner;
use windlass_core::chain::ChainId;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::desk::MAX_ASKED;
use windlass_core::payout::request::{IdempotencyKey, PayoutRequest, VaultRef};
use windlass_core::payout::signer::Signer;
use windlass_core::payout::submit::TransactionChain;
use windlass_core::payout::vault::event::topics;
use windlass_core::store::Store;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount, LogFilter, Mining};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};
use windlass_engine::pay::desk::Desk;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;

use super::Broken;

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
    pub(super) chain: Chain,
    pub(super) vault: VaultRef,
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

    /// Asks for payouts and approves them.
    pub(super) async fn ask(
        &self,
        store: Arc<dyn Store>,
        options: Arc<PayOptions>,
        n: u64,
    ) -> Result<(), Broken> {
        let counter = AtomicU64::new(0);
        let random = Arc::new(move || u128::from(counter.fetch_add(1, Ordering::Relaxed)));
        let desk = Desk::new(Ledger::new(store, AuditKey::new([1; 32])), options, random)?;
        let requests: Vec<PayoutRequest> =
            (0..n).map(|number| self.request(number)).collect::<Result<_, _>>()?;
        for part in requests.chunks(MAX_ASKED) {
            for created in desk.create(part, "asker").await? {
                desk.approve(created.payout.id, "approver").await?;
            }
        }
        Ok(())
    }

    fn request(&self, number: u64) -> Result<PayoutRequest, Broken> {
        let mut to = [0x70; 20];
        to[12..].copy_from_slice(&number.to_be_bytes());
        Ok(PayoutRequest {
            vault: self.vault,
            token: self.token,
            to: Address::from(to),
            amount: U256::from(1_000 + number),
            key: IdempotencyKey::new(format!("bench-{number}"))?,
        })
    }

    pub(super) fn pool(&self) -> Result<Arc<dyn TransactionChain>, Broken> {
        Ok(Arc::new(EvmPool::new(&[self.server.http_url()], self.vault.chain, PoolOptions::default())?))
    }

    pub(super) fn url(&self) -> String {
        self.server.http_url()
    }

    pub(super) fn signers(&self, count: usize) -> Result<Vec<Arc<dyn Signer>>, Broken> {
        let accounts = self.chain.accounts().into_iter().skip(1).take(count);
        accounts
            .map(|account| {
                Ok(Arc::new(DevelopmentSigner::new(&account.key().to_string().into())?) as Arc<dyn Signer>)
            })
            .collect()
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
