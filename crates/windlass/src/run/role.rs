//! The parts a process can play.

use clap::ValueEnum;

/// A part that a process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Role {
    /// Collects the events of every configured index
    Collect,
    /// Signs, sends and follows payouts
    Pay,
    /// Serves what was collected over HTTP
    Api,
    /// Forgets messages that every sink has received
    Upkeep,
}

impl Role {
    /// The role as it is typed.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Collect => "collect",
            Self::Pay => "pay",
            Self::Api => "api",
            Self::Upkeep => "upkeep",
        }
    }

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
    fn a_role_is_told_as_it_is_typed() {
        for role in Role::value_variants() {
            assert_eq!(Role::from_str(role.as_str(), false).as_ref(), Ok(role));
        }
    }

    #[test]
    fn nothing_typed_means_every_role_and_twice_means_once() {
        assert_eq!(Role::chosen(vec![]), Role::value_variants());
        assert_eq!(Role::chosen(vec![Role::Upkeep, Role::Upkeep]), [Role::Upkeep]);
    }
}
