//! A payout's life, undisturbed and disturbed.

use std::sync::Arc;

use alloy_primitives::U256;
use windlass_core::payout::ledger::IntentState;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::submit::TransactionChain;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::submit::Submitted;

use super::direct::Calm;
use super::world::{World, pauseCall, unpauseCall};
use crate::database::Kind;

async fn a_payout_is_paid_once(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Confirmed);
    assert_eq!(world.balance(payout.request.to), U256::from(25));
    world.agrees().await;
}

#[tokio::test]
async fn a_payout_is_paid_once_on_sqlite() {
    a_payout_is_paid_once(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_payout_on_postgres_is_paid_once() {
    a_payout_is_paid_once(Kind::Postgres).await;
}

#[tokio::test]
async fn many_go_in_one_transaction() {
    let world = World::new(Kind::Sqlite, |options| options.batch = 50).await;
    for number in 0..30 {
        world.approved(&format!("invoice-{number}"), 10 + number).await;
    }
    let mut process = world.process("one");
    let done = process.submitters[0].step().await.expect("submitted");
    assert_eq!(done, Submitted::Worked { transactions: 1, payouts: 30, held: 0, ended: 0 });
    world.drive(&mut process, 40).await;
    world.agrees().await;
    assert_eq!(world.payments().await.len(), 30);
}

#[tokio::test]
async fn a_reorg_after_confirmation_takes_it_back_and_it_is_paid_again() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    for _ in 0..12 {
        world.round(&mut process).await;
        if world.payout(id).await.state == PayoutState::Confirmed {
            break;
        }
    }
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    // The transaction vanishes with its block: only the stored bytes can bring it back.
    let reorg = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
    world.chain.reorg(4, &reorg).expect("a reorg");
    assert!(world.payments().await.is_empty());
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("looked");
    assert_eq!(world.payout(id).await.state, PayoutState::Submitted);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

#[tokio::test]
async fn while_the_vault_is_paused_payouts_wait_and_say_why() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    world.act(0, world.vault.address, &pauseCall {});
    let mut process = world.process("one");
    world.round(&mut process).await;
    let held = world.payout(id).await;
    assert_eq!(held.state, PayoutState::Approved);
    assert!(held.hold.expect("a reason").reason.contains("EnforcedPause"));
    assert!(world.sent.lock().expect("whole").is_empty(), "nothing was sent");
    world.act(0, world.vault.address, &unpauseCall {});
    world.clock.advance_ms(20_000);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

#[tokio::test]
async fn a_transaction_that_nobody_mines_is_offered_more_for() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    let first = world.store.attempts(intent).await.expect("read")[0].clone();
    // An endpoint has it; then it is dropped, and blocks go by.
    process.tracker.step().await.expect("looked");
    assert!(world.chain.drop_transaction(first.hash));
    world.chain.mine_many(4);
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("looked");
    let attempts = world.store.attempts(intent).await.expect("read");
    assert_eq!(attempts.len(), 2);
    assert!(attempts[1].fees.max_fee * 8 >= attempts[0].fees.max_fee * 9);
    assert!(attempts[1].fees.priority_fee * 8 >= attempts[0].fees.priority_fee * 9);
    world.drive(&mut process, 40).await;
    world.agrees().await;
    let ended = world.store.intent(intent).await.expect("read").expect("there");
    assert_eq!(ended.state, IntentState::Mined);
}

#[tokio::test]
async fn gas_above_the_cap_is_waited_out_while_the_old_form_is_sent_on() {
    let mut world = World::new(Kind::Sqlite, |_| {}).await;
    // What gas costs now is all that may be offered, so nothing more is.
    let gas_cap = world.direct(Arc::new(Calm)).gas_fees().await.expect("fees").max_fee;
    world.options = Arc::new(PayOptions { gas_cap, ..(*world.options).clone() });
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    let first = world.store.attempts(intent).await.expect("read")[0].clone();
    process.tracker.step().await.expect("looked");
    assert!(world.chain.drop_transaction(first.hash));
    world.chain.mine_many(4);
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("looked");
    assert_eq!(world.store.attempts(intent).await.expect("read").len(), 1);
    let held = world.payout(id).await.hold.expect("a reason");
    assert!(held.reason.contains("are offered (`max_fee_gwei`)"), "{}", held.reason);
    assert!(world.chain.is_pooled(first.hash), "the stored bytes were sent again");
    world.drive(&mut process, 40).await;
    world.agrees().await;
}

#[tokio::test]
async fn a_key_that_is_used_elsewhere_is_halted() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    world.act(1, world.token, &super::world::mintCall { to: world.token, amount: U256::ONE });
    let id = world.approved("invoice-1", 25).await;
    // Its block is not final: the endpoints are asked once more.
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
    world.clock.advance_ms(3_000);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    assert_eq!(world.payout(id).await.state, PayoutState::Approved);
    let signers = world.store.list_signers().await.expect("read");
    assert!(signers[0].halted.as_ref().expect("a reason").contains("used elsewhere"));
    let told = world.told("signer.halted").await;
    assert!(told.len() == 1 && told[0].contains("used elsewhere"), "once, to everybody: {told:?}");
    world.log_is_whole().await;
}

/// Nothing is signed for more than is allowed; it waits, and says for what.
#[tokio::test]
async fn gas_above_the_cap_holds_what_is_not_signed_yet() {
    let mut world = World::new(Kind::Sqlite, |options| options.gas_cap = 1).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("held");
    let held = world.payout(id).await;
    assert_eq!(held.state, PayoutState::Approved);
    assert!(held.hold.expect("a reason").reason.contains("are offered (`max_fee_gwei`)"));
    assert!(world.sent.lock().expect("whole").is_empty());
    world.options = Arc::new(PayOptions { gas_cap: u128::MAX, ..(*world.options).clone() });
    world.clock.advance_ms(61_000);
    world.drive(&mut world.process("two"), 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}
