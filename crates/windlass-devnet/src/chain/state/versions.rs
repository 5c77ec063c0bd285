//! One value's history over block heights.
//!
//! A version says "from this block on, the value is this". Reading at a height
//! finds the newest version not above it, so every past block can be asked, and
//! a reorg is undone by cutting the versions above the fork.

/// The values one account or slot has had, oldest first, at most one per block.
#[derive(Debug, Clone)]
pub(crate) struct Versions<T>(Vec<(u64, T)>);

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Versions<T> {
    /// The value in force after `block`, if there was one by then.
    pub(crate) fn at(&self, block: u64) -> Option<&T> {
        let newer = self.0.partition_point(|(from, _)| *from <= block);
        newer.checked_sub(1).map(|index| &self.0[index].1)
    }

    /// Records the value from `block` on; blocks come in rising order.
    pub(crate) fn set(&mut self, block: u64, value: T) {
        match self.0.last_mut() {
            Some((from, last)) if *from == block => *last = value,
            last => {
                debug_assert!(last.is_none_or(|(from, _)| *from < block), "versions only grow");
                self.0.push((block, value));
            }
        }
    }

    /// Forgets every version above `block`; true when nothing is left.
    pub(crate) fn rewind(&mut self, block: u64) -> bool {
        let keep = self.0.partition_point(|(from, _)| *from <= block);
        self.0.truncate(keep);
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_newest_version_not_above_the_height() {
        let mut versions = Versions::default();
        versions.set(2, 'a');
        versions.set(5, 'b');
        versions.set(5, 'c');
        let seen: Vec<_> = (0..7).map(|height| versions.at(height).copied()).collect();
        assert_eq!(seen, [None, None, Some('a'), Some('a'), Some('a'), Some('c'), Some('c')]);
    }

    #[test]
    fn a_rewind_forgets_what_is_above_the_fork() {
        let mut versions = Versions::default();
        versions.set(2, 'a');
        versions.set(5, 'b');
        assert!(!versions.rewind(4));
        assert_eq!(versions.at(9), Some(&'a'));
        assert!(versions.rewind(1));
        assert_eq!(versions.at(9), None);
    }
}
