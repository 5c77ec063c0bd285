//! Positions in a history, and the rule by which they move.
//!
//! A cursor only moves forward. Whether an equal position with another identity
//! is a conflict depends on the chain ([`CursorRule`]); a conflict is reported,
//! never papered over, and the commit that carries it is refused whole.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::name::MAX_NAME_BYTES;

/// A position: a number that orders, and a text that identifies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cursor {
    primary: i64,
    secondary: String,
}

/// Why a text is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Not exactly one colon.
    #[error("a cursor has the form `primary:secondary`, not `{0}`")]
    Form(String),
    /// The part before the colon is not a 64-bit integer.
    #[error("a cursor's primary part is a 64-bit integer, not `{0}`")]
    Primary(String),
    /// The part after the colon is blank, holds a colon or is too long.
    #[error("a cursor's secondary part is 1 to {MAX_NAME_BYTES} bytes, not blank and without a colon")]
    Secondary,
}

impl Cursor {
    /// Checks and takes a position.
    pub fn new(primary: i64, secondary: impl Into<String>) -> Result<Self, CursorError> {
        let secondary = secondary.into();
        let fits = secondary.len() <= MAX_NAME_BYTES && !secondary.contains([':', '\0']);
        if secondary.trim().is_empty() || !fits {
            return Err(CursorError::Secondary);
        }
        Ok(Self { primary, secondary })
    }

    /// What orders: a block number, a logical time, a slot.
    pub const fn primary(&self) -> i64 {
        self.primary
    }

    /// What identifies: a block hash, a transaction hash, a signature.
    pub fn secondary(&self) -> &str {
        &self.secondary
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.primary, self.secondary)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let mut parts = text.split(':');
        let (Some(primary), Some(secondary), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(CursorError::Form(text.to_owned()));
        };
        let number = primary.parse().map_err(|_| CursorError::Primary(primary.to_owned()))?;
        Self::new(number, secondary)
    }
}

/// What an equal primary with another secondary means on a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CursorRule {
    /// The primary alone identifies (a TON logical time, an EVM block number):
    /// the same primary with another secondary is a conflict.
    Identified,
    /// Many entries share a primary (Solana signatures in a slot): the same
    /// primary with another secondary is progress; the caller keeps the order.
    Shared,
}

/// What a proposed position does to the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CursorMove {
    /// It moves.
    Advanced,
    /// It stays: the proposal is where it is, or behind.
    Unchanged,
    /// The two contradict each other.
    Conflict,
}

impl CursorRule {
    /// Decides what `proposed` does to `stored`.
    pub fn decide(self, stored: &Cursor, proposed: &Cursor) -> CursorMove {
        match proposed.primary.cmp(&stored.primary) {
            std::cmp::Ordering::Greater => CursorMove::Advanced,
            std::cmp::Ordering::Less => CursorMove::Unchanged,
            std::cmp::Ordering::Equal if proposed.secondary == stored.secondary => CursorMove::Unchanged,
            std::cmp::Ordering::Equal => match self {
                Self::Identified => CursorMove::Conflict,
                Self::Shared => CursorMove::Advanced,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(text: &str) -> Cursor {
        text.parse().expect("a cursor")
    }

    #[test]
    fn parsing_is_strict() {
        for text in [
            "",
            " ",
            "12345",
            "12345:",
            "12345: ",
            "not-a-number:abc123",
            "1:a:b",
            ":a",
            "1.5:a",
            "99999999999999999999:a",
        ] {
            assert!(text.parse::<Cursor>().is_err(), "{text:?}");
        }
        assert_eq!(cursor("12345:abc123").to_string(), "12345:abc123");
        assert_eq!(cursor("-3:x").primary(), -3);
    }

    #[test]
    fn a_cursor_moves_forward_only() {
        let stored = cursor("10:a");
        for rule in [CursorRule::Identified, CursorRule::Shared] {
            assert_eq!(rule.decide(&stored, &cursor("11:b")), CursorMove::Advanced);
            assert_eq!(rule.decide(&stored, &cursor("9:b")), CursorMove::Unchanged);
            assert_eq!(rule.decide(&stored, &stored), CursorMove::Unchanged);
        }
    }

    #[test]
    fn the_chain_decides_what_an_equal_position_means() {
        let (stored, other) = (cursor("10:a"), cursor("10:b"));
        assert_eq!(CursorRule::Identified.decide(&stored, &other), CursorMove::Conflict);
        assert_eq!(CursorRule::Shared.decide(&stored, &other), CursorMove::Advanced);
    }
}
