//! What can go wrong with an endpoint, and whether it is worth trying again.

use std::time::Duration;

use windlass_core::code::Code;
use windlass_core::error::RetryAdvice;

use super::range_limit::{RangeAdvice, RangeLimit};

/// How long to leave an endpoint alone that asked for it without saying how long.
const RATE_LIMIT_PAUSE: Duration = Duration::from_millis(100);
/// How long to leave an endpoint alone after trouble that may pass.
const TROUBLE_PAUSE: Duration = Duration::from_secs(1);
/// However long an endpoint asks to be left alone, it is tried again after this.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// An endpoint's refusal or failure. `place` is scheme, host and port: never a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RpcError {
    /// The text is no URL of an endpoint.
    #[error("{place} is not an HTTP endpoint, nor a WebSocket")]
    Url {
        /// Which endpoint.
        place: String,
    },
    /// No connection, or it broke.
    #[error("{place} cannot be reached: {reason}")]
    Connection {
        /// Which endpoint.
        place: String,
        /// Why.
        reason: String,
        /// Whether there was a connection, and it broke before the answer was whole.
        was_connected: bool,
    },
    /// No whole answer in time.
    #[error("{place} did not answer within {limit_ms} ms")]
    Timeout {
        /// Which endpoint.
        place: String,
        /// How long was waited.
        limit_ms: u64,
    },
    /// Too many requests.
    #[error("{place} wants fewer requests: {message}")]
    RateLimited {
        /// Which endpoint.
        place: String,
        /// Its words.
        message: String,
        /// The JSON-RPC code, if it came with one.
        code: Option<i64>,
        /// Whether it said so plainly; otherwise its code may mean another limit as well.
        is_certain: bool,
        /// How long it wants to be left alone, if it said so.
        retry_after: Option<Duration>,
    },
    /// The log range or its result is too large for the provider.
    #[error("{place} wants a smaller range: {message}")]
    RangeTooLarge {
        /// Which endpoint.
        place: String,
        /// Its words.
        message: String,
        /// What it proposes.
        advice: RangeAdvice,
        /// What it counts.
        limit: RangeLimit,
    },
    /// The answer is longer than is read.
    #[error("{place} sent more than {limit_bytes} bytes")]
    BodyTooLarge {
        /// Which endpoint.
        place: String,
        /// What is read at most.
        limit_bytes: usize,
    },
    /// An HTTP status other than success, without a JSON-RPC error.
    #[error("{place} answered with status {status}")]
    Status {
        /// Which endpoint.
        place: String,
        /// The status.
        status: u16,
    },
    /// A JSON-RPC error.
    #[error("{place} refused {method}: {message} (code {code})")]
    Refused {
        /// Which endpoint.
        place: String,
        /// What was asked.
        method: String,
        /// The JSON-RPC code.
        code: i64,
        /// Its words.
        message: String,
    },
    /// An answer that is not what the method promises.
    #[error("{place} sent an answer to {method} that makes no sense: {reason}")]
    Malformed {
        /// Which endpoint.
        place: String,
        /// What was asked.
        method: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl RpcError {
    /// Whether and when to ask the same endpoint the same thing again.
    pub fn retry(&self) -> RetryAdvice {
        match self {
            Self::RateLimited { retry_after, .. } => {
                RetryAdvice::After(retry_after.unwrap_or(RATE_LIMIT_PAUSE).min(MAX_PAUSE))
            }
            Self::Connection { .. } | Self::Timeout { .. } | Self::Malformed { .. } => {
                RetryAdvice::After(TROUBLE_PAUSE)
            }
            Self::Status { status: 408 | 500..=599, .. } => RetryAdvice::After(TROUBLE_PAUSE),
            // Internal error, and geth's general code for "not now".
            Self::Refused { code: -32603 | -32000, .. } => RetryAdvice::After(TROUBLE_PAUSE),
            Self::Url { .. }
            | Self::RangeTooLarge { .. }
            | Self::BodyTooLarge { .. }
            | Self::Status { .. }
            | Self::Refused { .. } => RetryAdvice::Never,
        }
    }

    /// The code under which this error is explained.
    pub fn code(&self) -> Code {
        match self {
            Self::Url { .. } | Self::Connection { .. } | Self::Timeout { .. } => Code::RpcUnreachable,
            Self::RateLimited { .. } | Self::RangeTooLarge { .. } => Code::RpcLimited,
            Self::BodyTooLarge { .. }
            | Self::Status { .. }
            | Self::Refused { .. }
            | Self::Malformed { .. } => Code::RpcFailed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(retry_after: Option<Duration>) -> RetryAdvice {
        let (place, message) = ("p".into(), "m".into());
        RpcError::RateLimited { place, message, code: None, is_certain: true, retry_after }.retry()
    }

    #[test]
    fn an_endpoint_is_left_alone_as_long_as_it_asks_within_reason() {
        assert_eq!(limited(None), RetryAdvice::After(RATE_LIMIT_PAUSE));
        assert_eq!(limited(Some(Duration::from_secs(7))), RetryAdvice::After(Duration::from_secs(7)));
        assert_eq!(limited(Some(Duration::from_secs(86_400))), RetryAdvice::After(MAX_PAUSE));
    }

    #[test]
    fn what_a_repetition_cannot_change_is_not_repeated() {
        let status = |status| RpcError::Status { place: "p".into(), status }.retry();
        assert_eq!(status(401), RetryAdvice::Never);
        assert_eq!(status(503), RetryAdvice::After(TROUBLE_PAUSE));
    }
}
