//! Payouts of vaults that no process pays from: the configuration names another vault now, and nothing
//! signs or follows them.
//!
//! Two configurations may share a database, each with a vault of its own. The process that compares a
//! vault's payments holds that vault's `reconciling` lease, so a vault whose lease is held has a process
//! that pays from it.

use std::collections::BTreeSet;

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::LeaseName;
use windlass_core::payout::request::VaultRef;
use windlass_core::store::Store;

use super::names::PayNames;

/// A vault with payouts that wait, and without a process that pays from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnattendedVault {
    /// The vault.
    pub vault: VaultRef,
    /// How many of its payouts are PENDING_RISK, APPROVED or SUBMITTED.
    pub payouts: u64,
}

/// Vaults other than the configured one whose payouts wait while no process pays from them, by vault.
pub async fn unattended_vaults(store: &dyn Store, configured: VaultRef) -> StoreResult<Vec<UnattendedVault>> {
    let mut waiting = store.count_waiting().await?;
    waiting.retain(|(vault, _)| *vault != configured);
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let attended = held_leases(store).await?;
    let mut unattended = Vec::with_capacity(waiting.len());
    for (vault, payouts) in waiting {
        if !attended.contains(&names(vault)?.reconciling) {
            unattended.push(UnattendedVault { vault, payouts });
        }
    }
    Ok(unattended)
}

/// Whether some process pays from a vault.
pub async fn is_attended(store: &dyn Store, vault: VaultRef) -> StoreResult<bool> {
    Ok(held_leases(store).await?.contains(&names(vault)?.reconciling))
}

/// The leases that are held, without those whose holder has died.
async fn held_leases(store: &dyn Store) -> StoreResult<BTreeSet<LeaseName>> {
    let now = store.now().await?;
    let leases = store.list_leases().await?.into_iter().filter(|lease| lease.expires_at > now);
    let mut held: BTreeSet<LeaseName> = leases.map(|lease| lease.name).collect();
    for abandoned in store.list_abandoned_leases().await? {
        held.remove(&abandoned);
    }
    Ok(held)
}

fn names(vault: VaultRef) -> StoreResult<PayNames> {
    PayNames::new(vault).map_err(|error| StoreError::Other(error.to_string()))
}
