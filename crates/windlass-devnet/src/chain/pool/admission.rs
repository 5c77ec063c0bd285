//! Which transactions the pool takes, checked in geth's order.

use alloy_consensus::Transaction;
use alloy_primitives::U256;
use revm::context_interface::cfg::gas::calculate_initial_tx_gas_for_tx;
use revm::primitives::eip3860::MAX_INITCODE_SIZE;

use super::Pool;
use crate::chain::error::PoolError;
use crate::chain::evm::SPEC;
use crate::chain::state::View;
use crate::chain::tx::Tx;

/// What holds for every transaction, whatever the state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) chain_id: u64,
    pub(crate) block_gas_limit: u64,
}

impl Rules {
    /// Checks a transaction by itself.
    pub(crate) fn check(&self, tx: &Tx) -> Result<(), PoolError> {
        let signed = tx.signed();
        if signed.kind().is_create() && signed.input().len() > MAX_INITCODE_SIZE {
            return Err(PoolError::InitCodeTooLarge { size: signed.input().len(), limit: MAX_INITCODE_SIZE });
        }
        if signed.gas_limit() > self.block_gas_limit {
            return Err(PoolError::GasLimit);
        }
        if tx.tip_cap() > signed.max_fee_per_gas() {
            return Err(PoolError::TipAboveFeeCap);
        }
        if let Some(have) = signed.chain_id().filter(|id| *id != self.chain_id) {
            return Err(PoolError::ChainId { have, want: self.chain_id });
        }
        if signed.nonce() == u64::MAX {
            return Err(PoolError::NonceMax);
        }
        check_intrinsic_gas(tx)
    }
}

fn check_intrinsic_gas(tx: &Tx) -> Result<(), PoolError> {
    let gas = tx.signed().gas_limit();
    let needed = calculate_initial_tx_gas_for_tx(tx.env(), SPEC, None);
    if gas < needed.initial_total_gas() {
        return Err(PoolError::IntrinsicGas { gas, needed: needed.initial_total_gas() });
    }
    if gas < needed.floor_gas {
        return Err(PoolError::FloorGas { gas, needed: needed.floor_gas });
    }
    Ok(())
}

impl Pool {
    /// Checks a transaction against the account's nonce and money, what its
    /// sender already has waiting below it included.
    pub(super) fn check_funds(&self, tx: &Tx, view: &View<'_>) -> Result<(), PoolError> {
        let (next, nonce) = (view.nonce(tx.sender()), tx.signed().nonce());
        if nonce < next {
            return Err(PoolError::NonceTooLow { next, nonce });
        }
        let (balance, cost) = (view.balance(tx.sender()), tx.cost());
        if balance < cost {
            return Err(PoolError::Funds { balance, cost });
        }
        let queued = self.pending_cost(tx, next);
        if balance < queued.saturating_add(cost) {
            return Err(PoolError::QueuedFunds { balance, queued, cost });
        }
        Ok(())
    }

    /// What the sender's other pending transactions can cost at most.
    fn pending_cost(&self, tx: &Tx, next: u64) -> U256 {
        self.pending_of(tx.sender(), next)
            .filter(|entry| entry.tx.signed().nonce() != tx.signed().nonce())
            .fold(U256::ZERO, |sum, entry| sum.saturating_add(entry.tx.cost()))
    }
}
