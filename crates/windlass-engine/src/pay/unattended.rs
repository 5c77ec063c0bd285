//! Payouts that wait while no process pays from their vault: nothing signs or follows them. The
//! configuration names another vault now, or no process runs that pays from the configured one.
//!
//! Two configurations may share a database, each with a vault of its own. The process that compares a
//! vault's payments holds that vault's `reconciling` lease, so a vault whose lease is held has a process
//! that pays from it. One that stops gives the lease back and notes when it stopped: a restart of a few
//! seconds is not reported.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::LeaseName;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::store::Store;
use windlass_core::time::{Timestamp, duration_ms};

use super::names::PayNames;

/// A payout of the configured vault is reported once it has waited for so long, and once no process has
/// paid for so long.
const GRACE: Duration = Duration::from_secs(30);
/// Payouts of each state are counted up to so many pages.
const MAX_PAGES: u32 = 10;

/// A vault with payouts that wait, and without a process that pays from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UnattendedVault {
    /// The vault.
    pub vault: VaultRef,
    /// How many of its payouts are PENDING_RISK, APPROVED or SUBMITTED; without those that are
    /// PENDING_RISK of the configured vault, which wait for a person.
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

/// The configured vault, if no process pays from it while payouts of it wait to be signed or followed.
pub async fn unattended_configured(
    store: &dyn Store,
    configured: VaultRef,
) -> StoreResult<Option<UnattendedVault>> {
    let waiting = store.count_waiting().await?;
    if !waiting.iter().any(|(vault, _)| *vault == configured) || is_attended(store, configured).await? {
        return Ok(None);
    }
    let latest = Timestamp::from_ms(store.now().await?.as_ms() - duration_ms(GRACE));
    if stopped_at(store, configured).await?.is_some_and(|at| at > latest) {
        return Ok(None);
    }
    let mut payouts = 0;
    for state in [PayoutState::Approved, PayoutState::Submitted] {
        payouts +=
            count(store, state, |payout| payout.request.vault == configured && payout.updated_at <= latest)
                .await?;
    }
    Ok((payouts > 0).then_some(UnattendedVault { vault: configured, payouts }))
}

/// How many payouts of a state are wanted.
async fn count(
    store: &dyn Store,
    state: PayoutState,
    is_wanted: impl Fn(&Payout) -> bool,
) -> StoreResult<u64> {
    let mut query = PayoutQuery { state: Some(state), limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
    let mut count = 0;
    for _ in 0..MAX_PAGES {
        let page = store.list_payouts(&query).await?;
        count += page.iter().filter(|payout| is_wanted(payout)).count() as u64;
        match page.last() {
            Some(last) if page.len() as u64 == u64::from(MAX_PAYOUT_PAGE) => query.after = Some(last.id),
            _ => break,
        }
    }
    Ok(count)
}

/// When the last process that paid from a vault stopped, if it was not killed.
async fn stopped_at(store: &dyn Store, vault: VaultRef) -> StoreResult<Option<Timestamp>> {
    let stopped = store.state(&names(vault)?.stopped).await?;
    Ok(stopped.and_then(|at| at.parse().ok()).map(Timestamp::from_ms))
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
