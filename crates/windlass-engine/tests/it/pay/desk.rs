//! The desk: what is tried again is so once, and what is no longer paid is not approved.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::U256;
use async_trait::async_trait;
use windlass_core::chain::Address;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::answer::VaultStatus;
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_engine::pay::desk::Desk;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::submit::Submitted;

use super::direct::ChainHook;
use super::world::World;
use crate::database::Kind;

fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).expect("a key")
}

async fn rejected(world: &World, desk: &Desk, name: &str) -> PayoutId {
    let id = desk.create(&[world.request(name, 5)], "asker").await.expect("asked")[0].payout.id;
    desk.reject(id, "boss", "no").await.expect("rejected");
    id
}

async fn two_at_once(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let desk = world.desk();
    let old = rejected(&world, &desk, "invoice-1").await;
    let retry = |name: &'static str| desk.retry(old, key(name), VaultStatus::Unknown, "asker");
    let (one, other) = tokio::join!(retry("again-1"), retry("again-2"));
    let (made, refused) = match (one, other) {
        (Ok(made), Err(refused)) | (Err(refused), Ok(made)) => (made, refused),
        both => panic!("one of them, and only one: {both:?}"),
    };
    assert_eq!(made.payout.retry_of, Some(old));
    assert!(matches!(refused, DeskError::RetriedAlready(by) if by == made.payout.id), "{refused:?}");
}

#[tokio::test]
async fn of_two_who_try_again_at_once_one_is_told_of_the_other() {
    two_at_once(Kind::Sqlite).await;
}

#[tokio::test]
async fn of_two_who_try_again_at_once_one_is_told_of_the_other_postgres() {
    two_at_once(Kind::Postgres).await;
}

#[tokio::test]
async fn another_payout_is_never_taken_for_the_retry() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let desk = world.desk();
    let old = rejected(&world, &desk, "invoice-1").await;
    // The same recipient and amount, asked for under a key that the retry is given by chance.
    let alike = windlass_core::payout::request::PayoutRequest {
        key: key("invoice-1-retry"),
        ..world.request("invoice-1", 5)
    };
    let other = desk.create(&[alike], "asker").await.expect("asked")[0].payout.id;
    for name in ["invoice-1", "invoice-1-retry"] {
        let told = desk.retry(old, key(name), VaultStatus::Unknown, "asker").await;
        let Err(DeskError::KeyReused { id, .. }) = told else { panic!("{name}: {told:?}") };
        assert!([old, other].contains(&id));
    }
    let made = desk.retry(old, key("fresh"), VaultStatus::Unknown, "asker").await.expect("asked");
    let again = desk.retry(old, key("fresh"), VaultStatus::Unknown, "asker").await.expect("the same");
    assert_eq!((made.is_new, again.is_new, again.payout.id), (true, false, made.payout.id));
}

#[tokio::test]
async fn a_token_that_is_no_longer_paid_is_neither_approved_nor_signed() {
    let mut world = World::new(Kind::Sqlite, |_| {}).await;
    let approved = world.approved("invoice-1", 5).await;
    let pending =
        world.desk().create(&[world.request("invoice-2", 5)], "asker").await.expect("asked")[0].payout.id;
    let mut options = (*world.options).clone();
    let token = options.tokens.pop_first().expect("a token").1;
    options.tokens.insert(Address::repeat_byte(9), token);
    world.options = Arc::new(options);
    let told = world.desk().approve(pending, "boss").await;
    assert!(matches!(told, Err(DeskError::UnknownToken(_))), "{told:?}");
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("looked at");
    let waits = world.payout(approved).await;
    assert_eq!(waits.state, PayoutState::Approved);
    let reason = waits.hold.expect("a reason").reason;
    let is_told = reason.contains("does not know its token") && reason.contains("restart `windlass run`");
    assert!(is_told, "the token may have been added after the process began: {reason}");
}

/// Why a payout waits, once an account has looked at it.
async fn waits(world: &World, id: PayoutId) -> String {
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("looked at");
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Approved, "{payout:?}");
    payout.hold.expect("a reason").reason
}

/// Whoever can write to the database, but has not got the key, can have nothing paid.
#[tokio::test]
async fn an_approval_that_nobody_vouches_for_pays_nothing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let strange = AuditKey::new([7; 32]);
    let random = Arc::new(|| 4_711_u128);
    let desk = Desk::new(Ledger::new(world.store.clone(), strange), world.options.clone(), random);
    let desk = desk.expect("a desk");
    let id = desk.create(&[world.request("invoice-1", 5)], "mallory").await.expect("asked")[0].payout.id;
    desk.approve(id, "boss").await.expect("approved, as far as the database knows");
    let mut process = world.process("one");
    let refused = process.submitters[0].step().await.expect_err("nothing is signed");
    assert_eq!(refused.to_string(), "the audit log is broken: entry 1 was altered, or inserted");
    assert_eq!(world.payments().await.len(), 0);
}

#[tokio::test]
async fn how_many_have_to_approve_is_up_to_whoever_signs() {
    let mut world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 5).await;
    let mut options = (*world.options).clone();
    options.approvals.others.insert(U256::ZERO, 2);
    world.options = Arc::new(options);
    assert_eq!(waits(&world, id).await, "1 valid approvals, and it takes 2");
}

#[tokio::test]
async fn who_approves_without_a_key_does_so_in_development_only() {
    let mut world = World::new(Kind::Sqlite, |_| {}).await;
    let desk = world.desk();
    let id = desk.create(&[world.request("invoice-1", 5)], "asker").await.expect("asked")[0].payout.id;
    desk.approve(id, "development/approver").await.expect("approved");
    assert_eq!(waits(&world, id).await, "0 valid approvals, and it takes 1");
    let mut options = (*world.options).clone();
    options.is_development = true;
    world.options = Arc::new(options);
    world.clock.advance_ms(60_000);
    let mut process = world.process("two");
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
}

/// Every third question of one kind is not answered.
struct Flaky(AtomicU64);

#[async_trait]
impl ChainHook for Flaky {
    async fn before(&self, call: &'static str) -> Result<(), ChainError> {
        let is_lost = call == "estimate_gas" && self.0.fetch_add(1, Ordering::SeqCst) % 3 == 2;
        if is_lost { Err(ChainError::new(ChainErrorKind::RateLimited, "too many requests")) } else { Ok(()) }
    }

    async fn after(&self, _: &'static str) -> Result<(), ChainError> {
        Ok(())
    }
}

#[tokio::test]
async fn an_endpoint_that_fails_now_and_then_holds_up_only_those_it_failed() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut ids = Vec::new();
    for number in 0..30 {
        ids.push(world.approved(&format!("invoice-{number}"), 5).await);
    }
    let hook = Arc::new(Flaky(AtomicU64::new(0)));
    let mut process = world.process_of("one", world.store.clone(), hook, 1);
    let done = process.submitters[0].step().await.expect("some of them");
    assert!(matches!(done, Submitted::Worked { payouts: 20, .. }), "{done:?}");
    world.drive(&mut process, 60).await;
    assert_eq!(world.payments().await.len(), 30);
    world.agrees().await;
}
