//! What can be done with payouts, and who may.

use std::fmt;

use windlass_core::payout::ledger::Role;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Read,
    Create,
    Cancel,
    Retry,
    Approve,
    Reject,
}

impl Verb {
    /// Whether a role may.
    pub(super) const fn is_for(self, role: Role) -> bool {
        match self {
            Self::Read => true,
            Self::Create | Self::Cancel | Self::Retry => role.may_operate(),
            Self::Approve | Self::Reject => role.may_approve(),
        }
    }

    /// Under which name somebody without a key does it.
    pub(super) const fn development_actor(self) -> &'static str {
        match self {
            Self::Read | Self::Create | Self::Cancel | Self::Retry => "development/operator",
            Self::Approve | Self::Reject => "development/approver",
        }
    }

    /// Which roles there are for it.
    pub(super) const fn needs(self) -> &'static str {
        match self {
            Self::Read => "it takes a key of any role",
            Self::Create | Self::Cancel | Self::Retry => "it takes a key with the role `operator` or `admin`",
            Self::Approve | Self::Reject => "it takes a key with the role `approver` or `admin`",
        }
    }

    /// The word for metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Create => "create",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} payouts", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_what_it_is_for() {
        let verbs = [Verb::Read, Verb::Create, Verb::Cancel, Verb::Retry, Verb::Approve, Verb::Reject];
        let may = |role| verbs.map(|verb| verb.is_for(role));
        assert_eq!(may(Role::Viewer), [true, false, false, false, false, false]);
        assert_eq!(may(Role::Operator), [true, true, true, true, false, false]);
        assert_eq!(may(Role::Approver), [true, false, false, false, true, true]);
        assert_eq!(may(Role::Admin), [true; 6]);
    }

    #[test]
    fn nobody_approves_under_the_name_that_asked() {
        assert_ne!(Verb::Create.development_actor(), Verb::Approve.development_actor());
    }
}
