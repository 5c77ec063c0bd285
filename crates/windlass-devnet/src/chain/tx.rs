//! A signed transaction with its sender, as the pool and the blocks keep it.

use alloy_consensus::transaction::{Recovered, SignerRecoverable};
use alloy_consensus::{Transaction, TxEnvelope};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::{Address, B256, U256};
use revm::context::TxEnv;
use revm::context_interface::either::Either;

use super::error::PoolError;

/// The largest transaction the pool takes, encoded (geth's limit).
pub const MAX_TRANSACTION_BYTES: usize = 128 * 1024;

/// A transaction whose signature has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tx {
    signed: Recovered<TxEnvelope>,
    hash: B256,
}

impl Tx {
    /// Reads the raw bytes of `eth_sendRawTransaction` and recovers the sender.
    pub(crate) fn decode(raw: &[u8]) -> Result<Self, PoolError> {
        if raw.len() > MAX_TRANSACTION_BYTES {
            return Err(PoolError::Oversized { size: raw.len(), limit: MAX_TRANSACTION_BYTES });
        }
        let envelope = TxEnvelope::decode_2718_exact(raw).map_err(|e| PoolError::Decode(e.to_string()))?;
        Self::recover(envelope)
    }

    /// Recovers the sender; blob transactions are not offered.
    pub(crate) fn recover(envelope: TxEnvelope) -> Result<Self, PoolError> {
        if envelope.is_eip4844() {
            return Err(PoolError::TypeNotSupported);
        }
        let size = envelope.encode_2718_len();
        if size > MAX_TRANSACTION_BYTES {
            return Err(PoolError::Oversized { size, limit: MAX_TRANSACTION_BYTES });
        }
        let sender = envelope.recover_signer().map_err(|_| PoolError::InvalidSender)?;
        let hash = *envelope.tx_hash();
        Ok(Self { signed: Recovered::new_unchecked(envelope, sender), hash })
    }

    /// The transaction's hash.
    pub fn hash(&self) -> B256 {
        self.hash
    }

    /// Who signed it.
    pub fn sender(&self) -> Address {
        self.signed.signer()
    }

    /// The transaction with its sender.
    pub fn signed(&self) -> &Recovered<TxEnvelope> {
        &self.signed
    }

    /// The most it can take from its sender: gas at the highest fee, and the value.
    pub(crate) fn cost(&self) -> U256 {
        U256::from(self.signed.max_fee_per_gas())
            .saturating_mul(U256::from(self.signed.gas_limit()))
            .saturating_add(self.signed.value())
    }

    /// The tip per gas the block's maker gets, if the fee cap covers the base fee.
    pub(crate) fn effective_tip(&self, base_fee: u64) -> Option<u128> {
        self.signed.effective_tip_per_gas(base_fee)
    }

    /// The highest tip it offers; a legacy transaction offers all it pays.
    pub(crate) fn tip_cap(&self) -> u128 {
        self.signed.max_priority_fee_per_gas().unwrap_or_else(|| self.signed.max_fee_per_gas())
    }

    /// The transaction as the EVM takes it.
    pub(crate) fn env(&self) -> TxEnv {
        let tx = self.signed.inner();
        TxEnv {
            tx_type: tx.tx_type() as u8,
            caller: self.sender(),
            gas_limit: tx.gas_limit(),
            gas_price: tx.max_fee_per_gas(),
            kind: tx.kind(),
            value: tx.value(),
            data: tx.input().clone(),
            nonce: tx.nonce(),
            chain_id: tx.chain_id(),
            access_list: tx.access_list().cloned().unwrap_or_default(),
            gas_priority_fee: tx.max_priority_fee_per_gas(),
            blob_hashes: Vec::new(),
            max_fee_per_blob_gas: 0,
            authorization_list: tx
                .authorization_list()
                .unwrap_or_default()
                .iter()
                .cloned()
                .map(Either::Left)
                .collect(),
        }
    }
}
