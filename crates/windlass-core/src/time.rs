//! Instants. Time enters the core as an argument; this is the argument's type.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z. The store's clock decides, not the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant that many milliseconds after the epoch.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds after the epoch.
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// This instant moved later; stays at the end of time instead of wrapping.
    pub fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(duration_ms(delay)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// A duration in whole milliseconds, at most what an `i64` holds.
pub fn duration_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Where instants come from. Stores use their database's clock unless given one of these.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_never_wraps() {
        let end = Timestamp::from_ms(i64::MAX - 1);
        assert_eq!(end.after(Duration::from_secs(10)), Timestamp::from_ms(i64::MAX));
        assert_eq!(Timestamp::from_ms(5).after(Duration::from_millis(7)).as_ms(), 12);
        assert_eq!(duration_ms(Duration::MAX), i64::MAX);
    }
}
