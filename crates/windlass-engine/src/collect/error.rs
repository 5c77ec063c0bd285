//! Why a step of collecting did not come to its end.

use std::time::Duration;

use windlass_core::chain::{BlockRef, ChainId};
use windlass_core::code::Code;
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::name::NameError;
use windlass_core::plan::MAX_PLAN_BYTES;
use windlass_core::reader::{ChainError, ChainErrorKind};

/// Whoever was refused because another took over asks again after this.
const TAKEN_OVER_PAUSE: Duration = Duration::from_millis(50);
/// A block that is too large by itself is asked for again after this.
const LARGE_BLOCK_PAUSE: Duration = Duration::from_secs(1);
/// A store in trouble is asked again after this.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// An endpoint that refuses for good is asked again after this.
const REFUSED_PAUSE: Duration = Duration::from_secs(5);
/// A chain that stands still is looked at again after this.
const HALTED_PAUSE: Duration = Duration::from_secs(5);

/// Why a step did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The endpoint.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A block that was final is no longer on the chain.
    #[error(
        "chain {chain} no longer has block {block}, which was final: collecting it has stopped{}",
        shared_blocks(*rewind_to, *has_stored)
    )]
    FinalityViolated {
        /// The chain.
        chain: ChainId,
        /// The lowest stored block that is gone.
        block: BlockRef,
        /// Where an operator can go back to, where it was looked for.
        rewind_to: Option<u64>,
        /// Whether the chain has what is stored up to that block, and something is stored there.
        has_stored: bool,
    },
    /// Somebody else is repairing the chain, or takes it back.
    #[error("another process is repairing or rewinding chain {chain}")]
    Mending {
        /// The chain.
        chain: ChainId,
    },
    /// Something stored that no loop has written.
    #[error("what is stored as {what} makes no sense: {reason}")]
    Strange {
        /// Under which name.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More is wanted of a chain than its ledger can hold. What was planned before goes on.
    #[error(
        "the ledger of {sources} sources takes {bytes} bytes and has room for {MAX_PLAN_BYTES}: \
         collect fewer contracts or events of this chain, or pause fewer times"
    )]
    PlanTooLarge {
        /// How many sources there are, or were.
        sources: usize,
        /// How many bytes it takes.
        bytes: usize,
    },
    /// The store refuses for good to record that a range has failed.
    #[error("what became of a range could not be written: {0}")]
    Unwritten(StoreError),
}

/// What of the stored blocks the chain still has, as a message ends.
fn shared_blocks(rewind_to: Option<u64>, has_stored: bool) -> String {
    match rewind_to {
        Some(block) if has_stored => format!("; up to block {block} the chain has what is stored"),
        Some(_) => "; the chain has none of the blocks that are stored".to_owned(),
        None => String::new(),
    }
}

impl CollectError {
    /// Something stored that makes no sense.
    pub(super) fn strange(what: impl ToString, reason: impl ToString) -> Self {
        Self::Strange { what: what.to_string(), reason: reason.to_string() }
    }

    /// A final block that is gone, before it was looked where an operator can go back to.
    pub(super) const fn final_block_gone(chain: ChainId, block: BlockRef) -> Self {
        Self::FinalityViolated { chain, block, rewind_to: None, has_stored: false }
    }

    /// The code under which this error is explained.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) | Self::Unwritten(error) => error.code(),
            Self::Chain(error) => error.kind.code(),
            Self::FinalityViolated { .. } => Code::FinalityViolated,
            Self::Mending { .. } => Code::DatabaseBusy,
            Self::PlanTooLarge { .. } => Code::ConfigInvalid,
            Self::Name(_) | Self::Strange { .. } => Code::DatabaseFailed,
        }
    }

    /// Whether and when to try the step again.
    pub fn retry(&self) -> RetryAdvice {
        match self {
            // A cursor that has moved in between: the next step looks anew.
            Self::Store(StoreError::Fenced { .. } | StoreError::Busy | StoreError::CursorConflict { .. }) => {
                RetryAdvice::After(TAKEN_OVER_PAUSE)
            }
            // It passes, or the next step looks what became of it.
            Self::Store(error)
                if error.is_passing() || matches!(error, StoreError::OutcomeUnknown { .. }) =>
            {
                match error.retry() {
                    RetryAdvice::Never => RetryAdvice::After(STORE_PAUSE),
                    after => after,
                }
            }
            Self::Store(error) => error.retry(),
            // One block cannot be asked for in parts; a node that found it too large was in trouble.
            Self::Chain(ChainError { kind: ChainErrorKind::RangeTooLarge { .. }, .. }) => {
                RetryAdvice::After(LARGE_BLOCK_PAUSE)
            }
            Self::Chain(error) => error.retry,
            Self::FinalityViolated { .. } | Self::Mending { .. } => RetryAdvice::After(HALTED_PAUSE),
            Self::PlanTooLarge { .. } | Self::Name(_) | Self::Strange { .. } | Self::Unwritten(_) => {
                RetryAdvice::Never
            }
        }
    }

    /// The same for a loop: however an endpoint refuses, it may be mended while the process
    /// runs, and one chain's endpoints do not end the work on others. Nor does what somebody
    /// must mend about one chain: a row of another block where one is to be stored, or more
    /// sources than its ledger holds.
    pub(super) fn retry_in_loop(&self) -> RetryAdvice {
        match (self, self.retry()) {
            (Self::Chain(_), RetryAdvice::Never) => RetryAdvice::After(REFUSED_PAUSE),
            (Self::Store(StoreError::EventConflict { .. }) | Self::PlanTooLarge { .. }, _) => {
                RetryAdvice::After(HALTED_PAUSE)
            }
            (_, advice) => advice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_mended_about_one_chain_ends_no_loop() {
        let conflict = StoreError::EventConflict { chain: 1, count: 1 };
        for error in [conflict.into(), CollectError::PlanTooLarge { sources: 1, bytes: 2 }] {
            assert_eq!(error.retry_in_loop(), RetryAdvice::After(HALTED_PAUSE), "{error}");
        }
        let strange = CollectError::strange("a plan", "no JSON");
        assert_eq!(strange.retry_in_loop(), RetryAdvice::Never, "nobody can go on from there");
    }
}
