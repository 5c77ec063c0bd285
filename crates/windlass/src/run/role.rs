//! The parts a process can play.

use clap::ValueEnum;

/// A part that a process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Role {
    /// Forgets messages that every sink has received
    Upkeep,
}

impl Role {
    /// The roles meant by what was typed: all of them when nothing was, and each once.
    pub(crate) fn chosen(mut typed: Vec<Self>) -> Vec<Self> {
        if typed.is_empty() {
            return Self::value_variants().to_vec();
        }
        typed.sort_unstable();
        typed.dedup();
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_typed_means_every_role_and_twice_means_once() {
        assert_eq!(Role::chosen(vec![]), Role::value_variants());
        assert_eq!(Role::chosen(vec![Role::Upkeep, Role::Upkeep]), [Role::Upkeep]);
    }
}
