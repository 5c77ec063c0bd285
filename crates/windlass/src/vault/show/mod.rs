//! Everything that there is to know of a vault, at one block.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | what there is to know |
//! | [`history`] | what only events tell: roles, tokens, whom it does not pay |
//! | [`read`] | asking for all of it |
//! | [`text`] | for people |

mod history;
mod read;
mod text;

use serde::Serialize;
use windlass_core::chain::B256;
use windlass_core::money::Token;

use crate::config::address::WrittenAddress;

pub(crate) use read::read;

/// A vault, at one block.
#[derive(Debug, Serialize)]
pub(crate) struct VaultState {
    chain: String,
    chain_id: u64,
    vault: WrittenAddress,
    block: u64,
    block_time_s: u64,
    paused: bool,
    admin: WrittenAddress,
    pending_admin: Option<PendingAccount>,
    /// Whether payouts need an approval.
    approval_required: bool,
    risk_signer: Option<WrittenAddress>,
    pending_risk_signer: Option<PendingAccount>,
    approval_nonce: u64,
    treasury: WrittenAddress,
    delay_s: u64,
    /// What events tell; absent where they were not asked for or cannot be had.
    roles: Option<Roles>,
    /// Why not, where they are absent.
    roles_missing: Option<String>,
    tokens: Vec<TokenState>,
    deployed_at_block: u64,
    code_hash: B256,
    /// Whether it is the contract that this binary carries; absent where that cannot be told.
    code_is_carried: Option<bool>,
}

/// Who has which role, and whom the vault does not pay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Roles {
    operators: Vec<WrittenAddress>,
    guardians: Vec<WrittenAddress>,
    denied: Vec<WrittenAddress>,
}

/// An announced account. In a risk signer's place, the zero address stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct PendingAccount {
    account: WrittenAddress,
    #[serde(flatten)]
    when: When,
}

/// An announced withdrawal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PendingWithdrawal {
    /// Base units; absent for whatever the vault holds then.
    amount: Option<String>,
    #[serde(flatten)]
    when: When,
}

/// When something that was announced can be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct When {
    ready_at_s: u64,
    expires_at_s: u64,
    /// Seen from the block.
    status: &'static str,
}

/// A token's rules. Amounts are base units, as text; a limit that is absent is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TokenState {
    token: WrittenAddress,
    symbol: Option<String>,
    decimals: Option<u8>,
    enabled: bool,
    ever_enabled: bool,
    per_payout: Option<String>,
    per_day: Option<String>,
    spent_today: String,
    /// Absent where there is no limit.
    remaining_today: Option<String>,
    /// Absent where the token does not tell.
    balance: Option<String>,
    pending_withdrawal: Option<PendingWithdrawal>,
    #[serde(skip)]
    known: Option<Token>,
}

impl VaultState {
    /// For people.
    pub(crate) fn render(&self) -> String {
        text::render(self)
    }
}
