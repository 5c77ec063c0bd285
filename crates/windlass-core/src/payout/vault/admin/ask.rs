//! What the vault is asked about its rules, and what it answers.

use alloy_sol_types::SolCall;

use super::encode;
use crate::chain::{Address, B256, Bytes, U256};
use crate::payout::vault::abi::VaultAdmin as vault;
use crate::payout::vault::answer::VaultAnswerError;

/// A question, and how its answer is read.
#[derive(Debug, Clone)]
pub struct Question<T> {
    /// What is sent.
    pub data: Bytes,
    read: fn(&[u8]) -> Result<T, VaultAnswerError>,
}

impl<T> Question<T> {
    /// Reads the answer.
    pub fn read(&self, answer: &[u8]) -> Result<T, VaultAnswerError> {
        (self.read)(answer)
    }
}

/// When something that was announced can be carried out, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// From this second on.
    pub ready_at_s: u64,
    /// Up to and with this one.
    pub expires_at_s: u64,
}

/// Where a moment lies, seen from a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before it.
    TooEarly,
    /// In it.
    Open,
    /// Behind it: it has to be announced again.
    TooLate,
}

impl Window {
    /// Where a second lies.
    pub const fn at(self, second: u64) -> Moment {
        if second < self.ready_at_s {
            Moment::TooEarly
        } else if second > self.expires_at_s {
            Moment::TooLate
        } else {
            Moment::Open
        }
    }
}

/// A token's rules, and what has left today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenPolicy {
    /// Whether it is payable.
    pub enabled: bool,
    /// Whether it ever was, so that it cannot be swept.
    pub ever_enabled: bool,
    /// The most of one payout; zero for no limit.
    pub payout_limit: U256,
    /// The most of a day; zero for no limit.
    pub day_limit: U256,
    /// What has left since midnight, UTC.
    pub spent_today: U256,
}

/// The one admin.
pub fn admin() -> Question<Address> {
    Question { data: encode(&vault::adminCall {}), read: read::<vault::adminCall> }
}

/// Whether an account has a role, by what that is known by.
pub fn has_role(role: B256, account: Address) -> Question<bool> {
    Question { data: encode(&vault::hasRoleCall { role, account }), read: read::<vault::hasRoleCall> }
}

/// How long what is announced has to wait, in seconds.
pub fn delay_s() -> Question<u64> {
    Question {
        data: encode(&vault::DELAYCall {}),
        read: |answer| seconds("DELAY", read::<vault::DELAYCall>(answer)?),
    }
}

/// Where emergency withdrawals go.
pub fn treasury() -> Question<Address> {
    Question { data: encode(&vault::TREASURYCall {}), read: read::<vault::TREASURYCall> }
}

/// A token's rules.
pub fn token_policy(token: Address) -> Question<TokenPolicy> {
    Question {
        data: encode(&vault::tokenPolicyCall { token }),
        read: |answer| {
            let told = read::<vault::tokenPolicyCall>(answer)?;
            Ok(TokenPolicy {
                enabled: told.enabled,
                ever_enabled: told.everEnabled,
                payout_limit: told.payoutLimit,
                day_limit: told.dayLimit,
                spent_today: told.spentToday,
            })
        },
    }
}

/// The announced admin, if there is one.
pub fn pending_admin() -> Question<Option<(Address, Window)>> {
    Question {
        data: encode(&vault::pendingAdminCall {}),
        read: |answer| {
            let told = read::<vault::pendingAdminCall>(answer)?;
            Ok(window(told.readyAt, told.expiresAt)?.map(|window| (told.account, window)))
        },
    }
}

/// The announced risk signer, if there is one; the zero address stands for none.
pub fn pending_risk_signer() -> Question<Option<(Address, Window)>> {
    Question {
        data: encode(&vault::pendingRiskSignerCall {}),
        read: |answer| {
            let told = read::<vault::pendingRiskSignerCall>(answer)?;
            Ok(window(told.readyAt, told.expiresAt)?.map(|window| (told.signer, window)))
        },
    }
}

/// The announced withdrawal of a token, if there is one.
pub fn pending_withdrawal(token: Address) -> Question<Option<(U256, Window)>> {
    Question {
        data: encode(&vault::pendingEmergencyWithdrawalCall { token }),
        read: |answer| {
            let told = read::<vault::pendingEmergencyWithdrawalCall>(answer)?;
            Ok(window(told.readyAt, told.expiresAt)?.map(|window| (told.amount, window)))
        },
    }
}

fn window(ready_at: U256, expires_at: U256) -> Result<Option<Window>, VaultAnswerError> {
    if ready_at.is_zero() {
        return Ok(None);
    }
    let (ready_at_s, expires_at_s) = (seconds("readyAt", ready_at)?, seconds("expiresAt", expires_at)?);
    Ok(Some(Window { ready_at_s, expires_at_s }))
}

fn seconds(what: &'static str, number: U256) -> Result<u64, VaultAnswerError> {
    u64::try_from(number).map_err(|error| VaultAnswerError::Unreadable { what, reason: error.to_string() })
}

/// Reads an answer to the last bit.
fn read<C: SolCall>(answer: &[u8]) -> Result<C::Return, VaultAnswerError> {
    crate::payout::vault::answer::read::<C>(answer)
}
