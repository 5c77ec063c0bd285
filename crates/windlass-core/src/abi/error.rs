//! What is wrong with an event as somebody wrote it.

use std::fmt;

/// The most characters of somebody's text that a message repeats.
const MAX_SHOWN_CHARS: usize = 80;

/// The longest name that is compared with others, in bytes.
const MAX_SLIP_BYTES: usize = 64;

/// Why something is not an event: what is wrong and where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AbiError {
    message: String,
    hint: Option<String>,
}

impl AbiError {
    pub(super) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The same, said of something in particular.
    pub(super) fn of(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Somebody's text, short and harmless to a terminal.
pub(super) fn shown(text: &str) -> String {
    let mut safe = String::new();
    for c in text.trim().chars().take(MAX_SHOWN_CHARS) {
        match c {
            c if c.is_whitespace() => safe.push(' '),
            c if c.is_control() => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    if text.trim().chars().nth(MAX_SHOWN_CHARS).is_some() {
        safe.push('…');
    }
    safe
}

/// The known name nearest to what was written, if it is a slip away: one letter
/// left out, added, changed or swapped for every three of the name.
pub(super) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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
    fn what_is_shown_is_short_and_harmless() {
        assert_eq!(shown(" a\nb\u{1b}[31m "), "a b\\u{1b}[31m");
        assert_eq!(shown(&"x".repeat(100)).chars().count(), MAX_SHOWN_CHARS + 1);
    }

    #[test]
    fn a_slip_finds_its_name() {
        let known = ["address", "bool", "string"];
        assert_eq!(nearest("adress", known), Some("address"));
        assert_eq!(nearest("IERC20", known), None);
    }
}
