//! Who gives a command: the owner of an API key, or, in development, whoever sits here.

use windlass_core::code::Code;
use windlass_core::payout::ledger::{ApiKey, Role};
use windlass_core::payout::store::Payouts;

use super::options;
use crate::config::Config;
use crate::failure::Failure;

/// The variable that holds the caller's key.
pub(crate) const KEY_VARIABLE: &str = "WINDLASS_API_KEY";

/// Who gives a command.
#[derive(Debug)]
pub(crate) enum Caller {
    /// The owner of a key.
    Key(ApiKey),
    /// Whoever sits at a machine where nothing has a price.
    Development,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Looks, and changes nothing: whoever can read the database may.
    Look,
    /// Asks for payouts, cancels and retries them.
    Operate,
    /// Approves and rejects them.
    Approve,
    /// Changes what everything else rests on.
    Administer,
}

impl Caller {
    /// Finds out who it is.
    pub(crate) async fn of(config: &Config, ledger: &dyn Payouts) -> Result<Self, Failure> {
        let secret = std::env::var(KEY_VARIABLE).ok().filter(|secret| !secret.is_empty());
        let Some(secret) = secret else {
            let (pay, _) = options::section(config)?;
            if pay.development {
                return Ok(Self::Development);
            }
            return Err(denied("no key was given").hint(format_args!(
                "set {KEY_VARIABLE} to a key of yours; `windlass key create` makes one"
            )));
        };
        match ledger.api_key(ApiKey::hash_of(&secret)).await? {
            Some(key) if key.revoked_at.is_none() => Ok(Self::Key(key)),
            Some(key) => Err(denied(format_args!("key `{}` is revoked", key.name))
                .hint("`windlass key create` makes another")),
            None => Err(denied("the key is not known to this database")
                .hint(format_args!("check {KEY_VARIABLE} and `database.url`"))),
        }
    }

    /// The name under which the deed stands in the log, if the caller may do it.
    pub(crate) fn may(&self, deed: Deed) -> Result<String, Failure> {
        match self {
            Self::Development => Ok(match deed {
                Deed::Look => "development/viewer".to_owned(),
                Deed::Operate => "development/operator".to_owned(),
                Deed::Approve => "development/approver".to_owned(),
                Deed::Administer => "development/admin".to_owned(),
            }),
            Self::Key(key) if allows(key.role, deed) => Ok(key.name.clone()),
            Self::Key(key) => Err(denied(format_args!("key `{}` has the role {}", key.name, key.role))
                .hint(format_args!("this takes {}", takers(deed)))),
        }
    }
}

const fn allows(role: Role, deed: Deed) -> bool {
    match deed {
        Deed::Look => true,
        Deed::Operate => role.may_operate(),
        Deed::Approve => role.may_approve(),
        Deed::Administer => matches!(role, Role::Admin),
    }
}

const fn takers(deed: Deed) -> &'static str {
    match deed {
        Deed::Look => "any key",
        Deed::Operate => "an operator or an admin",
        Deed::Approve => "an approver or an admin",
        Deed::Administer => "an admin",
    }
}

fn denied(why: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::AccessDenied, format_args!("access denied: {why}"))
}
