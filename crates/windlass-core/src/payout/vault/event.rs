//! What the vault says happened.

use alloy_sol_types::{SolEvent, SolEventInterface};

use super::abi::SettlementVault::{self as vault, SettlementVaultEvents};
use super::answer::VaultAnswerError;
use super::calldata::VaultPayout;
use crate::chain::{Address, B256};
use crate::event::LogEvent;
use crate::payout::request::VaultRef;
use crate::reader::LogFilter;

/// A request's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VaultEvent {
    /// It was paid, as told. At most one for each request.
    PayoutExecuted(VaultPayout),
    /// It will never be paid. Token, recipient and amount are the canceller's words.
    RequestCancelled {
        /// What the canceller said of it.
        payout: VaultPayout,
        /// The canceller.
        by: Address,
    },
}

/// What to ask a chain for to see these events of a vault.
pub fn filter(vault: Address) -> LogFilter {
    LogFilter { addresses: vec![vault], topics: vec![topics().to_vec()] }
}

/// The same for some requests only.
pub fn filter_of(vault: Address, request_ids: &[B256]) -> LogFilter {
    LogFilter { addresses: vec![vault], topics: vec![topics().to_vec(), request_ids.to_vec()] }
}

/// The first topics of these events.
pub const fn topics() -> [B256; 2] {
    [vault::PayoutExecuted::SIGNATURE_HASH, vault::RequestCancelled::SIGNATURE_HASH]
}

impl VaultEvent {
    /// Reads a log. `None` for another event, and for whatever another contract says:
    /// anybody can say that a request was paid.
    pub fn read(vault: VaultRef, log: &LogEvent) -> Result<Option<Self>, VaultAnswerError> {
        let topics = log.topics.as_slice();
        let is_ours = log.chain == vault.chain && log.address == vault.address;
        if !is_ours || !topics.first().is_some_and(|first| self::topics().contains(first)) {
            return Ok(None);
        }
        let event = SettlementVaultEvents::decode_raw_log(topics, &log.data)
            .map_err(|error| VaultAnswerError::Unreadable { what: "event", reason: error.to_string() })?;
        Ok(Some(match event {
            SettlementVaultEvents::PayoutExecuted(vault::PayoutExecuted { requestId, token, to, amount }) => {
                Self::PayoutExecuted(VaultPayout { request_id: requestId, token, to, amount })
            }
            SettlementVaultEvents::RequestCancelled(vault::RequestCancelled {
                requestId,
                token,
                to,
                amount,
                by,
            }) => Self::RequestCancelled {
                payout: VaultPayout { request_id: requestId, token, to, amount },
                by,
            },
        }))
    }

    /// Which request has ended.
    pub const fn request_id(&self) -> B256 {
        match self {
            Self::PayoutExecuted(payout) | Self::RequestCancelled { payout, .. } => payout.request_id,
        }
    }
}
