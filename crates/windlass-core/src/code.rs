//! The codes of user-facing errors. Each has a page, shown by `windlass explain`.

use std::fmt;
use std::str::FromStr;

use crate::error::StoreError;
use crate::reader::ChainErrorKind;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        /// A user-facing error's code. Codes are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as printed, such as `W0001`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }
        }
    };
}

codes! {
    /// The configuration file is missing or cannot be read.
    ConfigUnreadable = "W0001";
    /// The configuration has a syntax error, an unknown key or a wrong value.
    ConfigInvalid = "W0002";
    /// A secret's environment variable or file is missing.
    SecretMissing = "W0003";
    /// A configuration file is there already.
    ConfigExists = "W0004";
    /// The database cannot be reached.
    DatabaseUnreachable = "W0101";
    /// The database refused the user or password.
    DatabaseAuth = "W0102";
    /// The database is busy.
    DatabaseBusy = "W0103";
    /// The disk is full.
    DiskFull = "W0104";
    /// The database is read-only.
    DatabaseReadOnly = "W0105";
    /// The database is damaged or not a database.
    DatabaseCorrupt = "W0106";
    /// The database's schema is newer than this binary.
    DatabaseNewer = "W0107";
    /// A lease was taken over.
    LeaseLost = "W0108";
    /// A cursor contradicts what is stored.
    CursorConflict = "W0109";
    /// A stored log contradicts a new one.
    EventConflict = "W0110";
    /// No job has this id.
    JobMissing = "W0111";
    /// The database's schema is older than this binary's and was only to be looked at.
    DatabaseOlder = "W0112";
    /// The answer to a commit was lost, and whether it was made is unknown.
    CommitUnsettled = "W0113";
    /// The database belongs to another program.
    DatabaseForeign = "W0114";
    /// A table of that name holds another event.
    TableConflict = "W0115";
    /// A SQL statement was refused, or ran for too long.
    StatementRefused = "W0116";
    /// The database answered with an error.
    DatabaseFailed = "W0199";
    /// An RPC endpoint cannot be reached.
    RpcUnreachable = "W0201";
    /// An RPC endpoint serves another chain.
    RpcWrongChain = "W0202";
    /// An RPC endpoint answered with an error or with nonsense.
    RpcFailed = "W0203";
    /// An RPC endpoint wants fewer or smaller requests.
    RpcLimited = "W0204";
    /// There is no contract at the address.
    ContractMissing = "W0205";
    /// A final block was replaced by another.
    FinalityViolated = "W0206";
    /// The newest block of a chain's endpoints is old.
    ChainBehind = "W0207";
    /// An endpoint's logs were proven false.
    EndpointFalse = "W0208";
    /// An address or port cannot be listened on.
    ListenFailed = "W0301";
    /// What the store has differs from what the chain has.
    StoreDiffers = "W0401";
    /// Block ranges were given up and are missing.
    RangesMissing = "W0402";
    /// An index was changed in a way that its table cannot follow.
    IndexChanged = "W0403";
    /// There is no such index.
    IndexMissing = "W0404";
    /// Nobody collects a chain.
    ChainUnattended = "W0405";
    /// The chain took back what was being exported.
    TakenBack = "W0406";
    /// Endpoints contradict what is stored, and nothing proves either right.
    BlocksInDoubt = "W0407";
    /// None of a contract's first logs has a configured event's signature.
    EventUnseen = "W0408";
    /// A task failed or panicked.
    TaskFailed = "W0501";
    /// The built-in devnet did not do what it was asked.
    DevnetFailed = "W0502";
    /// Paying is not configured.
    PayMissing = "W0601";
    /// There is no such payout.
    PayoutMissing = "W0602";
    /// The payout, as it stands or as it was asked for, does not allow it.
    PayoutRefused = "W0603";
    /// An idempotency key was used for another payout.
    PayoutKeyReused = "W0604";
    /// A key of the API is missing, unknown, revoked, or does not allow it.
    AccessDenied = "W0605";
    /// A signer's key cannot be used.
    SignerUnusable = "W0606";
    /// There is no vault at the address, or it does not take what it is told.
    VaultUnusable = "W0607";
    /// An account signs nothing until somebody has looked at it.
    SignerHalted = "W0608";
    /// The audit log was tampered with.
    AuditBroken = "W0609";
    /// The vault and the database disagree about a payout.
    VaultDiffers = "W0610";
    /// A transaction was reverted, or did not come through in time.
    TransactionFailed = "W0611";
    /// A row of the ledger was not written by Windlass as it stands.
    RowForged = "W0612";
    /// An account cannot pay for the gas of its transactions.
    SignerShortOfGas = "W0613";
    /// Payouts wait for a vault that no process pays from.
    VaultUnattended = "W0614";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No error has this code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no error has the code `{0}`")]
pub struct UnknownCode(String);

impl FromStr for Code {
    type Err = UnknownCode;
    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let wanted = text.to_ascii_uppercase();
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == wanted)
            .ok_or_else(|| UnknownCode(text.to_owned()))
    }
}

impl StoreError {
    /// The code under which this error is explained.
    pub fn code(&self) -> Code {
        match self {
            Self::Fenced { .. } => Code::LeaseLost,
            Self::CursorConflict { .. } => Code::CursorConflict,
            Self::EventConflict { .. } => Code::EventConflict,
            Self::Busy => Code::DatabaseBusy,
            Self::DiskFull => Code::DiskFull,
            Self::ReadOnly => Code::DatabaseReadOnly,
            Self::Corrupt(_) => Code::DatabaseCorrupt,
            Self::NewerSchema { .. } => Code::DatabaseNewer,
            Self::OlderSchema { .. } => Code::DatabaseOlder,
            Self::OutcomeUnknown { .. } => Code::CommitUnsettled,
            Self::AuthFailed { .. } => Code::DatabaseAuth,
            Self::Unreachable { .. } | Self::Gone { .. } => Code::DatabaseUnreachable,
            Self::Foreign { .. } => Code::DatabaseForeign,
            Self::TableConflict { .. } => Code::TableConflict,
            Self::Forged(_) => Code::RowForged,
            Self::AuditBroken(_) => Code::AuditBroken,
            Self::CursorMissing(_)
            | Self::TableMissing(_)
            | Self::Duplicate { .. }
            | Self::Invalid(_)
            | Self::Stale(_)
            | Self::Forbidden(_)
            | Self::Closed
            | Self::Other(_) => Code::DatabaseFailed,
        }
    }
}

impl ChainErrorKind {
    /// The code under which this trouble is explained.
    pub const fn code(self) -> Code {
        match self {
            Self::Unreachable => Code::RpcUnreachable,
            Self::RateLimited | Self::RangeTooLarge { .. } => Code::RpcLimited,
            Self::UnknownBlock | Self::Unconfirmed | Self::Malformed | Self::Refused => Code::RpcFailed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_ordered_and_read_back() {
        assert!(Code::ALL.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()));
        for code in Code::ALL {
            assert_eq!(code.as_str().to_lowercase().parse(), Ok(*code));
        }
        assert!("W9999".parse::<Code>().is_err());
    }
}
