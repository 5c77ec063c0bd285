//! Why a chain cannot be collected yet: what waiting may change, and what it will not.

use windlass_chain::evm::RpcError;
use windlass_core::error::StoreError;
use windlass_core::reader::ChainError;
use windlass_engine::collect::error::CollectError;

use crate::failure::Failure;

/// What stands in the way.
#[derive(Debug)]
pub(crate) enum Hurdle {
    /// The endpoints give no answer: they may, later.
    Silent(Failure),
    /// They have answered, and something is to be mended.
    Wrong(Failure),
    /// The store is in trouble.
    Store(StoreError),
}

impl From<Failure> for Hurdle {
    fn from(failure: Failure) -> Self {
        Self::Wrong(failure)
    }
}

impl From<StoreError> for Hurdle {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// However an endpoint refuses, it does not tell what was asked.
impl From<ChainError> for Hurdle {
    fn from(error: ChainError) -> Self {
        Self::Silent(error.into())
    }
}

impl From<CollectError> for Hurdle {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Store(error) => error.into(),
            CollectError::Chain(error) => error.into(),
            other => Self::Wrong(other.into()),
        }
    }
}

impl From<RpcError> for Hurdle {
    fn from(error: RpcError) -> Self {
        match error {
            RpcError::Url { .. } => Self::Wrong(error.into()),
            silent => Self::Silent(silent.into()),
        }
    }
}

impl From<Hurdle> for Failure {
    fn from(hurdle: Hurdle) -> Self {
        match hurdle {
            Hurdle::Silent(failure) | Hurdle::Wrong(failure) => failure,
            Hurdle::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_answer_may_become_one_and_a_text_that_is_no_url_never_does() {
        let place = || "here".to_owned();
        let silent = RpcError::Timeout { place: place(), limit_ms: 1 };
        assert!(matches!(Hurdle::from(silent), Hurdle::Silent(_)));
        assert!(matches!(Hurdle::from(RpcError::Status { place: place(), status: 403 }), Hurdle::Silent(_)));
        assert!(matches!(Hurdle::from(RpcError::Url { place: place() }), Hurdle::Wrong(_)));
    }
}
