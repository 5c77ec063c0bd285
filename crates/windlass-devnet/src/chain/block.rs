//! A block with its transactions and their outcomes.

use std::sync::Arc;

use alloy_consensus::{Header, ReceiptEnvelope, Transaction};
use alloy_primitives::{Address, B256, Log as RawLog};
use alloy_rlp::Encodable;
use alloy_rpc_types_eth::Log;

use super::tx::Tx;

/// What a transaction did in its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The receipt as the receipts root commits to it.
    pub receipt: ReceiptEnvelope,
    /// The gas this transaction alone used.
    pub gas_used: u64,
    /// The contract it created, or would have created had it not failed.
    pub contract_address: Option<Address>,
    /// The position of its first log in the block.
    pub first_log_index: u64,
}

/// A sealed block; its hash is that of its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    hash: B256,
    /// The header the hash commits to.
    pub header: Header,
    /// The transactions in order.
    pub transactions: Vec<Arc<Tx>>,
    /// What each of them did.
    pub outcomes: Vec<Outcome>,
}

impl Block {
    /// Seals a header over its body.
    pub(crate) fn seal(header: Header, transactions: Vec<Arc<Tx>>, outcomes: Vec<Outcome>) -> Self {
        Self { hash: header.hash_slow(), header, transactions, outcomes }
    }

    /// The block's hash.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    /// The block's number.
    pub fn number(&self) -> u64 {
        self.header.number
    }

    /// The base fee per gas in this block.
    pub fn base_fee(&self) -> u64 {
        self.header.base_fee_per_gas.unwrap_or_default()
    }

    /// The block's length in RLP, as the network would carry it.
    pub(crate) fn encoded_len(&self) -> usize {
        let list = |payload_length| alloy_rlp::Header { list: true, payload_length }.length_with_payload();
        let transactions = self.transactions.iter().map(|tx| tx.signed().inner().length()).sum();
        let no_ommers_no_withdrawals = 2 * list(0);
        list(self.header.length() + list(transactions) + no_ommers_no_withdrawals)
    }

    /// What the transaction at `index` paid per gas.
    pub(crate) fn gas_price(&self, index: usize) -> u128 {
        self.transactions[index].signed().effective_gas_price(Some(self.base_fee()))
    }

    /// Every log of the block, in order, with its place.
    pub fn logs(&self) -> impl Iterator<Item = Log> + '_ {
        (0..self.outcomes.len()).flat_map(|index| self.transaction_logs(index))
    }

    /// The logs of one transaction, with their place.
    pub(crate) fn transaction_logs(&self, index: usize) -> impl Iterator<Item = Log> + '_ {
        self.raw_logs(index).map(move |(log_index, raw)| self.place(index, log_index, raw))
    }

    /// The logs of one transaction as emitted, each with its position in the block.
    pub(crate) fn raw_logs(&self, index: usize) -> impl Iterator<Item = (u64, &RawLog)> {
        let outcome = &self.outcomes[index];
        (outcome.first_log_index..).zip(outcome.receipt.logs())
    }

    /// An emitted log with its place in this block.
    pub(crate) fn place(&self, index: usize, log_index: u64, raw: &RawLog) -> Log {
        Log {
            inner: raw.clone(),
            block_hash: Some(self.hash),
            block_number: Some(self.number()),
            block_timestamp: Some(self.header.timestamp),
            transaction_hash: Some(self.transactions[index].hash()),
            transaction_index: Some(index as u64),
            log_index: Some(log_index),
            removed: false,
        }
    }
}
