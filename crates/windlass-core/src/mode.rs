//! Whether a chain is caught up with, or followed.

use serde::{Deserialize, Serialize};

/// How far behind a collector is, roughly: it decides how long an idle one waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// There is a past to catch up with.
    #[default]
    Historical,
    /// The head is in sight.
    Realtime,
}

/// So many batches behind the head is the past again.
const HISTORICAL_BATCHES: u64 = 5;

impl Mode {
    /// The mode after a look at the lag, in blocks. In sight is what one batch covers;
    /// between that and five batches nothing changes, so that it does not flicker.
    #[must_use]
    pub const fn after(self, lag_blocks: u64, batch_size: u64) -> Self {
        match self {
            Self::Historical if lag_blocks <= batch_size => Self::Realtime,
            Self::Realtime if Self::is_past(lag_blocks, batch_size) => Self::Historical,
            unchanged => unchanged,
        }
    }

    /// Whether so large a lag is to be caught up with in ranges.
    pub const fn is_past(lag_blocks: u64, batch_size: u64) -> bool {
        lag_blocks >= batch_size.saturating_mul(HISTORICAL_BATCHES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_changes_at_one_batch_and_at_five() {
        for (before, lag, after) in [
            (Mode::Historical, 5, Mode::Realtime),
            (Mode::Historical, 10, Mode::Realtime),
            (Mode::Historical, 11, Mode::Historical),
            (Mode::Realtime, 20, Mode::Realtime),
            (Mode::Historical, 20, Mode::Historical),
            (Mode::Realtime, 49, Mode::Realtime),
            (Mode::Realtime, 50, Mode::Historical),
        ] {
            assert_eq!(before.after(lag, 10), after, "{before:?} at {lag}");
        }
    }
}
