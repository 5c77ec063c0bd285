//! The demo's money: a token, a vault full of it, and whoever pays out of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use alloy_sol_types::{SolCall, SolValue, sol};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_chain::signer::development::DevelopmentSigner;
use windlass_core::chain::ChainId;
use windlass_core::finality::Finality;
use windlass_core::money::Token;
use windlass_core::name::Owner;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::request::VaultRef;
use windlass_core::store::Store;
use windlass_devnet::chain::{Chain, DevAccount};
use windlass_engine::pay::desk::Desk;
use windlass_engine::pay::error::PayError;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::payer::{Payer, PayerParts};
use windlass_engine::pay::submit::Submitter;
use windlass_engine::pay::track::Tracker;

use super::world::devnet_failed;
use crate::failure::Failure;

sol! {
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit);
    function mint(address to, uint256 amount);
}

/// The compiled contracts, checked by `./test` against their sources.
const VAULT: &str = include_str!("../../../../contracts/artifacts/SettlementVault.json");
const TOKEN: &str = include_str!("../../../../contracts/artifacts/DemoToken.json");

/// So deep a block is beyond every reorg of the demo.
pub(super) const SETTLED_DEPTH: u64 = 12;
/// How many payouts go into one transaction at most.
const BATCH: usize = 50;
/// How often a transaction on its way is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How long the vault's announcements take: the shortest that it accepts.
const DELAY_S: u64 = 3_600;
const DECIMALS: u8 = 6;
const GAS_LIMIT: u64 = 500_000;
const MAX_FEE_PER_GAS_WEI: u128 = 100_000_000_000;

/// The demo's vault, and the account that pays out of it.
pub(super) struct Treasury {
    pub(super) vault: VaultRef,
    pub(super) token: Token,
    payer: DevAccount,
    /// Nobody writes to the demo's log but the demo.
    key: AuditKey,
}

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

impl Treasury {
    /// Puts token and vault on the chain, and fills the vault.
    pub(super) fn found(chain: &Chain, admin: &DevAccount, payer: DevAccount) -> Result<Self, Failure> {
        let name = ("Demo Dollar".to_owned(), "DUSD".to_owned(), U256::from(DECIMALS));
        let token = deploy(chain, admin, TOKEN, &name.abi_encode_params())?;
        let nobody = Address::ZERO;
        let owner = admin.address();
        let parts = (owner, payer.address(), nobody, owner, nobody, U256::from(DELAY_S));
        let address = deploy(chain, admin, VAULT, &parts.abi_encode_params())?;
        let no_limit = U256::ZERO;
        let enable = setTokenCall { token, enabled: true, payoutLimit: no_limit, dayLimit: no_limit };
        act(chain, admin, address, &enable)?;
        act(chain, admin, token, &mintCall { to: address, amount: U256::from(u64::MAX) })?;
        let id = ChainId::new(chain.chain_id()).map_err(devnet_failed)?;
        Ok(Self {
            vault: VaultRef { chain: id, address },
            token: Token { chain: id, contract: Some(token), symbol: "DUSD".to_owned(), decimals: DECIMALS },
            payer,
            key: AuditKey::new(rand::random()),
        })
    }

    /// The account that pays out.
    pub(super) fn payer_address(&self) -> Address {
        self.payer.address()
    }

    fn options(&self) -> Arc<PayOptions> {
        let contract = self.token.contract.unwrap_or_default();
        Arc::new(PayOptions {
            tokens: BTreeMap::from([(contract, self.token.clone())]),
            finality: Finality::Depth(SETTLED_DEPTH),
            batch: BATCH,
            track_interval: LOOK_INTERVAL,
            hold_interval: LOOK_INTERVAL,
            ..PayOptions::new(self.vault)
        })
    }

    /// Where payouts are asked for and approved.
    pub(super) fn desk(&self, store: Arc<dyn Store>) -> Result<Desk, Failure> {
        let random = Arc::new(rand::random::<u128>);
        Desk::new(Ledger::new(store, self.key.clone()), self.options(), random).map_err(devnet_failed)
    }

    /// Whoever signs, sends and follows: the same loops as a user's, over the same RPC.
    pub(super) fn cashier(&self, url: &str, store: Arc<dyn Store>) -> Result<Cashier, Failure> {
        let pool = EvmPool::new(&[url], self.vault.chain, PoolOptions::default())?;
        let key = hex::encode(self.payer.key()).into();
        let signer = Arc::new(DevelopmentSigner::new(&key).map_err(devnet_failed)?);
        let parts = PayerParts {
            ledger: Ledger::new(store, self.key.clone()),
            chain: Arc::new(pool),
            signers: vec![signer.clone()],
            risk_signer: None,
            options: self.options(),
            owner: Owner::new(format!("demo-{}/pay", std::process::id())).map_err(devnet_failed)?,
        };
        let payer = Payer::new(parts).map_err(devnet_failed)?;
        Ok(Cashier { submitter: Submitter::new(payer.clone(), signer), tracker: Tracker::new(payer) })
    }
}

/// The loops that pay.
pub(super) struct Cashier {
    submitter: Submitter,
    tracker: Tracker,
}

impl Cashier {
    /// Pays until told to stop.
    pub(super) async fn run(self, shutdown: CancellationToken) -> Result<(), PayError> {
        tokio::try_join!(self.submitter.run(shutdown.clone()), self.tracker.run(shutdown)).map(drop)
    }
}

fn deploy(chain: &Chain, from: &DevAccount, artifact: &str, arguments: &[u8]) -> Result<Address, Failure> {
    let artifact: Artifact = serde_json::from_str(artifact).map_err(devnet_failed)?;
    let code: Bytes = [artifact.bytecode.as_ref(), arguments].concat().into();
    chain.deploy(from, code).map_err(devnet_failed)
}

fn act(chain: &Chain, from: &DevAccount, to: Address, call: &impl SolCall) -> Result<(), Failure> {
    let transaction = TxEip1559 {
        chain_id: chain.chain_id(),
        nonce: chain.next_nonce(from.address()),
        gas_limit: GAS_LIMIT,
        max_fee_per_gas: MAX_FEE_PER_GAS_WEI,
        to: TxKind::Call(to),
        input: call.abi_encode().into(),
        ..TxEip1559::default()
    };
    chain.send(from.sign(transaction).map_err(devnet_failed)?).map_err(devnet_failed)?;
    chain.mine();
    Ok(())
}
