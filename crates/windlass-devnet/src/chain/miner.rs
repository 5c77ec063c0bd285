//! Making a block: a header on a parent, filled with the pool's best transactions.

use std::sync::Arc;

use alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH;
use alloy_consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy_consensus::{EMPTY_ROOT_HASH, Eip658Value, Header, Receipt, ReceiptEnvelope, Transaction, TxType};
use alloy_eips::eip1559::BaseFeeParams;
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{B64, B256, Bloom, Bytes, U256, keccak256};
use revm::context::CfgEnv;
use revm::context::result::{EVMError, ExecutionResult, InvalidTransaction};

use super::block::{Block, Outcome};
use super::evm::{Executor, Refusal, block_env};
use super::options::ChainOptions;
use super::pool::Best;
use super::state::{Changes, Overlay, View};
use super::tx::Tx;

/// The header of block 0.
pub(crate) fn genesis_header(options: &ChainOptions) -> Header {
    Header {
        timestamp: options.genesis_timestamp_s,
        base_fee_per_gas: Some(options.base_fee_start_wei),
        extra_data: Bytes::from_static(b"windlass"),
        ..empty_header(options)
    }
}

/// The header of the block after `parent`; its body's roots are still those of an empty one.
///
/// `branch` counts reorgs and stands in the extra data, so that a block made
/// after a reorg never has the hash of the one it replaces.
pub(crate) fn next_header(options: &ChainOptions, parent: &Block, timestamp: u64, branch: u64) -> Header {
    let mut extra = b"windlass/".to_vec();
    extra.extend_from_slice(&branch.to_be_bytes());
    Header {
        parent_hash: parent.hash(),
        number: parent.number() + 1,
        timestamp,
        base_fee_per_gas: parent.header.next_block_base_fee(BaseFeeParams::ethereum()),
        mix_hash: keccak256([parent.hash().as_slice(), &extra].concat()),
        extra_data: extra.into(),
        ..empty_header(options)
    }
}

/// The state root is that of an empty trie: the state is kept without one.
fn empty_header(options: &ChainOptions) -> Header {
    Header {
        parent_hash: B256::ZERO,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: options.coinbase,
        state_root: EMPTY_ROOT_HASH,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        logs_bloom: Bloom::ZERO,
        difficulty: U256::ZERO,
        gas_limit: options.block_gas_limit,
        gas_used: 0,
        nonce: B64::ZERO,
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        ..Header::default()
    }
}

/// Fills a header with the best transactions that fit, and seals it.
pub(crate) fn fill(
    header: Header,
    overlay: Overlay<View<'_>>,
    rules: CfgEnv,
    mut best: Best,
) -> (Block, Changes) {
    let mut draft = Draft::new(header, overlay, rules);
    loop {
        let before = draft.transactions.len();
        while let Some(candidate) = best.pop() {
            match draft.include(&candidate.tx) {
                Included::Yes => best.advance(candidate.tx.sender()),
                Included::NotYet => best.park(candidate),
                Included::Never => {}
            }
        }
        // A sender may have been paid by a transaction that came after its own.
        if draft.transactions.len() == before || !best.unpark() {
            return draft.seal();
        }
    }
}

/// What became of a transaction offered to a draft.
enum Included {
    Yes,
    /// The sender lacks the money, which a later transaction may bring.
    NotYet,
    /// Not in this block, and none of the sender's later ones either.
    Never,
}

/// A block under construction.
struct Draft<'a> {
    header: Header,
    executor: Executor<View<'a>>,
    transactions: Vec<Arc<Tx>>,
    outcomes: Vec<Outcome>,
    log_count: u64,
}

impl<'a> Draft<'a> {
    fn new(header: Header, overlay: Overlay<View<'a>>, rules: CfgEnv) -> Self {
        let executor = Executor::new(overlay, rules, block_env(&header));
        Self { header, executor, transactions: Vec::new(), outcomes: Vec::new(), log_count: 0 }
    }

