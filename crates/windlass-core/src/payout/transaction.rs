//! A transaction, the bytes that are signed, stored and sent, and reading them back.
//!
//! Only EIP-1559 is spoken, without value and without an access list. What is read back
//! is refused where it is anything else, so that stored bytes can be held against what
//! they were meant to be.

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{SignableTransaction, Signed, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::TxKind;

use super::fees::GasFees;
use super::signer::Signature;
use crate::chain::{Address, B256, Bytes, ChainId, U256};

/// The longest transaction that nodes take.
pub const MAX_TRANSACTION_BYTES: usize = 128 << 10;

/// What is signed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Transaction {
    /// The chain it is good on.
    pub chain: ChainId,
    /// How many its sender has made before it.
    pub nonce: u64,
    /// Whom it calls; nobody to make a contract.
    pub to: Option<Address>,
    /// With what.
    pub data: Bytes,
    /// How much gas it may take.
    pub gas_limit: u64,
    /// What it offers for its gas.
    pub fees: GasFees,
}

/// What is stored and sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SignedTransaction {
    /// The name by which the chain knows it.
    pub hash: B256,
    /// The bytes as nodes take them.
    pub raw: Bytes,
}

/// A transaction that was read from its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReadTransaction {
    /// The name by which the chain knows it.
    pub hash: B256,
    /// Who signed it.
    pub sender: Address,
    /// What was signed.
    pub transaction: Transaction,
}

/// The bytes are no transaction of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// They cannot be read.
    #[error("these bytes are no transaction: {0}")]
    Unreadable(String),
    /// Whoever signed it cannot be told, or the signature could be given another form.
    #[error("the transaction's signature is not valid")]
    Signature,
    /// It does more than we sign for.
    #[error("the transaction {0}, which none of ours does")]
    Foreign(&'static str),
}

impl Transaction {
    /// What the sender signs.
    pub fn signing_hash(&self) -> B256 {
        self.consensus_form().signature_hash()
    }

    /// The bytes with the sender's signature.
    pub fn signed(&self, signature: &Signature) -> SignedTransaction {
        let signed = self.consensus_form().into_signed(*signature);
        SignedTransaction { hash: *signed.hash(), raw: TxEnvelope::from(signed).encoded_2718().into() }
    }

    fn consensus_form(&self) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.chain.as_u64(),
            nonce: self.nonce,
            gas_limit: self.gas_limit,
            max_fee_per_gas: self.fees.max_fee,
            max_priority_fee_per_gas: self.fees.priority_fee,
            to: self.to.map_or(TxKind::Create, TxKind::Call),
            value: U256::ZERO,
            input: self.data.clone(),
            ..TxEip1559::default()
        }
    }

    fn from_consensus_form(form: TxEip1559) -> Result<Self, TransactionError> {
        if !form.value.is_zero() {
            return Err(TransactionError::Foreign("sends the chain's own coin"));
        }
        if !form.access_list.is_empty() {
            return Err(TransactionError::Foreign("has an access list"));
        }
        let chain =
            ChainId::new(form.chain_id).map_err(|error| TransactionError::Unreadable(error.to_string()))?;
        Ok(Self {
            chain,
            nonce: form.nonce,
            to: form.to.to().copied(),
            data: form.input,
            gas_limit: form.gas_limit,
            fees: GasFees { max_fee: form.max_fee_per_gas, priority_fee: form.max_priority_fee_per_gas },
        })
    }
}

impl ReadTransaction {
    /// Reads bytes back, all of them, and finds out who signed.
    pub fn read(raw: &[u8]) -> Result<Self, TransactionError> {
        let signed = decode(raw)?;
        // By the trait: the type's own method takes both forms of a signature.
        let sender = SignerRecoverable::recover_signer(&signed).map_err(|_| TransactionError::Signature)?;
        let hash = *signed.hash();
        Ok(Self { hash, sender, transaction: Transaction::from_consensus_form(signed.strip_signature())? })
    }
}

impl Transaction {
    /// Reads bytes back, and what they hash to, without finding out who signed: for whoever has
    /// found it out of the same hash before.
    pub fn read(raw: &[u8]) -> Result<(B256, Self), TransactionError> {
        let signed = decode(raw)?;
        let hash = *signed.hash();
        Ok((hash, Self::from_consensus_form(signed.strip_signature())?))
    }
}

fn decode(raw: &[u8]) -> Result<Signed<TxEip1559>, TransactionError> {
    if raw.len() > MAX_TRANSACTION_BYTES {
        return Err(TransactionError::Unreadable(format!("they are more than {MAX_TRANSACTION_BYTES}")));
    }
    let envelope = TxEnvelope::decode_2718_exact(raw)
        .map_err(|error| TransactionError::Unreadable(error.to_string()))?;
    match envelope {
        TxEnvelope::Eip1559(signed) => Ok(signed),
        _ => Err(TransactionError::Foreign("is of another type than EIP-1559")),
    }
}

#[cfg(test)]
mod tests;
