//! What is wrong with a configuration.

use std::fmt;

use super::origin::Origin;
use super::redact;

/// The longest message that is shown, in characters.
const MAX_MESSAGE_CHARS: usize = 300;
/// The longest key that is shown, in characters.
const MAX_PATH_CHARS: usize = 100;
/// Longer names than this are no slips of a known one.
const MAX_SLIP_BYTES: usize = 64;

/// One thing that is wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where it was written.
    pub(crate) origin: Origin,
    /// Which key it is about; empty for the whole.
    pub(crate) path: String,
    /// What is wrong. URLs in it are redacted.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Problem {
    /// A problem with a key; the message gives up what it may repeat of a secret.
    pub(crate) fn new(origin: Origin, path: impl Into<String>, message: impl fmt::Display) -> Self {
        let message = shortened(&redact::message(&message.to_string()), MAX_MESSAGE_CHARS);
        Self { origin, path: shortened(&redact::message(&path.into()), MAX_PATH_CHARS), message, hint: None }
    }

    /// Says what to do about it.
    pub(crate) fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

/// A text as far as there is room for it, without control characters.
fn shortened(text: &str, max_chars: usize) -> String {
    let mut shown: String =
        text.chars().take(max_chars).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(max_chars).is_some() {
        shown.push('…');
    }
    shown
}

/// The known name nearest to what was written, if it is a slip away: one letter
/// left out, added, changed or swapped for every three of the name.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.len() > MAX_SLIP_BYTES {
        return None;
    }
    let slips = |name: &str| strsim::damerau_levenshtein(wrong, name);
    known.into_iter().filter(|name| slips(name) <= (name.len() / 3).max(1)).min_by_key(|name| slips(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_short_and_harmless_to_a_terminal() {
        let wild =
            Problem::new(Origin::Default, "k".repeat(1_000), format!("\u{1b}[31m{}", "x".repeat(1_000)));
        let shown = wild.to_string();
        assert!(shown.chars().count() < MAX_MESSAGE_CHARS + MAX_PATH_CHARS + 20, "{shown}");
        assert!(!shown.contains('\u{1b}'));
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["database", "chain", "api", "log", "shutdown"];
        assert_eq!(nearest("databse", known), Some("database"));
        assert_eq!(nearest("chian", known), Some("chain"));
        assert_eq!(nearest("chains", known), Some("chain"));
        assert_eq!(nearest("lgo", known), Some("log"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(nearest("ap1i23", known), None);
    }
}
