//! How often each kind of thing really happened.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// One more.
    pub fn hit(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }

    /// How often.
    pub fn count(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or(0)
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(kind).or_default() += count;
        }
    }

    /// Those of `kinds` that never happened.
    pub fn missing(&self, kinds: &[&'static str]) -> Vec<&'static str> {
        kinds.iter().copied().filter(|kind| self.count(kind) == 0).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(kind, count)| writeln!(f, "{count:>8}  {kind}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happened_is_missing() {
        let mut tally = Tally::default();
        tally.hit("a");
        let mut sum = tally.clone();
        sum.add(&tally);
        assert_eq!(sum.count("a"), 2);
        assert_eq!(sum.missing(&["a", "b"]), ["b"]);
        assert_eq!(sum.to_string(), "       2  a\n");
    }
}
