//! Caps on the blocks of an `eth_getLogs` that no list of wordings covers: unknown
//! words, words that mean something else elsewhere, or no answer at all.

use std::time::Duration;

use super::{fate::WireFault, plan::DEFAULT_HOLD_MS, wording};
use crate::node::RpcError;

/// What happens to a range of more blocks than the cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeRefusal {
    /// A code and words drawn from the seed; the same for a whole run.
    Random,
    /// Code 35, as dRPC's free tier answers.
    Drpc,
    /// Code -32005 and "limit exceeded", which others say of a rate.
    LimitExceeded,
    /// The body ends before its `Content-Length`.
    Cut,
    /// No answer, then a reset.
    Hang,
}

impl RangeRefusal {
    /// All of them, for listings and tests.
    pub const ALL: [Self; 5] = [Self::Random, Self::Drpc, Self::LimitExceeded, Self::Cut, Self::Hang];

    /// The name in a plan's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Drpc => "drpc",
            Self::LimitExceeded => "limit-exceeded",
            Self::Cut => "cut",
            Self::Hang => "hang",
        }
    }

    /// The error that is answered, unless the connection fails instead.
    pub(super) fn error(self, blocks: u64, wording: u64) -> Option<RpcError> {
        match self {
            Self::Random => Some(wording::error(wording)),
            Self::Drpc => Some(RpcError::new(
                35,
                format!(
                    "ranges over {blocks} blocks are not supported on freetier, please upgrade to paid tier"
                ),
            )),
            Self::LimitExceeded => Some(RpcError::new(-32005, "limit exceeded")),
            Self::Cut | Self::Hang => None,
        }
    }

    /// What the connection suffers instead of an answer.
    pub(super) fn wire_fault(self) -> Option<WireFault> {
        match self {
            Self::Cut => Some(WireFault::Truncate),
            Self::Hang => {
                Some(WireFault::TimeOut { hold: Duration::from_millis(u64::from(DEFAULT_HOLD_MS)) })
            }
            Self::Random | Self::Drpc | Self::LimitExceeded => None,
        }
    }
}
