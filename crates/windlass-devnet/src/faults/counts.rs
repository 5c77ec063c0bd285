//! How often each kind of fault really happened.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

/// The kinds of faults, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An answer was delayed.
    Latency,
    /// HTTP 429.
    TooManyRequests,
    /// A rate limit told in a JSON-RPC error.
    RateLimitBody,
    /// An HTTP status from 500 to 599.
    ServerError,
    /// No answer.
    TimeOut,
    /// A reset connection.
    Reset,
    /// A body that ended early.
    Truncate,
    /// Another chain's id.
    ChainId,
    /// Null for a receipt that exists.
    NullReceipts,
    /// A refused `eth_getLogs`.
    LogLimit,
    /// A refused batch.
    BatchLimit,
    /// An answer of a node that had not seen the newest blocks.
    Lag,
    /// A call or batch beyond a rate limit.
    Rate,
    /// An error in words that nobody knows.
    Refuse,
    /// No logs where there are some.
    LieEmpty,
    /// An answer without one of its logs.
    LieMissing,
    /// A log with another block's number.
    LieNumber,
    /// A log with another block hash.
    LieHash,
    /// A log with another time.
    LieTime,
    /// A log that came twice.
    LieRepeat,
    /// A block with another parent.
    LieParent,
    /// A block with logs and an empty bloom.
    LieBloom,
    /// Logs without their time.
    NoLogTime,
}

impl Kind {
    /// Every kind, in the order of the enum.
    pub const ALL: [Self; 23] = [
        Self::Latency,
        Self::TooManyRequests,
        Self::RateLimitBody,
        Self::ServerError,
        Self::TimeOut,
        Self::Reset,
        Self::Truncate,
        Self::ChainId,
        Self::NullReceipts,
        Self::LogLimit,
        Self::BatchLimit,
        Self::Lag,
        Self::Rate,
        Self::Refuse,
        Self::LieEmpty,
        Self::LieMissing,
        Self::LieNumber,
        Self::LieHash,
        Self::LieTime,
        Self::LieRepeat,
        Self::LieParent,
        Self::LieBloom,
        Self::NoLogTime,
    ];

    /// A name to print.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::TooManyRequests => "429",
            Self::RateLimitBody => "ratelimit",
            Self::ServerError => "5xx",
            Self::TimeOut => "timeout",
            Self::Reset => "reset",
            Self::Truncate => "truncate",
            Self::ChainId => "chainid",
            Self::NullReceipts => "nullreceipts",
            Self::LogLimit => "logs",
            Self::BatchLimit => "batch",
            Self::Lag => "lag",
            Self::Rate => "rate",
            Self::Refuse => "refuse",
            Self::LieEmpty => "lie-empty",
            Self::LieMissing => "lie-missing",
            Self::LieNumber => "lie-number",
            Self::LieHash => "lie-hash",
            Self::LieTime => "lie-time",
            Self::LieRepeat => "lie-repeat",
            Self::LieParent => "lie-parent",
            Self::LieBloom => "lie-bloom",
            Self::NoLogTime => "nologtime",
        }
    }
}

/// A reading of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u64; Kind::ALL.len()]);

impl Counts {
    /// How often this kind happened.
    pub fn get(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// How often anything happened.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Every kind with its count, those that never happened included.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().zip(self.0)
    }
}

/// One line: `latency=3 429=0 …`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (kind, count)) in self.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            write!(f, "{space}{}={count}", kind.name())?;
        }
        Ok(())
    }
}

/// The counters themselves.
#[derive(Debug, Default)]
pub(super) struct Counters([AtomicU64; Kind::ALL.len()]);

impl Counters {
    pub(super) fn add(&self, kind: Kind) {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Counts {
        Counts(std::array::from_fn(|kind| self.0[kind].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_counter() {
        let counters = Counters::default();
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            (0..=at).for_each(|_| counters.add(kind));
        }
        let counts = counters.read();
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(counts.get(kind), at as u64 + 1);
        }
        assert_eq!(counts.total(), 276);
        assert!(counts.to_string().starts_with("latency=1 429=2 ratelimit=3"));
    }
}
