//! What those tell the vault who set its rules, and how that reads.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `form` | calls as the contract reads them |
//! | [`ask`] | what the vault is asked about its rules, and what it answers |
//! | [`refusal`] | why it would not take such a call |
//! | [`event`] | what it says of its rules: an [`AdminEvent`](event::AdminEvent) |
//! | [`limit`] | which limits a token can have |
//! | [`deploy`] | putting a vault on a chain |
//! | [`code`] | whether what stands on a chain is this vault |

pub mod ask;
pub mod code;
pub mod deploy;
pub mod event;
mod form;
pub mod limit;
pub mod refusal;
#[cfg(test)]
mod tests;

use std::fmt;

use alloy_primitives::keccak256;
use alloy_sol_types::{SolCall, SolInterface};

use super::abi::VaultAdmin::VaultAdminCalls as Calls;
use super::calldata::VaultPayout;
use crate::chain::{Address, B256, Bytes, U256};

/// Of an emergency withdrawal: whatever the vault holds when it is carried out.
pub const EVERYTHING: U256 = U256::MAX;

/// A role that the admin gives and takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VaultRole {
    /// Pays.
    Operator,
    /// Stops: can only make the vault stricter.
    Guardian,
}

impl VaultRole {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Operator, Self::Guardian];

    /// Its name in the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "OPERATOR_ROLE",
            Self::Guardian => "GUARDIAN_ROLE",
        }
    }

    /// What the contract knows it by.
    pub fn id(self) -> B256 {
        keccak256(self.as_str())
    }

    /// The role that is known by this.
    pub fn of(id: B256) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.id() == id)
    }
}

impl fmt::Display for VaultRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the admin's role is known by; it is handed over, and never granted.
pub fn admin_role() -> B256 {
    keccak256("ADMIN_ROLE")
}

/// A call of one who sets the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AdminCall {
    /// Stops payouts.
    Pause,
    /// Lets them go on.
    Unpause,
    /// Makes a token payable or not, and sets its limits.
    SetToken {
        /// The token's contract, or [`NATIVE_COIN`](crate::money::NATIVE_COIN).
        token: Address,
        /// Whether it is payable.
        enabled: bool,
        /// The most of one payout; zero for no limit.
        payout_limit: U256,
        /// The most of a day; zero for no limit.
        day_limit: U256,
    },
    /// Puts an account on the denylist.
    Deny(Address),
    /// Takes it off.
    Allow(Address),
    /// Makes sure that a request is never paid.
    CancelRequest(VaultPayout),
    /// Gives a role.
    GrantRole(VaultRole, Address),
    /// Takes it away.
    RevokeRole(VaultRole, Address),
    /// Announces another risk signer; the zero address for none.
    ScheduleRiskSigner(Address),
    /// Drops what was announced.
    CancelRiskSigner,
    /// Puts the announced one in force.
    ApplyRiskSigner,
    /// Takes the risk signer's power at once, and pauses.
    RevokeRiskSigner,
    /// Announces another admin.
    ScheduleAdminTransfer(Address),
    /// Drops what was announced.
    CancelAdminTransfer,
    /// Takes the admin's role over.
    AcceptAdminTransfer,
    /// Sends a token on that was never payable.
    Sweep {
        /// The token's contract.
        token: Address,
        /// Who gets it.
        to: Address,
        /// How much, in base units.
        amount: U256,
    },
    /// Announces a withdrawal to the treasury.
    ScheduleEmergencyWithdrawal {
        /// The token's contract.
        token: Address,
        /// How much, in base units, or [`EVERYTHING`].
        amount: U256,
    },
    /// Drops what was announced.
    CancelEmergencyWithdrawal(Address),
    /// Carries out what was announced.
    ExecuteEmergencyWithdrawal(Address),
}

/// An argument, by what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Somebody, or something.
    Account(Address),
    /// A token's contract.
    Token(Address),
    /// Yes or no.
    Flag(bool),
    /// A role.
    Role(VaultRole),
    /// A request's id.
    Request(B256),
    /// Base units of a token.
    Amount(Address, U256),
    /// The same; zero stands for no limit.
    Limit(Address, U256),
}

impl fmt::Display for Argument {
    /// As an ABI's tools write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) | Self::Token(address) => address.fmt(f),
            Self::Flag(flag) => flag.fmt(f),
            Self::Role(role) => role.id().fmt(f),
            Self::Request(id) => id.fmt(f),
            Self::Amount(_, units) | Self::Limit(_, units) => units.fmt(f),
        }
    }
}

/// The bytes are no such call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are no call that sets a vault's rules: {0}")]
pub struct AdminCallError(String);

impl AdminCall {
    /// The bytes to be sent.
    pub fn calldata(&self) -> Bytes {
        self.contract_form().abi_encode().into()
    }

    /// Reads them back, to the last bit.
    pub fn read(data: &[u8]) -> Result<Self, AdminCallError> {
        let call = Calls::abi_decode_validate(data).map_err(|error| AdminCallError(error.to_string()))?;
        Self::from_contract_form(call)
    }

    /// The function with its types, as `pause()`.
    pub fn signature(&self) -> &'static str {
        Calls::signature_by_selector(self.contract_form().selector()).unwrap_or_default()
    }

    /// The function's name, as `pause`.
    pub fn function(&self) -> &'static str {
        self.signature().split_once('(').map_or("", |(name, _)| name)
    }

    /// What it is called with, under the contract's own names, in order.
    pub fn arguments(&self) -> Vec<(&'static str, Argument)> {
        use Argument::{Account, Amount, Flag, Limit, Request, Role, Token};
        match *self {
            Self::Pause
            | Self::Unpause
            | Self::CancelRiskSigner
            | Self::ApplyRiskSigner
            | Self::RevokeRiskSigner
            | Self::CancelAdminTransfer
            | Self::AcceptAdminTransfer => vec![],
            Self::SetToken { token, enabled, payout_limit, day_limit } => vec![
                ("token", Token(token)),
                ("enabled", Flag(enabled)),
                ("payoutLimit", Limit(token, payout_limit)),
                ("dayLimit", Limit(token, day_limit)),
            ],
            Self::Deny(account) | Self::Allow(account) | Self::ScheduleAdminTransfer(account) => {
                vec![("account", Account(account))]
            }
            Self::CancelRequest(VaultPayout { request_id, token, to, amount }) => vec![
                ("requestId", Request(request_id)),
                ("token", Token(token)),
                ("to", Account(to)),
                ("amount", Amount(token, amount)),
            ],
            Self::GrantRole(role, account) | Self::RevokeRole(role, account) => {
                vec![("role", Role(role)), ("account", Account(account))]
            }
            Self::ScheduleRiskSigner(signer) => vec![("signer", Account(signer))],
            Self::Sweep { token, to, amount } => {
                vec![("token", Token(token)), ("to", Account(to)), ("amount", Amount(token, amount))]
            }
            Self::ScheduleEmergencyWithdrawal { token, amount } => {
                vec![("token", Token(token)), ("amount", Amount(token, amount))]
            }
            Self::CancelEmergencyWithdrawal(token) | Self::ExecuteEmergencyWithdrawal(token) => {
                vec![("token", Token(token))]
            }
        }
    }
}

/// The bytes of a question without arguments.
fn encode<C: SolCall>(call: &C) -> Bytes {
    call.abi_encode().into()
}
