//! Why a chain cannot be collected yet: what waiting may change, and what it will not.

use std::time::Duration;

use windlass_chain::evm::RpcError;
use windlass_core::error::StoreError;
use windlass_core::reader::ChainError;
use windlass_engine::collect::error::CollectError;

use super::retry::MayPass;
use crate::failure::Failure;

/// What stands in the way.
#[derive(Debug)]
pub(crate) enum Hurdle {
    /// The endpoints refuse or fail in passing: the same question may be answered later.
    Passing {
        /// With which words.
        failure: Failure,
        /// How long they want to be left alone.
        pause: Duration,
        /// How often a command may ask the same in all.
        tries: u32,
    },
    /// The endpoints give no answer, and waiting alone will hardly change that: a key that is
    /// not accepted, a path that is not there.
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
        Self::of(MayPass::retry(&error), error.into())
    }
}

impl Hurdle {
    fn of(retry: Option<(Duration, u32)>, failure: Failure) -> Self {
        match retry {
            Some((pause, tries)) => Self::Passing { failure, pause, tries },
            None => Self::Silent(failure),
        }
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
            other => Self::of(MayPass::retry(&other), other.into()),
        }
    }
}

impl From<Hurdle> for Failure {
    fn from(hurdle: Hurdle) -> Self {
        match hurdle {
            Hurdle::Passing { failure, .. } | Hurdle::Silent(failure) | Hurdle::Wrong(failure) => failure,
            Hurdle::Store(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_pass_unless_a_key_or_a_path_is_wrong() {
        let place = || "here".to_owned();
        let passes = |error: RpcError| {
            let through_pool = Hurdle::from(ChainError::from(error.clone()));
            let is_passing = |hurdle: &Hurdle| matches!(hurdle, Hurdle::Passing { .. });
            assert_eq!(is_passing(&through_pool), is_passing(&Hurdle::from(error.clone())), "{error}");
            is_passing(&through_pool)
        };
        assert!(passes(RpcError::Timeout { place: place(), limit_ms: 1 }));
        assert!(passes(RpcError::Connection { place: place(), reason: "reset".into(), was_connected: true }));
        let (message, retry_after) = ("slow down".to_owned(), None);
        assert!(passes(RpcError::RateLimited {
            place: place(),
            message,
            code: None,
            is_certain: true,
            retry_after
        }));
        let (method, message) = ("eth_chainId".to_owned(), "not on this plan today".to_owned());
        assert!(passes(RpcError::Refused { place: place(), method, code: 35, message }));
        for status in [408, 500, 502, 503, 504] {
            assert!(passes(RpcError::Status { place: place(), status }), "{status}");
        }
        for status in [400, 401, 403, 404] {
            assert!(!passes(RpcError::Status { place: place(), status }), "{status}");
        }
        assert!(matches!(Hurdle::from(RpcError::Url { place: place() }), Hurdle::Wrong(_)));
    }
}
