//! Why a step of paying did not come to its end.

use std::time::Duration;

use windlass_core::code::Code;
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::name::NameError;
use windlass_core::payout::ledger::IllegalMove;
use windlass_core::payout::signer::SignerError;
use windlass_core::payout::vault::answer::VaultAnswerError;
use windlass_core::reader::ChainError;

/// Whoever was refused because another was quicker looks again after this.
pub(super) const OVERTAKEN_PAUSE: Duration = Duration::from_millis(20);
/// Whatever else goes wrong is tried again after this: paying never gives up.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);

/// Why a step did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The endpoint.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The signer.
    #[error(transparent)]
    Signer(#[from] SignerError),
    /// The vault, or what stands in its place.
    #[error(transparent)]
    Vault(#[from] VaultAnswerError),
    /// A step that no payout can take.
    #[error(transparent)]
    Move(#[from] IllegalMove),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The endpoints serve another chain of the same id than the one that the vault is known on.
    #[error("{0}")]
    OtherChain(String),
    /// Something stored that no loop has written.
    #[error("what is stored of {what} makes no sense: {reason}")]
    Strange {
        /// Of what.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl PayError {
    /// Something stored that makes no sense.
    pub(super) fn strange(what: impl ToString, reason: impl ToString) -> Self {
        Self::Strange { what: what.to_string(), reason: reason.to_string() }
    }

    /// Whether somebody else was quicker: what was decided is to be decided anew.
    pub fn is_overtaken(&self) -> bool {
        matches!(self, Self::Store(StoreError::Stale(_) | StoreError::Fenced { .. }))
    }

    /// The code under which this error is explained.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Chain(error) => error.kind.code(),
            Self::OtherChain(_) => Code::FinalityViolated,
            _ => Code::DatabaseFailed,
        }
    }

    /// When to try the step again. RPC and database trouble is never the end of a payout.
    pub fn retry(&self) -> RetryAdvice {
        if self.is_overtaken() {
            return RetryAdvice::After(OVERTAKEN_PAUSE);
        }
        let advice = match self {
            Self::Store(StoreError::Closed) => return RetryAdvice::Never,
            Self::Store(error) => error.retry(),
            Self::Chain(error) => error.retry,
            Self::Signer(error) => error.retry,
            _ => RetryAdvice::Never,
        };
        match advice {
            RetryAdvice::After(delay) => RetryAdvice::After(delay),
            RetryAdvice::Never => RetryAdvice::After(TROUBLE_PAUSE),
        }
    }
}
