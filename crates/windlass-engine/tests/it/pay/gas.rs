//! Accounts without gas money: nothing is signed that they cannot pay for, the payouts say why they
//! wait, and all goes on once there is money.

use std::sync::Arc;

use alloy_primitives::{B256, U256, keccak256};
use windlass_core::payout::signer::Signer;
use windlass_core::payout::state::PayoutState;
use windlass_devnet::chain::DevAccount;
use windlass_engine::pay::accounts::{AccountWatcher, Blocked};
use windlass_engine::pay::submit::Submitted;

use super::direct::Calm;
use super::world::{DevSigner, Process, World, grantRoleCall};
use crate::database::Kind;

/// An account that may pay and has nothing.
fn poor(world: &World) -> DevAccount {
    let account = DevAccount::from_key(B256::repeat_byte(0x77)).expect("a key");
    let role = keccak256("OPERATOR_ROLE");
    world.act(0, world.vault.address, &grantRoleCall { role, account: account.address() });
    account
}

fn process(world: &World, accounts: Vec<DevAccount>) -> Process {
    let signer = |account| Arc::new(DevSigner(account, Arc::new(Calm))) as Arc<dyn Signer>;
    let signers = accounts.into_iter().map(signer).collect();
    world.process_signing("one", world.store.clone(), Arc::new(Calm), signers)
}

async fn an_account_without_gas_signs_nothing_and_goes_on_once_it_has_some(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let poor = poor(&world);
    let id = world.approved("invoice-1", 25).await;
    let mut process = process(&world, vec![poor.clone()]);
    let watcher = AccountWatcher::new(process.payer.clone());
    process.submitters[0].step().await.expect("held");
    let waiting = world.payout(id).await;
    let reason = waiting.hold.expect("a reason").reason;
    assert_eq!(waiting.state, PayoutState::Approved);
    for words in [&*poor.address().to_string(), "has 0 of the chain's coin for gas", "send it more"] {
        assert!(reason.contains(words), "{reason}");
    }
    // One that is asked for later says so, too.
    let later = world.approved("invoice-2", 25).await;
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::ShortOfGas);
    assert_eq!(world.payout(later).await.hold.expect("a reason").reason, reason);
    assert!(!watcher.step().await.expect("asked"));
    let known = process.payer.accounts().get(poor.address());
    assert!(matches!(known.blocked, Some(Blocked::ShortOfGas { .. })));
    assert!(world.sent.lock().expect("whole").is_empty(), "nothing was signed");
    world.send_coin(0, poor.address(), U256::from(10_u64.pow(18)));
    assert!(watcher.step().await.expect("asked"), "it has enough");
    world.clock.advance_ms(20_000);
    world.drive(&mut process, 40).await;
    for id in [id, later] {
        assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    }
    world.agrees().await;
}

#[tokio::test]
async fn an_account_without_gas_goes_on_once_it_has_some_on_sqlite() {
    an_account_without_gas_signs_nothing_and_goes_on_once_it_has_some(Kind::Sqlite).await;
}

#[tokio::test]
async fn an_account_without_gas_on_postgres_goes_on_once_it_has_some() {
    an_account_without_gas_signs_nothing_and_goes_on_once_it_has_some(Kind::Postgres).await;
}

/// Another account of the process pays meanwhile, and no payout waits.
#[tokio::test]
async fn an_account_without_gas_holds_up_no_other() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let accounts = vec![poor(&world), world.chain.accounts().swap_remove(1)];
    let mut process = process(&world, accounts);
    for number in 0..5 {
        world.approved(&format!("invoice-{number}"), 10).await;
    }
    world.drive(&mut process, 60).await;
    world.agrees().await;
    assert_eq!(world.payments().await.len(), 5);
    assert!(world.entries("payout.held").await.is_empty(), "none of them waited");
}

/// Guards against fees that rose by an eighth every three blocks while the account had no money,
/// and were paid in full once it had some.
#[tokio::test]
async fn what_an_account_cannot_pay_for_is_not_offered() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let poor = poor(&world);
    let id = world.approved("invoice-1", 25).await;
    let mut process = process(&world, vec![poor.clone()]);
    process.submitters[0].step().await.expect("held");
    let cost = process.payer.accounts().get(poor.address()).gas.expect("asked").cost.0;
    world.send_coin(0, poor.address(), cost);
    AccountWatcher::new(process.payer.clone()).step().await.expect("asked");
    world.clock.advance_ms(20_000);
    process.submitters[0].step().await.expect("signed");
    let intent = world.payout(id).await.intent.expect("submitted");
    for _ in 0..30 {
        world.clock.advance_ms(5_000);
        process.tracker.step().await.expect("looked");
        // No block takes it.
        world.drop_all();
        world.chain.mine_many(4);
    }
    let gas_limit = U256::from(world.store.intent(intent).await.expect("read").expect("there").gas_limit);
    for attempt in world.store.attempts(intent).await.expect("read") {
        assert!(gas_limit * U256::from(attempt.fees.max_fee) <= cost, "{attempt:?}");
    }
    let reason = world.payout(id).await.hold.expect("a reason").reason;
    assert!(reason.contains("for gas") || reason.contains("is offered no more"), "{reason}");
    world.send_coin(0, poor.address(), U256::from(10_u64.pow(18)));
    world.drive(&mut process, 60).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// A transaction that no endpoint has is sent again, and offered no more for: its price is not what
/// keeps it from being mined.
#[tokio::test]
async fn what_no_endpoint_has_is_not_offered_more_for() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("signed");
    let intent = world.payout(id).await.intent.expect("submitted");
    world.drop_all();
    world.tricks.lock().expect("whole").refuses_sends = true;
    for _ in 0..20 {
        world.clock.advance_ms(5_000);
        process.tracker.step().await.expect("looked");
        world.chain.mine_many(4);
    }
    assert_eq!(world.store.attempts(intent).await.expect("read").len(), 1);
    world.tricks.lock().expect("whole").refuses_sends = false;
    world.drive(&mut process, 60).await;
    world.agrees().await;
}
