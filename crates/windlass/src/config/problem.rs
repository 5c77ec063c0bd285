//! What is wrong with a configuration.

use std::fmt;

use super::origin::Origin;
use super::redact;

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
        let message = redact::message(&message.to_string());
        Self { origin, path: path.into(), message, hint: None }
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

/// The known name nearest to what was written, if it is a slip away: one letter
/// left out, added, changed or swapped for every three of the name.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let slips = |name: &str| strsim::damerau_levenshtein(wrong, name);
    known.into_iter().filter(|name| slips(name) <= (name.len() / 3).max(1)).min_by_key(|name| slips(name))
}

#[cfg(test)]
mod tests {
    use super::*;

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
