//! Decides whether a range failed because of its size.
//!
//! Providers limit `eth_getLogs` in words of their own, cut the body, or stop answering.
//! No list of wordings is complete, so the rule is learned from what happens:
//!
//! ```text
//! range fails ─► one block of it passes ─► range fails again ─► one block passes ─► the range is too large
//!                     │ fails                   │ passes             │ fails
//!                     ▼                         ▼                    ▼
//!              the endpoint is failing     a passing fault     the endpoint is failing
//! ```
//!
//! A refusal whose words were once found to mean "too large" is believed at once the next
//! time, until a single block is refused in the same words. Known wordings skip the probes,
//! because they say so themselves.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::range::BlockRange;
use windlass_core::reader::LogFilter;

use super::check::range_logs;
use super::client::EvmRpc;
use super::error::RpcError;
use super::log::RpcLog;
use super::range_limit::{RangeAdvice, RangeLimit};
use super::reader::is_unknown_block;

/// How long a probe of one block may take: an endpoint that hangs is failing.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often range and single block are asked for in turn before the size is blamed.
const ROUNDS: u32 = 2;
/// So many ranges must have been refused for the rate …
const MIN_LIMITED_RANGES: u32 = 4;
/// … and for so long, with none that passed, before their size is suspected.
const LIMITED_FOR: Duration = Duration::from_secs(10);
/// The most wordings that are remembered for one endpoint.
const MAX_LEARNED_WORDINGS: usize = 16;

/// The wordings by which one endpoint was found to refuse large ranges.
#[derive(Debug, Default)]
pub(crate) struct RangeProbe {
    learned: Mutex<VecDeque<Wording>>,
    /// Since when every range is refused for the rate, and how many were.
    limited: Mutex<Option<(Instant, u32)>>,
}

/// A refusal without what differs from one to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wording {
    code: i64,
    words: String,
}

impl Wording {
    /// The code and the letters of a JSON-RPC refusal; numbers differ from range to range.
    fn of(error: &RpcError) -> Option<Self> {
        let (code, message) = match error {
            RpcError::Refused { code, message, .. } => (*code, message),
            RpcError::RateLimited { code: Some(code), message, .. } => (*code, message),
            _ => return None,
        };
        let words: String = message.split_whitespace().filter(|word| is_a_word(word)).collect();
        Some(Self { code, words })
    }
}

fn is_a_word(text: &str) -> bool {
    !text.contains(|c: char| c.is_ascii_digit())
}

impl RangeProbe {
    /// The logs of a range of more than one block that has just failed, if it was a passing
    /// fault; [`RpcError::RangeTooLarge`] if smaller ranges pass; else the failure as it was.
    pub(crate) async fn after_failure(
        &self,
        rpc: &EvmRpc,
        range: BlockRange,
        filter: &LogFilter,
        failure: RpcError,
    ) -> Result<Vec<RpcLog>, RpcError> {
        let is_always_limited = matches!(failure, RpcError::RateLimited { is_certain: true, .. })
            && self.is_always_limited(Instant::now());
        let may_be_size = |error: &RpcError| is_always_limited || may_be_size(error);
        if !may_be_size(&failure) {
            return Err(failure);
        }
        if self.is_learned(&failure) {
            return Err(too_large(rpc, &failure));
        }
        let mut failure = failure;
        for round in 1..=ROUNDS {
            // The first block may be the very one that fails.
            if !self.one_block_passes(rpc, range.from, filter).await
                && !self.one_block_passes(rpc, range.to, filter).await
            {
                return Err(failure);
            }
            if round == ROUNDS || matches!(failure, RpcError::Timeout { .. }) {
                break;
            }
            failure = match range_logs(rpc, range, filter).await {
                Ok(logs) => return Ok(logs),
                Err(error) if !may_be_size(&error) => return Err(error),
                Err(error) => error,
            };
        }
        self.learn(&failure);
        self.range_passed();
        Err(too_large(rpc, &failure))
    }

