//! Blocks by number and hash.

use alloy_consensus::transaction::TransactionInfo;
use alloy_eips::BlockNumberOrTag;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, U64, U256};
use alloy_rpc_types_eth::{Block as RpcBlock, BlockTransactions, Header as RpcHeader, Transaction};

use super::params::Params;
use super::{Answer, null, ok};
use crate::chain::block::Block;
use crate::chain::machine::{Fill, Machine};
use crate::chain::sealed;

pub(super) fn number(machine: &Machine) -> Answer {
    ok(&U64::from(machine.ledger.head().number()))
}

pub(super) fn by_number(machine: &Machine, params: &Params<'_>) -> Answer {
    let (tag, full) = (params.get(0)?, params.opt(1)?.unwrap_or(false));
    if tag == BlockNumberOrTag::Pending {
        return ok(&rpc_block(&machine.draft(Fill::FromPool).0, full));
    }
    match machine.ledger.block(machine.number_of(tag)) {
        Some(block) => ok(&rpc_block(block, full)),
        None => null(),
    }
}

pub(super) fn by_hash(machine: &Machine, params: &Params<'_>) -> Answer {
    let (hash, full): (B256, bool) = (params.get(0)?, params.opt(1)?.unwrap_or(false));
    match machine.ledger.by_hash(hash) {
        Some(block) => ok(&rpc_block(block, full)),
        None => null(),
    }
}

fn rpc_block(block: &Block, full: bool) -> RpcBlock {
    let transactions = if full {
        BlockTransactions::Full((0..block.transactions.len()).map(|index| mined(block, index)).collect())
    } else {
        BlockTransactions::Hashes(block.transactions.iter().map(|tx| tx.hash()).collect())
    };
    let size = U256::from(block.encoded_len());
    RpcBlock::new(RpcHeader::from_consensus(sealed(block), None, Some(size)), transactions)
        .with_withdrawals(Some(Withdrawals::default()))
}

/// A transaction of a block as the RPC shows it.
pub(super) fn mined(block: &Block, index: usize) -> Transaction {
    let tx = &block.transactions[index];
    let place = TransactionInfo {
        hash: Some(tx.hash()),
        index: Some(index as u64),
        block_hash: Some(block.hash()),
        block_number: Some(block.number()),
        base_fee: Some(block.base_fee()),
        block_timestamp: Some(block.header.timestamp),
    };
    Transaction::from_transaction(tx.signed().clone(), place)
}