    fn include(&mut self, tx: &Arc<Tx>) -> Included {
        if tx.signed().gas_limit() > self.header.gas_limit - self.header.gas_used {
            return Included::Never;
        }
        match self.executor.execute(tx.env()) {
            Ok(result) => {
                self.record(tx, result);
                Included::Yes
            }
            Err(EVMError::Transaction(InvalidTransaction::LackOfFundForMaxFee { .. })) => Included::NotYet,
            Err(refusal) => {
                trace_refusal(tx, &refusal);
                Included::Never
            }
        }
    }

    fn record(&mut self, tx: &Arc<Tx>, result: ExecutionResult) {
        let gas_used = result.tx_gas_used();
        self.header.gas_used += gas_used;
        // As geth does, for a creation that failed too.
        let contract_address = tx.signed().is_create().then(|| tx.sender().create(tx.signed().nonce()));
        let receipt = Receipt {
            status: Eip658Value::Eip658(result.is_success()),
            cumulative_gas_used: self.header.gas_used,
            logs: result.into_logs(),
        };
        let first_log_index = self.log_count;
        self.log_count += receipt.logs.len() as u64;
        self.outcomes.push(Outcome {
            receipt: envelope(tx.signed().tx_type(), receipt),
            gas_used,
            contract_address,
            first_log_index,
        });
        self.transactions.push(tx.clone());
    }

    fn seal(mut self) -> (Block, Changes) {
        let envelopes: Vec<_> = self.transactions.iter().map(|tx| tx.signed().inner()).collect();
        self.header.transactions_root = calculate_transaction_root(&envelopes);
        let receipts: Vec<_> = self.outcomes.iter().map(|outcome| &outcome.receipt).collect();
        self.header.receipts_root = calculate_receipt_root(&receipts);
        for receipt in receipts {
            self.header.logs_bloom |= *receipt.logs_bloom();
        }
        let block = Block::seal(self.header, self.transactions, self.outcomes);
        (block, self.executor.into_overlay().into_changes())
    }
}

fn envelope(kind: TxType, receipt: Receipt) -> ReceiptEnvelope {
    ReceiptEnvelope::from_typed(kind, receipt.with_bloom())
}

fn trace_refusal(tx: &Tx, refusal: &Refusal) {
    tracing::debug!(hash = %tx.hash(), %refusal, "transaction left out of the block");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_with(gas_used: u64, base_fee: u64) -> Block {
        let options = ChainOptions::default();
        let header = Header { gas_used, base_fee_per_gas: Some(base_fee), ..genesis_header(&options) };
        Block::seal(header, Vec::new(), Vec::new())
    }

    fn next_fee(gas_used: u64, base_fee: u64) -> u64 {
        let parent = block_with(gas_used, base_fee);
        next_header(&ChainOptions::default(), &parent, 1, 0).base_fee_per_gas.unwrap()
    }

    #[test]
    fn the_base_fee_follows_eip_1559() {
        let (limit, target) = (30_000_000, 15_000_000);
        assert_eq!(next_fee(target, 1_000_000_000), 1_000_000_000);
        assert_eq!(next_fee(limit, 1_000_000_000), 1_125_000_000);
        assert_eq!(next_fee(0, 1_000_000_000), 875_000_000);
        assert_eq!(next_fee(target + target / 2, 1_000_000_000), 1_062_500_000);
        assert_eq!(next_fee(target + 1, 8), 9, "it rises by at least one wei");
        assert_eq!(next_fee(0, 7), 7, "the eighth of seven wei is nothing");
    }

    #[test]
    fn another_branch_gives_another_hash() {
        let parent = block_with(0, 7);
        let seal = |branch| {
            Block::seal(next_header(&ChainOptions::default(), &parent, 1, branch), Vec::new(), Vec::new())
                .hash()
        };
        assert_ne!(seal(0), seal(1));
        assert_eq!(seal(1), seal(1));
    }
}
