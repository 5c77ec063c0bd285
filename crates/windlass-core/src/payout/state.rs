//! Where a payout stands, and the only ways on from there.
//!
//! ```text
//! PENDING_RISK ──► APPROVED ──► SUBMITTED ⇄ CONFIRMED
//!       │              │            │
//!       └──► REJECTED ◄┘            └──► FAILED
//! ```
//!
//! A payout goes back from CONFIRMED when a reorg removes its payment before it is final, and
//! when an operator has the stored transaction sent again after a reorg below finality. REJECTED
//! and FAILED are ends: nothing was paid, and nothing will be.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a payout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PayoutState {
    /// Asked for; nobody has said yes.
    PendingRisk,
    /// Everybody who has to has said yes, and the day's budget holds room for it.
    Approved,
    /// A signed transaction for it is stored, and may be on its way.
    Submitted,
    /// It is in a block that is deep enough.
    Confirmed,
    /// Its transaction was reverted for good: nothing was paid.
    Failed,
    /// It was refused before anything was signed.
    Rejected,
}

/// The text names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a payout's state")]
pub struct PayoutStateError(String);

impl PayoutState {
    /// Every state, in the order of a payout's life.
    pub const ALL: [Self; 6] =
        [Self::PendingRisk, Self::Approved, Self::Submitted, Self::Confirmed, Self::Failed, Self::Rejected];

    /// The name under which it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PendingRisk => "PENDING_RISK",
            Self::Approved => "APPROVED",
            Self::Submitted => "SUBMITTED",
            Self::Confirmed => "CONFIRMED",
            Self::Failed => "FAILED",
            Self::Rejected => "REJECTED",
        }
    }

    /// Where it may go from here.
    pub const fn next(self) -> &'static [Self] {
        match self {
            Self::PendingRisk => &[Self::Approved, Self::Rejected],
            Self::Approved => &[Self::Submitted, Self::Rejected],
            Self::Submitted => &[Self::Confirmed, Self::Failed],
            Self::Confirmed => &[Self::Submitted],
            Self::Failed | Self::Rejected => &[],
        }
    }

    /// Whether it may go there.
    pub fn leads_to(self, to: Self) -> bool {
        self.next().contains(&to)
    }

    /// Whether nothing was paid and nothing will be.
    pub const fn is_end(self) -> bool {
        self.next().is_empty()
    }

    /// Whether a part of its day's budget is held for it.
    pub const fn holds_budget(self) -> bool {
        matches!(self, Self::Approved | Self::Submitted | Self::Confirmed)
    }
}

impl fmt::Display for PayoutState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PayoutState {
    type Err = PayoutStateError;
    fn from_str(text: &str) -> Result<Self, PayoutStateError> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| PayoutStateError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::PayoutState::*;
    use super::*;

    #[test]
    fn these_and_no_other_ways_lead_on() {
        let ways: Vec<(PayoutState, PayoutState)> = PayoutState::ALL
            .into_iter()
            .flat_map(|from| PayoutState::ALL.map(|to| (from, to)))
            .filter(|(from, to)| from.leads_to(*to))
            .collect();
        let expected = [
            (PendingRisk, Approved),
            (PendingRisk, Rejected),
            (Approved, Submitted),
            (Approved, Rejected),
            (Submitted, Confirmed),
            (Submitted, Failed),
            (Confirmed, Submitted),
        ];
        assert_eq!(ways, expected);
    }

    #[test]
    fn names_read_back() {
        for state in PayoutState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(serde_json::to_string(&state).expect("json"), format!("\"{state}\""));
        }
        assert!("approved".parse::<PayoutState>().is_err());
    }
}
