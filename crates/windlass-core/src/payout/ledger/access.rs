//! Who may ask for what: keys of the API, kept as hashes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chain::B256;
use crate::time::Timestamp;

/// What a key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// To look.
    Viewer,
    /// And to ask for payouts, to cancel and to retry them.
    Operator,
    /// To look, to approve and to reject.
    Approver,
    /// Everything but to approve what one has asked for oneself.
    Admin,
}

/// The text names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role: viewer, operator, approver and admin are")]
pub struct RoleError(String);

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Operator, Self::Approver, Self::Admin];

    /// The name under which it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }

    /// Whether it may ask for, cancel and retry payouts.
    pub const fn may_operate(self) -> bool {
        matches!(self, Self::Operator | Self::Admin)
    }

    /// Whether it may approve and reject payouts of others.
    pub const fn may_approve(self) -> bool {
        matches!(self, Self::Approver | Self::Admin)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = RoleError;
    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| RoleError(text.to_owned()))
    }
}

/// How the names begin of whoever acts without a key, for development.
pub const DEVELOPMENT: &str = "development/";

/// A key's name: under it the key's deeds stand in the audit log.
pub type ApiKeyName = String;

/// A key. What is shown to its owner once is not kept, only what it hashes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Its name. Never given twice.
    pub name: ApiKeyName,
    /// How often it was written.
    pub version: i64,
    /// What it allows.
    pub role: Role,
    /// What the secret hashes to.
    pub hash: B256,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it is worth nothing.
    pub revoked_at: Option<Timestamp>,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow).
    #[serde(skip)]
    pub mac: B256,
}

impl ApiKey {
    /// What a secret hashes to. Secrets have 256 random bits: nobody tries them all, so a
    /// plain hash keeps them, and a request costs no more than a look-up.
    pub fn hash_of(secret: &str) -> B256 {
        B256::from_slice(&Sha256::digest(secret.as_bytes()))
    }

    /// It is worth nothing any more.
    #[must_use]
    pub fn revoked(&self, now: Timestamp) -> Self {
        Self { version: self.version + 1, revoked_at: Some(now), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the standard: whoever makes keys elsewhere comes to the same.
    #[test]
    fn a_secret_is_kept_as_its_sha_256() {
        let expected = "0xba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(ApiKey::hash_of("abc").to_string(), expected);
    }

    #[test]
    fn roles_read_back() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        assert!("root".parse::<Role>().is_err());
    }
}
