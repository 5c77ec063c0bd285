//! Keys of the API: made and revoked, each with its entry in the audit log.

use std::sync::Arc;

use serde_json::json;
use windlass_core::chain::B256;
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::lease::Lease;
use windlass_core::name::{NameError, Partition};
use windlass_core::payout::ledger::{ApiKey, PayWrite, Role};
use windlass_core::payout::store::Payouts;

use super::counted;
use super::ledger::Ledger;
use super::page::{Clerk, Page};

/// The longest name of a key.
pub const MAX_KEY_NAME_BYTES: usize = 64;
/// What names of keys cannot begin with: these speak for the program itself.
const RESERVED: [&str; 3] = ["development/", "cli/", "pay-"];

/// The keys of a store.
pub struct Keyring {
    ledger: Arc<Ledger>,
    clerk: Clerk,
    lease: Option<Lease>,
}

/// Why a key was not made, or not revoked.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The name cannot be one.
    #[error("a key's name is 1 to {MAX_KEY_NAME_BYTES} letters, digits, `-`, `_`, `.`, `@` and `/`")]
    Name,
    /// A name is never given twice, so that the log says who was who.
    #[error("there is a key `{0}` already, and a name is never given twice")]
    Taken(String),
    /// There is no such key.
    #[error("there is no key `{0}`")]
    Missing(String),
    /// It was revoked before.
    #[error("key `{0}` is revoked already")]
    Revoked(String),
}

impl Keyring {
    /// The keys of a store; who changes them stands in the log under this name.
    pub fn new(ledger: Arc<Ledger>, by: &str) -> Result<Self, NameError> {
        let key = ledger.key().clone();
        let clerk = Clerk { actor: by.into(), partition: Partition::new("pay/keys")?, key };
        Ok(Self { ledger, clerk, lease: None })
    }

    /// Keys are made only as long as this lease is held: the first admin's key is made by one
    /// process.
    pub fn under_lease(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// Makes a key whose secret hashes to this.
    pub async fn create(&self, name: &str, role: Role, hash: B256) -> Result<ApiKey, KeyringError> {
        if !is_name(name) {
            return Err(KeyringError::Name);
        }
        let now = self.ledger.store().now().await?;
        let key = ApiKey {
            name: name.to_owned(),
            version: 1,
            role,
            hash,
            created_at: now,
            revoked_at: None,
            mac: B256::ZERO,
        };
        let mut page = Page::new(&self.clerk);
        page.write(Write::Pay(PayWrite::ApiKey(key.clone())));
        page.note("key.created", name, json!({"role": role}));
        let mut commit = page.into_commit();
        if let Some(lease) = &self.lease {
            commit = commit.under_lease(lease);
        }
        match counted::commit(&self.ledger, commit).await {
            Ok(_) => Ok(key),
            Err(StoreError::Stale(_)) => Err(KeyringError::Taken(name.to_owned())),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a key worthless, for good.
    pub async fn revoke(&self, name: &str) -> Result<ApiKey, KeyringError> {
        let missing = || KeyringError::Missing(name.to_owned());
        let keys = self.ledger.list_api_keys().await?;
        let key = keys.into_iter().find(|key| key.name == name).ok_or_else(missing)?;
        if key.revoked_at.is_some() {
            return Err(KeyringError::Revoked(name.to_owned()));
        }
        let revoked = key.revoked(self.ledger.store().now().await?);
        let mut page = Page::new(&self.clerk);
        page.write(Write::Pay(PayWrite::ApiKey(revoked.clone())));
        page.note("key.revoked", name, json!({"role": key.role}));
        match counted::commit(&self.ledger, page.into_commit()).await {
            Ok(_) => Ok(revoked),
            Err(StoreError::Stale(_)) => Err(KeyringError::Revoked(name.to_owned())),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.@/".contains(c);
    (1..=MAX_KEY_NAME_BYTES).contains(&name.len())
        && name.chars().all(fits)
        && !RESERVED.iter().any(|reserved| name.starts_with(reserved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_programs_own_names() {
        assert!(is_name("alice@example.org") && is_name("ops/payroll-2"));
        for name in [
            "",
            "development/approver",
            "cli/root",
            "pay-1-2",
            "a b",
            "é",
            &"x".repeat(MAX_KEY_NAME_BYTES + 1),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
