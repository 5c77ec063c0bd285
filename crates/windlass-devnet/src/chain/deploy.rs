//! Putting a contract on the chain from its init code.

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind};

use super::error::DeployError;
use super::rpc::{SUGGESTED_TIP_WEI, creation, estimate};
use super::{Chain, DevAccount};
use crate::node::RpcError;

impl Chain {
    /// Sends a contract's init code from an account and returns the contract's
    /// address; the contract is there once the transaction is mined.
    pub fn deploy(&self, from: &DevAccount, init_code: Bytes) -> Result<Address, DeployError> {
        let transaction = self.deployment(from.address(), init_code).map_err(DeployError::Execution)?;
        let address = from.address().create(transaction.nonce);
        let signed = from.sign(transaction).map_err(DeployError::Sign)?;
        self.send(signed).map_err(DeployError::Pool)?;
        Ok(address)
    }

    fn deployment(&self, from: Address, init_code: Bytes) -> Result<TxEip1559, RpcError> {
        let gas = estimate(self, &creation(from, init_code.clone()))?;
        let machine = self.read();
        Ok(TxEip1559 {
            chain_id: machine.options.chain_id,
            nonce: machine.pool.next_nonce(from, &machine.view()),
            // A fifth more than now, since the state may be another by the time it is mined.
            gas_limit: (gas + gas / 5).min(machine.options.block_gas_limit),
            max_fee_per_gas: u128::from(machine.ledger.head().base_fee()) * 2 + SUGGESTED_TIP_WEI,
            max_priority_fee_per_gas: SUGGESTED_TIP_WEI,
            to: TxKind::Create,
            input: init_code,
            ..TxEip1559::default()
        })
    }
}
