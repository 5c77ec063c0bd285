//! What the vault says of its rules. From its first block on, these tell who has which role,
//! which tokens it knows, and whom it does not pay.

use alloy_sol_types::{SolEvent, SolEventInterface};

use super::VaultRole;
use crate::chain::{Address, B256};
use crate::event::LogEvent;
use crate::payout::request::VaultRef;
use crate::payout::vault::abi::VaultAdmin::{self as vault, VaultAdminEvents as Events};
use crate::payout::vault::answer::VaultAnswerError;
use crate::reader::LogFilter;

/// A change of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AdminEvent {
    /// An account got a role, or lost it.
    Role {
        /// Which.
        role: VaultRole,
        /// Whose.
        account: Address,
        /// Whether it has it now.
        has: bool,
    },
    /// A token's rules were set.
    Token(Address),
    /// A withdrawal of a token was announced.
    Withdrawal(Address),
    /// An account was put on the denylist, or taken off it.
    Denied {
        /// Which.
        account: Address,
        /// Whether it is on it now.
        denied: bool,
    },
}

/// What to ask a chain for to see these events of a vault.
pub fn filter(vault: Address) -> LogFilter {
    LogFilter { addresses: vec![vault], topics: vec![topics().to_vec()] }
}

/// The first topics of these events.
pub const fn topics() -> [B256; 5] {
    [
        vault::RoleGranted::SIGNATURE_HASH,
        vault::RoleRevoked::SIGNATURE_HASH,
        vault::TokenPolicyChanged::SIGNATURE_HASH,
        vault::EmergencyWithdrawalScheduled::SIGNATURE_HASH,
        vault::DenylistChanged::SIGNATURE_HASH,
    ]
}

impl AdminEvent {
    /// Reads a log. `None` for another event, for another contract's, and for the admin's
    /// own role: the vault tells its one admin when asked.
    pub fn read(vault: VaultRef, log: &LogEvent) -> Result<Option<Self>, VaultAnswerError> {
        let topics = log.topics.as_slice();
        let is_ours = log.chain == vault.chain && log.address == vault.address;
        if !is_ours || !topics.first().is_some_and(|first| self::topics().contains(first)) {
            return Ok(None);
        }
        let event = Events::decode_raw_log(topics, &log.data)
            .map_err(|error| VaultAnswerError::Unreadable { what: "event", reason: error.to_string() })?;
        let role = |id, account, has| VaultRole::of(id).map(|role| Self::Role { role, account, has });
        Ok(match event {
            Events::RoleGranted(event) => role(event.role, event.account, true),
            Events::RoleRevoked(event) => role(event.role, event.account, false),
            Events::TokenPolicyChanged(event) => Some(Self::Token(event.token)),
            Events::EmergencyWithdrawalScheduled(event) => Some(Self::Withdrawal(event.token)),
            Events::DenylistChanged(event) => {
                Some(Self::Denied { account: event.account, denied: event.denied })
            }
        })
    }
}
