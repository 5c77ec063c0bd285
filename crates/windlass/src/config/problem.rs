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

/// The known name nearest to what was written, if any is near.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let score = |name: &&str| strsim::jaro_winkler(wrong, name);
    known
        .into_iter()
        .filter(|name| score(name) > NEAR_ENOUGH)
        .max_by(|left, right| score(left).total_cmp(&score(right)))
}

/// Jaro–Winkler: 1 is equal; below this a suggestion puzzles more than it helps.
const NEAR_ENOUGH: f64 = 0.75;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["database", "chain", "api", "log", "shutdown"];
        assert_eq!(nearest("databse", known), Some("database"));
        assert_eq!(nearest("chian", known), Some("chain"));
        assert_eq!(nearest("chains", known), Some("chain"));
        assert_eq!(nearest("zebra", known), None);
    }
}
