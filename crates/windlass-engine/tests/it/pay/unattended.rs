//! Payouts of a vault that another configuration named, or of the configured one: they are found unless a
//! process pays from that vault.

use windlass_core::chain::Address;
use windlass_core::payout::request::VaultRef;
use windlass_engine::pay::reconcile::schedule::Reconciler;
use windlass_engine::pay::unattended::{
    UnattendedVault, is_attended, unattended_configured, unattended_vaults,
};

use super::world::World;
use crate::database::Kind;

async fn payouts_of_a_vault_that_nobody_pays_from_are_found(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let configured = VaultRef { address: Address::repeat_byte(0x55), ..world.vault };
    let found = async || unattended_vaults(&*world.store, configured).await.expect("read");
    assert_eq!(found().await, []);
    world.approved("invoice-1", 25).await;
    world.desk().create(&[world.request("invoice-2", 5)], "asker").await.expect("asked");
    let two = UnattendedVault { vault: world.vault, payouts: 2 };
    assert_eq!(found().await, [two]);
    assert_eq!(unattended_vaults(&*world.store, world.vault).await.expect("read"), [], "its own");

    // A process with the configuration of before pays from it.
    let mut process = world.process("one");
    Reconciler::new(process.payer.clone()).step().await.expect("compared");
    assert_eq!(found().await, []);
    assert!(is_attended(&*world.store, world.vault).await.expect("read"));

    // That process is gone for longer than it holds the vault.
    world.clock.advance_ms(601_000);
    assert_eq!(found().await, [two]);
    world.drive(&mut process, 40).await;
    let one = UnattendedVault { payouts: 1, ..two };
    assert_eq!(found().await, [one], "what is paid does not wait");
}

#[tokio::test]
async fn payouts_of_a_vault_that_nobody_pays_from_are_found_on_sqlite() {
    payouts_of_a_vault_that_nobody_pays_from_are_found(Kind::Sqlite).await;
}

#[tokio::test]
async fn payouts_of_a_vault_that_nobody_pays_from_are_found_on_postgres() {
    payouts_of_a_vault_that_nobody_pays_from_are_found(Kind::Postgres).await;
}

async fn payouts_of_the_configured_vault_that_nobody_pays_are_found(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let found = async || unattended_configured(&*world.store, world.vault).await.expect("read");
    world.desk().create(&[world.request("invoice-1", 5)], "asker").await.expect("asked");
    world.clock.advance_ms(60_000);
    assert_eq!(found().await, None, "it waits for a person");
    world.approved("invoice-2", 25).await;
    assert_eq!(found().await, None, "it was approved just now");
    world.clock.advance_ms(30_000);
    let one = UnattendedVault { vault: world.vault, payouts: 1 };
    assert_eq!(found().await, Some(one));

    let mut process = world.process("one");
    let mut reconciler = Reconciler::new(process.payer.clone());
    reconciler.step().await.expect("compared");
    assert_eq!(found().await, None, "a process pays");
    reconciler.stop().await.expect("stopped");
    assert!(!is_attended(&*world.store, world.vault).await.expect("read"), "it was given back");
    assert_eq!(found().await, None, "it may be a restart");
    world.clock.advance_ms(30_000);
    assert_eq!(found().await, Some(one));

    world.drive(&mut process, 40).await;
    world.clock.advance_ms(60_000);
    assert_eq!(found().await, None, "what is paid does not wait");
}

#[tokio::test]
async fn payouts_of_the_configured_vault_that_nobody_pays_are_found_on_sqlite() {
    payouts_of_the_configured_vault_that_nobody_pays_are_found(Kind::Sqlite).await;
}

#[tokio::test]
async fn payouts_of_the_configured_vault_that_nobody_pays_are_found_on_postgres() {
    payouts_of_the_configured_vault_that_nobody_pays_are_found(Kind::Postgres).await;
}
