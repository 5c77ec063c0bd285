//! Endpoints of the vault's chain that do not answer: what the process knows of it, for readiness and
//! for the payouts that wait.
//!
//! A submitter asks the chain twice a second. Failures that pass within [`GRACE`] are no trouble.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::reader::ChainError;

/// Endpoints that have not answered for so long are reported.
pub const GRACE: Duration = Duration::from_secs(30);
/// How each reason begins that payouts wait for.
pub(super) const SUBJECT: &str = "the endpoints of the vault's chain";

/// Endpoints that do not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainTrouble {
    /// Under which code it is explained.
    pub code: Code,
    /// What was said first under that code: what is said later may differ from try to try, and a hold
    /// is written again only if its words change.
    message: String,
    /// When the first question was asked that failed.
    since: Instant,
}

impl ChainTrouble {
    /// Trouble that began with a question at `since`.
    pub fn new(error: &ChainError, since: Instant) -> Self {
        Self { code: error.kind.code(), message: error.to_string(), since }
    }

    /// The same trouble after another failure.
    pub(super) fn after(before: Option<Self>, error: &ChainError, asked_at: Instant) -> Self {
        match before {
            Some(before) if before.code == error.kind.code() => before,
            Some(before) => Self::new(error, before.since),
            None => Self::new(error, asked_at),
        }
    }

    /// Whether it has lasted for longer than the grace.
    pub fn has_lasted(&self) -> bool {
        self.since.elapsed() >= GRACE
    }

    /// For how long it has lasted.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Why payouts wait, in words.
    pub fn reason(&self) -> String {
        let what = match self.code {
            Code::RpcLimited => "are rate limiting",
            Code::RpcUnreachable => "do not answer",
            _ => "do not answer what is asked",
        };
        format!("{SUBJECT} {what}: {}", self.message)
    }
}

/// Whether a payout waits for such trouble to pass.
pub(in crate::pay) fn is_waited_out_by(payout: &Payout) -> bool {
    payout.hold.as_ref().is_some_and(|hold| hold.reason.starts_with(SUBJECT))
}

#[cfg(test)]
mod tests {
    use windlass_core::reader::ChainErrorKind;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn trouble_is_reported_once_it_has_lasted_in_the_words_it_began_with() {
        let error = |kind, words: &str| ChainError::new(kind, words);
        let refused = error(ChainErrorKind::Unreachable, "connection refused");
        let begun = ChainTrouble::after(None, &refused, Instant::now());
        tokio::time::advance(GRACE - Duration::from_millis(1)).await;
        assert!(!begun.has_lasted());
        let reset = error(ChainErrorKind::Unreachable, "connection reset");
        let same = ChainTrouble::after(Some(begun.clone()), &reset, Instant::now());
        assert_eq!(same, begun);
        let limited = error(ChainErrorKind::RateLimited, "429");
        let limited = ChainTrouble::after(Some(same), &limited, Instant::now());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(begun.has_lasted() && limited.has_lasted(), "it is the same silence");
        assert!(begun.reason().contains("do not answer: ") && begun.reason().contains("refused"));
        assert!(limited.reason().contains("are rate limiting: ") && limited.code == Code::RpcLimited);
    }
}
