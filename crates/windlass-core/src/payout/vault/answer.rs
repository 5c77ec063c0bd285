//! What the vault answers. What does not fit is refused: an address without a contract
//! answers everything with nothing.

use alloy_sol_types::SolCall;

use super::abi::{self, SettlementVault as Vault, Token};
use crate::chain::{Address, U256};

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VaultStatus {
    /// The vault has never seen it.
    Unknown,
    /// It was paid.
    Paid,
    /// It will never be paid.
    Cancelled,
}

/// What the vault remembers of a request. While that is unknown, the rest is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VaultRecord {
    /// What became of it.
    pub status: VaultStatus,
    /// When, in seconds since 1970, as the block says.
    pub settled_at_s: u64,
    /// The block whose logs hold the event. On a rollup whose contracts see another
    /// chain's block numbers, look for the event by time.
    pub block: u64,
    /// The recipient; of a cancelled request, what its canceller said.
    pub to: Address,
}

/// The bytes are no answer of a vault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultAnswerError {
    /// Nothing came back.
    #[error("there is no vault at that address, or not at that block")]
    NoVault,
    /// They do not fit what was asked.
    #[error("the vault's {what} cannot be read: {reason}")]
    Unreadable {
        /// What was asked.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
}

/// The answer to `requestState`.
pub fn request_state(answer: &[u8]) -> Result<VaultRecord, VaultAnswerError> {
    read::<Vault::requestStateCall>(answer).and_then(|record| record.try_into())
}

/// The answer to `requestStates` for so many requests, in their order.
pub fn request_states(asked: usize, answer: &[u8]) -> Result<Vec<VaultRecord>, VaultAnswerError> {
    let records = read::<Vault::requestStatesCall>(answer)?;
    if records.len() != asked {
        let reason = format!("there are {} for {asked} requests", records.len());
        return Err(VaultAnswerError::Unreadable { what: "requestStates", reason });
    }
    records.into_iter().map(TryInto::try_into).collect()
}

/// The answer to `riskSigner`; `None` when there is none.
pub fn risk_signer(answer: &[u8]) -> Result<Option<Address>, VaultAnswerError> {
    read::<Vault::riskSignerCall>(answer).map(|signer| Some(signer).filter(|signer| !signer.is_zero()))
}

/// The answer to `approvalRequired`.
pub fn approval_required(answer: &[u8]) -> Result<bool, VaultAnswerError> {
    read::<Vault::approvalRequiredCall>(answer)
}

/// The answer to `approvalNonce`.
pub fn approval_nonce(answer: &[u8]) -> Result<u64, VaultAnswerError> {
    read::<Vault::approvalNonceCall>(answer)
}

/// The answer to `paused`.
pub fn paused(answer: &[u8]) -> Result<bool, VaultAnswerError> {
    read::<Vault::pausedCall>(answer)
}

/// The answer to `DEPLOYED_AT_BLOCK`.
pub fn deployed_at_block(answer: &[u8]) -> Result<u64, VaultAnswerError> {
    let block: U256 = read::<Vault::DEPLOYED_AT_BLOCKCall>(answer)?;
    u64::try_from(block).map_err(|error| VaultAnswerError::Unreadable {
        what: "DEPLOYED_AT_BLOCK",
        reason: error.to_string(),
    })
}

/// The answer to `NATIVE_COIN_ADDRESS`: what stands for the chain's own coin in the vault's calls.
pub fn native_coin(answer: &[u8]) -> Result<Address, VaultAnswerError> {
    read::<Vault::NATIVE_COIN_ADDRESSCall>(answer)
}

/// What the day's limit of a token still allows.
pub fn remaining_today(answer: &[u8]) -> Result<U256, VaultAnswerError> {
    read::<Vault::remainingTodayCall>(answer)
}

/// What somebody has of a token.
pub fn balance_of(answer: &[u8]) -> Result<U256, VaultAnswerError> {
    read::<Token::balanceOfCall>(answer)
}

/// How many decimals a token has.
pub fn decimals(answer: &[u8]) -> Result<u8, VaultAnswerError> {
    read::<Token::decimalsCall>(answer)
}

/// Reads an answer to the last bit: padding must be what the contract writes.
pub(super) fn read<C: SolCall>(answer: &[u8]) -> Result<C::Return, VaultAnswerError> {
    if answer.is_empty() {
        return Err(VaultAnswerError::NoVault);
    }
    C::abi_decode_returns_validate(answer).map_err(|error| VaultAnswerError::Unreadable {
        what: C::SIGNATURE.split_once('(').map_or(C::SIGNATURE, |(name, _)| name),
        reason: error.to_string(),
    })
}

impl TryFrom<abi::RequestRecord> for VaultRecord {
    type Error = VaultAnswerError;

    fn try_from(record: abi::RequestRecord) -> Result<Self, VaultAnswerError> {
        let status = match record.state {
            abi::RequestState::Unknown => VaultStatus::Unknown,
            abi::RequestState::Paid => VaultStatus::Paid,
            abi::RequestState::Cancelled => VaultStatus::Cancelled,
            abi::RequestState::__Invalid => {
                let reason = "it is neither unknown, paid nor cancelled".to_owned();
                return Err(VaultAnswerError::Unreadable { what: "RequestState", reason });
            }
        };
        let (settled_at_s, block) = (record.settledAt.to(), record.blockNumber.to());
        Ok(Self { status, settled_at_s, block, to: record.to })
    }
}
