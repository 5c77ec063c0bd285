//! Where a synthetic chain was reorganised: from which block on it is another one.

use super::options::SyntheticOptions;
use crate::mix::mix_pair;

/// From a block on, hashes and logs are those of another branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fork {
    /// The first block of the branch.
    pub from_block: u64,
    /// Tells the branch from all others.
    pub branch: u64,
}

impl SyntheticOptions {
    /// The same chain, with a new branch from this block on.
    pub fn forked(mut self, from_block: u64) -> Self {
        // The newest fork is always there, so that no branch comes twice.
        let newest = self.forks.iter().map(|fork| fork.branch).max().unwrap_or(0);
        self.forks.retain(|fork| fork.from_block < from_block);
        self.forks.push(Fork { from_block, branch: newest + 1 });
        self
    }
}

/// What the hashes and logs of a branch are made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) block: u64,
    pub(super) log: u64,
}

/// The keys of a chain, branch by branch.
#[derive(Debug)]
pub(super) struct Keys {
    trunk: Key,
    /// By first block, lowest first.
    branches: Vec<(u64, Key)>,
}

impl Keys {
    pub(super) fn new(trunk: Key, forks: &[Fork]) -> Self {
        let key = |fork: &Fork| Key {
            block: mix_pair(trunk.block, fork.branch),
            log: mix_pair(trunk.log, fork.branch),
        };
        let mut branches: Vec<(u64, Key)> = forks.iter().map(|fork| (fork.from_block, key(fork))).collect();
        branches.sort_by_key(|(from, _)| *from);
        Self { trunk, branches }
    }

    /// The key that a block is made from; it is not asked for where there is one key only.
    pub(super) fn of(&self, block: impl FnOnce() -> u64) -> Key {
        if self.branches.is_empty() {
            return self.trunk;
        }
        let block = block();
        self.branches.iter().rev().find(|(from, _)| *from <= block).map_or(self.trunk, |(_, key)| *key)
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = Key> {
        self.branches.iter().map(|(_, key)| *key).chain([self.trunk])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_takes_the_place_of_those_above_it_and_no_branch_comes_twice() {
        let options = SyntheticOptions::default().forked(10).forked(20).forked(15).forked(10).forked(12);
        let (first, second) = (Fork { from_block: 10, branch: 4 }, Fork { from_block: 12, branch: 5 });
        assert_eq!(options.forks, [first, second]);
    }
}