    /// Notes that a range was refused for the rate. Says whether none has passed for so long that
    /// its size may be the cause: some providers answer so to whatever is too much.
    fn is_always_limited(&self, now: Instant) -> bool {
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = limited.map_or((now, 1), |(since, count)| (since, count + 1));
        *limited = Some((since, count));
        count >= MIN_LIMITED_RANGES && now.duration_since(since) >= LIMITED_FOR
    }

    /// A range was answered.
    pub(crate) fn range_passed(&self) {
        *self.limited.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn one_block_passes(&self, rpc: &EvmRpc, block: u64, filter: &LogFilter) -> bool {
        let single = BlockRange { from: block, to: block };
        match tokio::time::timeout(PROBE_TIMEOUT, range_logs(rpc, single, filter)).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                self.forget(&error);
                false
            }
            Err(_) => false,
        }
    }

    fn is_learned(&self, error: &RpcError) -> bool {
        Wording::of(error).is_some_and(|wording| self.lock().contains(&wording))
    }

    fn learn(&self, error: &RpcError) {
        let Some(wording) = Wording::of(error) else { return };
        let mut learned = self.lock();
        if !learned.contains(&wording) {
            learned.push_back(wording);
        }
        if learned.len() > MAX_LEARNED_WORDINGS {
            learned.pop_front();
        }
    }

    /// One block was refused in these words: they do not speak of the size.
    pub(crate) fn forget(&self, error: &RpcError) {
        if let Some(wording) = Wording::of(error) {
            self.lock().retain(|known| *known != wording);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Wording>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the size of the range may be the cause. A plain rate limit and an endpoint that
/// cannot be used at all have causes of their own; a range limit that is said is known.
fn may_be_size(error: &RpcError) -> bool {
    match error {
        RpcError::RateLimited { is_certain, .. } => !is_certain,
        RpcError::Status { status, .. } => !matches!(status, 401..=404),
        RpcError::Refused { message, .. } => !is_unknown_block(message),
        RpcError::Timeout { .. } | RpcError::Connection { .. } | RpcError::Malformed { .. } => true,
        RpcError::RangeTooLarge { .. } | RpcError::BodyTooLarge { .. } | RpcError::Url { .. } => false,
    }
}

fn too_large(rpc: &EvmRpc, failure: &RpcError) -> RpcError {
    RpcError::RangeTooLarge {
        place: rpc.place().to_owned(),
        message: format!("smaller ranges pass where this one fails: {failure}"),
        advice: RangeAdvice::Smaller,
        limit: match failure {
            RpcError::Timeout { .. } | RpcError::Status { status: 408 | 504 | 524, .. } => RangeLimit::Time,
            _ => RangeLimit::Unexplained,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i64, message: &str) -> RpcError {
        let (place, method) = ("p".to_owned(), "eth_getLogs".to_owned());
        RpcError::Refused { place, method, code, message: message.to_owned() }
    }

    #[test]
    fn a_wording_is_recognised_whatever_numbers_it_has() {
        let probe = RangeProbe::default();
        probe.learn(&refused(35, "ranges over 100 blocks are not supported on freetier"));
        assert!(probe.is_learned(&refused(35, "ranges over 50 blocks are not supported on freetier")));
        assert!(!probe.is_learned(&refused(36, "ranges over 50 blocks are not supported on freetier")));
        assert!(!probe.is_learned(&refused(35, "internal error")));
        probe.forget(&refused(35, "ranges over 1 blocks are not supported on freetier"));
        assert!(!probe.is_learned(&refused(35, "ranges over 50 blocks are not supported on freetier")));
    }

    #[test]
    fn learned_wordings_are_bounded() {
        let probe = RangeProbe::default();
        (0..100).for_each(|code| probe.learn(&refused(code, "no")));
        assert_eq!(probe.lock().len(), MAX_LEARNED_WORDINGS);
        assert!(probe.is_learned(&refused(99, "no")) && !probe.is_learned(&refused(0, "no")));
    }
}
