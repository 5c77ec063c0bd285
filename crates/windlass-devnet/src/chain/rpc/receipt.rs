//! Receipts.

use alloy_consensus::{Receipt, ReceiptEnvelope, ReceiptWithBloom, Transaction, TxReceipt};
use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_rpc_types_eth::TransactionReceipt;

use super::params::Params;
use super::{Answer, null, ok};
use crate::chain::block::Block;
use crate::chain::machine::{Fill, Machine};

pub(super) fn of_transaction(machine: &Machine, params: &Params<'_>) -> Answer {
    match machine.ledger.transaction(params.get(0)?) {
        Some((block, index)) => ok(&receipt_of(block, index)),
        None => null(),
    }
}

pub(super) fn of_block(machine: &Machine, params: &Params<'_>) -> Answer {
    let block = match params.get(0)? {
        BlockId::Number(BlockNumberOrTag::Pending) => return ok(&all(&machine.draft(Fill::FromPool).0)),
        BlockId::Number(tag) => machine.ledger.block(machine.number_of(tag)),
        BlockId::Hash(hash) => machine.ledger.by_hash(hash.block_hash),
    };
    match block {
        Some(block) => ok(&all(block)),
        None => null(),
    }
}

fn all(block: &Block) -> Vec<TransactionReceipt> {
    (0..block.transactions.len()).map(|index| receipt_of(block, index)).collect()
}

/// The receipt of a block's transaction as the RPC shows it.
pub(crate) fn receipt_of(block: &Block, index: usize) -> TransactionReceipt {
    let (tx, outcome) = (&block.transactions[index], &block.outcomes[index]);
    let receipt = Receipt {
        status: outcome.receipt.status_or_post_state(),
        cumulative_gas_used: outcome.receipt.cumulative_gas_used(),
        logs: block.transaction_logs(index).collect(),
    };
    let with_bloom = ReceiptWithBloom { receipt, logs_bloom: *outcome.receipt.logs_bloom() };
    TransactionReceipt {
        inner: ReceiptEnvelope::from_typed(tx.signed().tx_type(), with_bloom),
        transaction_hash: tx.hash(),
        transaction_index: Some(index as u64),
        block_hash: Some(block.hash()),
        block_number: Some(block.number()),
        gas_used: outcome.gas_used,
        effective_gas_price: block.gas_price(index),
        blob_gas_used: None,
        blob_gas_price: None,
        from: tx.sender(),
        to: tx.signed().to(),
        contract_address: outcome.contract_address,
    }
}
