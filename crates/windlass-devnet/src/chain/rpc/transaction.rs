//! Transactions, on the chain and in the pool.

use alloy_consensus::transaction::TransactionInfo;
use alloy_primitives::{B256, Bytes};
use alloy_rpc_types_eth::Transaction;

use super::block::mined;
use super::params::Params;
use super::{Answer, null, ok};
use crate::chain::Chain;
use crate::chain::machine::Machine;

pub(super) fn send_raw(chain: &Chain, params: &Params<'_>) -> Answer {
    let raw: Bytes = params.get(0)?;
    ok(&chain.send_raw(&raw)?)
}

pub(super) fn by_hash(machine: &Machine, params: &Params<'_>) -> Answer {
    let hash: B256 = params.get(0)?;
    if let Some((block, index)) = machine.ledger.transaction(hash) {
        return ok(&mined(block, index));
    }
    match machine.pool.get(hash) {
        Some(tx) => ok(&Transaction::from_transaction(tx.signed().clone(), TransactionInfo::default())),
        None => null(),
    }
}
