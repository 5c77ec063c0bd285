//! Traffic on the demo's chain: people pay fees, blocks are made, and now and
//! then the newest blocks are replaced by others.

use std::time::Duration;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, U256};
use alloy_sol_types::{SolCall, sol};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_util::sync::CancellationToken;
use windlass_devnet::chain::{Chain, DevAccount, ReorgOptions};

use super::DemoOptions;
use super::world::World;

sol! {
    /// Takes fees in the chain's own coin.
    function collectNativeFees(uint256 integratorFee, uint256 lifiFee, address integrator) external payable;
}

/// At most this many payments go into one block.
const MAX_PAYMENTS_PER_BLOCK: u32 = 12;
/// One block in this many is followed by a reorg, and no run of blocks without one is longer.
const BLOCKS_PER_REORG: u32 = 9;
/// The deepest reorg; well above the devnet's finality.
const MAX_REORG_DEPTH: u64 = 6;
/// How many integrators share the fees.
const INTEGRATORS: u8 = 5;
/// What a payment may burn.
const GAS_LIMIT: u64 = 150_000;
/// What a payment offers for a unit of gas: far above the base fee of a quiet chain.
const MAX_FEE_PER_GAS_WEI: u128 = 100_000_000_000;
const MAX_PRIORITY_FEE_WEI: u128 = 1_000_000_000;
/// The largest fee, in wei.
const MAX_FEE_WEI: u64 = 1_000_000_000_000_000;

/// The traffic of one demo.
pub(super) struct Traffic {
    chain: Chain,
    contract: Address,
    accounts: Vec<DevAccount>,
    random: StdRng,
    block_time: Duration,
    blocks_since_reorg: u32,
}

impl Traffic {
    /// Traffic that has not begun; the same seed pays the same fees.
    pub(super) fn new(world: &World, options: &DemoOptions) -> Self {
        Self {
            chain: world.chain.clone(),
            contract: world.contract,
            accounts: payers(world),
            random: StdRng::seed_from_u64(options.seed),
            block_time: options.block_time,
            blocks_since_reorg: 0,
        }
    }

    /// Makes blocks until told to stop.
    pub(super) async fn run(mut self, shutdown: CancellationToken) -> Result<(), TrafficError> {
        while !shutdown.is_cancelled() {
            self.step()?;
            tokio::select! {
                () = tokio::time::sleep(self.block_time) => {}
                () = shutdown.cancelled() => {}
            }
        }
        Ok(())
    }

    /// One block, and perhaps a reorg.
    fn step(&mut self) -> Result<(), TrafficError> {
        for _ in 0..self.random.random_range(0..=MAX_PAYMENTS_PER_BLOCK) {
            self.pay()?;
        }
        self.chain.mine();
        // The first blocks hold the contract; they stay.
        let room = self.chain.head().number().saturating_sub(1).min(MAX_REORG_DEPTH);
        self.blocks_since_reorg += 1;
        let due = self.blocks_since_reorg >= BLOCKS_PER_REORG;
        if room > 0 && (due || self.random.random_ratio(1, BLOCKS_PER_REORG)) {
            self.blocks_since_reorg = 0;
            let depth = self.random.random_range(1..=room);
            // One in four reorgs loses its payments for good, as a reorg may.
            let return_to_pool = self.random.random_ratio(3, 4);
            self.chain.reorg(depth, &ReorgOptions { return_to_pool, ..ReorgOptions::default() })?;
        }
        Ok(())
    }

    fn pay(&mut self) -> Result<(), TrafficError> {
        let integrator = Address::repeat_byte(0xa0 + self.random.random_range(0..INTEGRATORS));
        let fees = [(); 2].map(|()| U256::from(self.random.random_range(1..MAX_FEE_WEI)));
        let call = collectNativeFeesCall { integratorFee: fees[0], lifiFee: fees[1], integrator };
        let account = &self.accounts[self.random.random_range(0..self.accounts.len())];
        let transaction = TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce: self.chain.next_nonce(account.address()),
            gas_limit: GAS_LIMIT,
            max_fee_per_gas: MAX_FEE_PER_GAS_WEI,
            max_priority_fee_per_gas: MAX_PRIORITY_FEE_WEI,
            to: TxKind::Call(self.contract),
            value: fees[0] + fees[1],
            input: call.abi_encode().into(),
            ..TxEip1559::default()
        };
        self.chain.send(account.sign(transaction)?)?;
        Ok(())
    }
}

/// Whoever pays fees. The account that pays out does nothing else.
fn payers(world: &World) -> Vec<DevAccount> {
    let mut accounts = world.chain.accounts();
    accounts.retain(|account| account.address() != world.treasury.payer_address());
    accounts
}

/// Why the traffic ended by itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrafficError {
    /// A payment was not accepted.
    #[error("the devnet refused a payment")]
    Payment(#[from] windlass_devnet::chain::PoolError),
    /// A payment could not be signed.
    #[error("a payment could not be signed")]
    Signature(#[from] alloy_signer::Error),
    /// A reorg was not possible.
    #[error("the devnet refused a reorg")]
    Reorg(#[from] windlass_devnet::chain::ReorgError),
}
