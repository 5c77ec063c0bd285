//! Leases: taken, kept, stolen, given back.

use windlass_core::error::StoreError;
use windlass_core::lease::{Epoch, Lease};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::support::{Well, refused};
use crate::harness::Harness;
use crate::make::{lease_name, ms, owner};

const TTL_MS: u64 = 1_000;

async fn acquire(store: &dyn Store, name: &str, who: &str) -> Option<Lease> {
    store.acquire_lease(&lease_name(name), &owner(who), ms(TTL_MS)).await.well()
}

async fn taken(store: &dyn Store, name: &str, who: &str) -> Lease {
    acquire(store, name, who).await.expect("the lease is free")
}

/// A lease of a name nobody ever took.
fn forged(name: &str, who: &str) -> Lease {
    Lease {
        name: lease_name(name),
        owner: owner(who),
        epoch: Epoch(1),
        expires_at: Timestamp::from_ms(i64::MAX),
    }
}

pub async fn a_free_lease_is_taken_under_its_first_epoch(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    let expires_at = Timestamp::from_ms(harness.clock().now_ms() + TTL_MS as i64);
    let expected = Lease { name: lease_name("wallet"), owner: owner("a"), epoch: Epoch(1), expires_at };
    assert_eq!(lease, expected);
    assert_eq!(store.list_leases().await.well(), [expected]);
}

pub async fn asking_again_prolongs_and_keeps_the_epoch(harness: &dyn Harness) {
    let store = harness.open().await;
    let first = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(400);
    let again = taken(&*store, "wallet", "a").await;
    assert_eq!(again.epoch, first.epoch);
    assert_eq!(again.expires_at, first.expires_at.after(ms(400)));
}

pub async fn another_owner_is_refused_while_the_lease_lives(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(TTL_MS as i64 - 1);
    assert_eq!(acquire(&*store, "wallet", "b").await, None);
    assert_eq!(store.list_leases().await.well(), [lease]);
}

pub async fn an_expired_lease_is_taken_under_a_new_epoch(harness: &dyn Harness) {
    let store = harness.open().await;
    let old = taken(&*store, "wallet", "a").await;
    harness.clock().set_ms(old.expires_at.as_ms());
    let new = taken(&*store, "wallet", "b").await;
    assert_eq!((new.owner.as_str(), new.epoch), ("b", old.epoch.next()));
}

pub async fn its_former_holder_takes_an_expired_lease_under_a_new_epoch_too(harness: &dyn Harness) {
    let store = harness.open().await;
    let old = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(TTL_MS as i64);
    assert_eq!(taken(&*store, "wallet", "a").await.epoch, old.epoch.next());
}

pub async fn extending_prolongs_from_now(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(10);
    let extended = store.extend_lease(&lease, ms(5_000)).await.well();
    let expires_at = Timestamp::from_ms(harness.clock().now_ms() + 5_000);
    assert_eq!(extended, Lease { expires_at, ..lease });
    assert_eq!(store.list_leases().await.well(), [extended]);
}

pub async fn extending_anothers_lease_is_fenced(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    let pretender = Lease { owner: owner("b"), ..lease.clone() };
    refused!(store.extend_lease(&pretender, ms(TTL_MS)).await, StoreError::Fenced { epoch: 1, .. });
    assert_eq!(store.list_leases().await.well(), [lease]);
}

pub async fn extending_an_unknown_lease_is_fenced(harness: &dyn Harness) {
    let store = harness.open().await;
    refused!(store.extend_lease(&forged("wallet", "a"), ms(TTL_MS)).await, StoreError::Fenced { .. });
    assert_eq!(store.list_leases().await.well(), []);
}

pub async fn a_late_holder_extends_while_nobody_took_over(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(50 * TTL_MS as i64);
    let extended = store.extend_lease(&lease, ms(TTL_MS)).await.well();
    assert_eq!(extended.epoch, lease.epoch);
    assert_eq!(acquire(&*store, "wallet", "b").await, None);
}

pub async fn a_zombie_can_neither_extend_nor_release(harness: &dyn Harness) {
    let store = harness.open().await;
    let old = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(TTL_MS as i64);
    let new = taken(&*store, "wallet", "b").await;
    refused!(store.extend_lease(&old, ms(TTL_MS)).await, StoreError::Fenced { epoch: 1, .. });
    assert!(!store.release_lease(&old).await.well());
    assert_eq!(store.list_leases().await.well(), [new]);
}

pub async fn a_zombie_of_the_same_name_is_fenced_too(harness: &dyn Harness) {
    let store = harness.open().await;
    let old = taken(&*store, "wallet", "a").await;
    harness.clock().advance_ms(TTL_MS as i64);
    let new = taken(&*store, "wallet", "a").await;
    refused!(store.extend_lease(&old, ms(TTL_MS)).await, StoreError::Fenced { .. });
    assert!(!store.release_lease(&old).await.well());
    assert_eq!(store.list_leases().await.well(), [new]);
}

pub async fn a_released_lease_is_free_at_once_and_counts_on(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    assert!(store.release_lease(&lease).await.well());
    assert_eq!(store.list_leases().await.well(), []);
    assert!(!store.release_lease(&lease).await.well(), "a second release has nothing to release");
    refused!(store.extend_lease(&lease, ms(TTL_MS)).await, StoreError::Fenced { .. });
    assert_eq!(taken(&*store, "wallet", "b").await.epoch, lease.epoch.next());
}

pub async fn releasing_anothers_lease_changes_nothing(harness: &dyn Harness) {
    let store = harness.open().await;
    let lease = taken(&*store, "wallet", "a").await;
    let pretender = Lease { owner: owner("b"), ..lease.clone() };
    assert!(!store.release_lease(&pretender).await.well());
    assert_eq!(store.list_leases().await.well(), [lease]);
}

pub async fn releasing_an_unknown_lease_says_no(harness: &dyn Harness) {
    let store = harness.open().await;
    assert!(!store.release_lease(&forged("wallet", "a")).await.well());
}

pub async fn leases_of_different_names_are_independent(harness: &dyn Harness) {
    let store = harness.open().await;
    let (first, second) = (taken(&*store, "one", "a").await, taken(&*store, "two", "b").await);
    assert!(store.release_lease(&first).await.well());
    assert_eq!(acquire(&*store, "two", "c").await, None);
    assert_eq!(store.list_leases().await.well(), [second]);
}

pub async fn held_leases_are_listed_by_name_even_expired_ones(harness: &dyn Harness) {
    let store = harness.open().await;
    for name in ["b", "c", "a"] {
        taken(&*store, name, "w").await;
    }
    harness.clock().advance_ms(10 * TTL_MS as i64);
    let names: Vec<String> =
        store.list_leases().await.well().iter().map(|lease| lease.name.to_string()).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

pub async fn a_lease_without_duration_is_over_at_once(harness: &dyn Harness) {
    let store = harness.open().await;
    let none = store.acquire_lease(&lease_name("wallet"), &owner("a"), ms(0)).await.well();
    let first = none.expect("the lease is free");
    assert_eq!(taken(&*store, "wallet", "b").await.epoch, first.epoch.next());
}
