//! What the client notes on a payout for its own books: a memo and an external reference.
//!
//! Both are given when the payout is created, never change, and decide nothing. They are not
//! parameters of the request: the same idempotency key with another memo is the same payout.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest memo.
pub const MAX_MEMO_BYTES: usize = 500;
/// The longest reference.
pub const MAX_REFERENCE_BYTES: usize = 200;

/// Free text, such as what the payout is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Memo(String);

/// An identifier in another system, such as an invoice's number. Payouts can share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reference(String);

/// The text is not a memo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a memo has 1 to {MAX_MEMO_BYTES} bytes without spaces around it, control characters or line breaks")]
pub struct MemoError;

/// The text is not a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a reference has 1 to {MAX_REFERENCE_BYTES} bytes without spaces around it, control characters or line breaks"
)]
pub struct ReferenceError;

impl Memo {
    /// Checks and takes a memo.
    pub fn new(text: impl Into<String>) -> Result<Self, MemoError> {
        let text = text.into();
        if is_one_line(&text, MAX_MEMO_BYTES) { Ok(Self(text)) } else { Err(MemoError) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Reference {
    /// Checks and takes a reference.
    pub fn new(text: impl Into<String>) -> Result<Self, ReferenceError> {
        let text = text.into();
        if is_one_line(&text, MAX_REFERENCE_BYTES) { Ok(Self(text)) } else { Err(ReferenceError) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a text is a single line that shows as it is written.
fn is_one_line(text: &str, max_bytes: usize) -> bool {
    let is_refused = |letter: char| letter.is_control() || is_hidden(letter);
    (1..=max_bytes).contains(&text.len()) && text.trim() == text && !text.chars().any(is_refused)
}

/// Separators of lines, and characters that change the direction of what follows: with them a
/// text could show an approver something else than it says.
pub const fn is_hidden(letter: char) -> bool {
    matches!(
        letter,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

impl fmt::Display for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Memo {
    type Error = MemoError;
    fn try_from(text: String) -> Result<Self, MemoError> {
        Self::new(text)
    }
}

impl From<Memo> for String {
    fn from(memo: Memo) -> Self {
        memo.0
    }
}

impl TryFrom<String> for Reference {
    type Error = ReferenceError;
    fn try_from(text: String) -> Result<Self, ReferenceError> {
        Self::new(text)
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_and_a_reference_are_bounded_and_show_as_they_are_written() {
        for bad in ["", " x", "x ", "a\nb", "a\u{1b}[2J", "a\0b", "a\u{202e}b", "a\u{2028}b", "\u{2066}a"] {
            assert_eq!(Memo::new(bad), Err(MemoError), "{bad:?}");
            assert_eq!(Reference::new(bad), Err(ReferenceError), "{bad:?}");
        }
        for good in ["rent, \"March\"", "ünïcode ✓", "=1+1", "שלום"] {
            assert_eq!(Memo::new(good).map(|memo| memo.to_string()), Ok(good.to_owned()));
            assert_eq!(Reference::new(good).map(|reference| reference.to_string()), Ok(good.to_owned()));
        }
        assert!(Memo::new("x".repeat(MAX_MEMO_BYTES)).is_ok());
        assert_eq!(Memo::new("x".repeat(MAX_MEMO_BYTES + 1)), Err(MemoError));
        assert!(Reference::new("x".repeat(MAX_REFERENCE_BYTES)).is_ok());
        assert_eq!(Reference::new("é".repeat(MAX_REFERENCE_BYTES / 2 + 1)), Err(ReferenceError));
    }
}
