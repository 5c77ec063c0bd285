//! One endpoint of three that lies and is asked first, beside two that tell the truth: it chooses no final
//! block, no nonce and no gas, and holds nothing up.

use alloy_primitives::{Address, Bytes};
use windlass_core::finality::Finality;
use windlass_core::payout::ledger::{IntentId, IntentState};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::transaction::ReadTransaction;
use windlass_core::payout::vault::calldata;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::options::Confirmation;
use windlass_engine::pay::submit::Submitted;

use super::tampering::on_both_stores;
use super::tricks::Tricks;
use super::world::{FINALITY, Process, World, pauseCall, unpauseCall};
use crate::database::Kind;

on_both_stores!(
    a_revert_that_one_of_three_calls_final_fails_nothing,
    a_payment_that_one_of_three_calls_final_is_not,
    a_newest_block_that_one_of_three_makes_up_makes_nothing_deep,
    one_of_three_that_has_seen_nothing_holds_up_nothing,
    one_of_three_does_not_choose_the_nonce_that_an_account_begins_with,
    two_that_disagree_begin_with_no_nonce,
    one_of_three_calls_neither_the_vault_nor_an_account_short,
    one_of_three_does_not_choose_the_gas,
    one_of_three_does_not_choose_what_gas_costs,
    two_that_disagree_about_what_gas_costs_sign_nothing,
    two_that_disagree_about_gas_sign_nothing,
    too_much_gas_is_put_right_by_a_new_form,
    what_ran_out_of_gas_is_tried_again_with_more,
);

/// A liar of three.
fn lies(world: &World, lie: impl FnOnce(&mut Tricks)) {
    let mut tricks = world.tricks.lock().expect("whole");
    *tricks = Tricks { honest: 2, ..Tricks::default() };
    lie(&mut tricks);
}

fn account(world: &World) -> Address {
    world.chain.accounts()[1].address()
}

async fn signed(world: &World, process: &mut Process) -> (PayoutId, IntentId) {
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("signed");
    (id, world.payout(id).await.intent.expect("submitted"))
}

async fn gas_limit(world: &World, id: IntentId) -> u64 {
    let attempts = world.store.attempts(id).await.expect("read");
    ReadTransaction::read(&attempts.last().expect("signed").raw).expect("ours").transaction.gas_limit
}

async fn is_paid_once(world: &World, process: &mut Process, id: PayoutId) {
    world.drive(process, 60).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(world.payments().await.len(), 1);
    world.agrees().await;
}

/// It is reverted in a block that goes again; then it is mined. A payout that had failed could be tried
/// again beside it.
async fn a_revert_that_one_of_three_calls_final_fails_nothing(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    let (id, intent) = signed(&world, &mut process).await;
    let raw: Bytes = world.store.attempts(intent).await.expect("read")[0].raw.clone();
    world.drop_all();
    world.act(0, world.vault.address, &pauseCall {});
    world.chain.send_raw(&raw).expect("taken");
    world.chain.mine();
    world.act(0, world.vault.address, &unpauseCall {});
    lies(&world, |tricks| tricks.is_newest_final = true);
    for _ in 0..3 {
        world.clock.advance_ms(3_000);
        process.tracker.step().await.expect("looked");
        let payout = world.payout(id).await;
        assert_eq!((payout.state, payout.intent), (PayoutState::Submitted, Some(intent)));
    }
    let all = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
    world.chain.reorg(3, &all).expect("a reorg");
    is_paid_once(&world, &mut process, id).await;
    assert_eq!(world.payout(id).await.intent, Some(intent));
}

async fn a_payment_that_one_of_three_calls_final_is_not(kind: Kind) {
    let tags =
        [(Finality::Finalized, Confirmation::Finalized), (Finality::Finalized, Confirmation::Blocks(5))];
    for (finality, confirmation) in tags {
        let world = World::new(kind, |options| {
            (options.finality, options.confirmation) = (finality, confirmation);
        })
        .await;
        let mut process = world.process("one");
        lies(&world, |tricks| tricks.is_newest_final = true);
        let (id, _) = signed(&world, &mut process).await;
        world.pass_time();
        process.tracker.step().await.expect("looked");
        let payout = world.payout(id).await;
        assert_eq!((payout.state, payout.finalized_at), (PayoutState::Submitted, None), "{finality:?}");
        is_paid_once(&world, &mut process, id).await;
    }
}

async fn a_newest_block_that_one_of_three_makes_up_makes_nothing_deep(kind: Kind) {
    let world = World::new(kind, |options| options.finality = Finality::Depth(FINALITY)).await;
    let mut process = world.process("one");
    lies(&world, |tricks| tricks.made_up = 2 * FINALITY);
    let (id, _) = signed(&world, &mut process).await;
    world.pass_time();
    let _ = process.tracker.step().await;
    let payout = world.payout(id).await;
    assert_eq!((payout.state, payout.finalized_at), (PayoutState::Submitted, None));
    is_paid_once(&world, &mut process, id).await;
}

async fn one_of_three_that_has_seen_nothing_holds_up_nothing(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    lies(&world, |tricks| {
        tricks.nonces.insert(account(&world), 0);
    });
    for number in 0..3 {
        world.approved(&format!("invoice-{number}"), 10).await;
    }
    world.drive(&mut process, 40).await;
    // One that counts too many does not, either.
    lies(&world, |tricks| {
        tricks.nonces.insert(account(&world), 900);
    });
    world.approved("invoice-3", 10).await;
    world.drive(&mut process, 40).await;
    assert_eq!(world.payments().await.len(), 4);
    assert!(!world.is_logged("signer.halted").await);
    world.agrees().await;
}

async fn one_of_three_does_not_choose_the_nonce_that_an_account_begins_with(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    let right = world.chain.nonce(account(&world));
    lies(&world, |tricks| {
        tricks.nonces.insert(account(&world), right + 5);
    });
    let (id, intent) = signed(&world, &mut process).await;
    assert_eq!(intent.nonce, right);
    is_paid_once(&world, &mut process, id).await;
}

async fn two_that_disagree_begin_with_no_nonce(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    lies(&world, |tricks| {
        tricks.nonces.insert(account(&world), 5);
        tricks.honest = 1;
    });
    let id = world.approved("invoice-1", 25).await;
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
    assert_eq!(world.store.list_signers().await.expect("read"), []);
    let reason = world.payout(id).await.hold.expect("a reason").reason;
    assert!(
        reason.contains("do not agree how many transactions") && reason.contains("honest-0: 0"),
        "{reason}"
    );
    *world.tricks.lock().expect("whole") = Tricks::default();
    world.clock.advance_ms(60_000);
    is_paid_once(&world, &mut process, id).await;
}

async fn one_of_three_does_not_choose_the_gas(kind: Kind) {
    for lie in [21_000, 1 << 31] {
        let world = World::new(kind, |_| {}).await;
        let mut process = world.process("one");
        lies(&world, |tricks| tricks.gas = Some(lie));
        let (id, intent) = signed(&world, &mut process).await;
        assert!((60_000..1_000_000).contains(&gas_limit(&world, intent).await), "{lie}");
        is_paid_once(&world, &mut process, id).await;
        assert_eq!(world.payout(id).await.intent, Some(intent));
    }
}

async fn one_of_three_calls_neither_the_vault_nor_an_account_short(kind: Kind) {
    let nothing = || Bytes::from(vec![0; 32]);
    for lie in ["balance", "day", "coin"] {
        let world = World::new(kind, |_| {}).await;
        let mut process = world.process("one");
        lies(&world, |tricks| match lie {
            "balance" => drop(tricks.calls.insert(calldata::balance_of(world.vault.address), nothing())),
            "day" => drop(tricks.calls.insert(calldata::remaining_today(world.token), nothing())),
            _ => tricks.has_no_coin = true,
        });
        let (id, _) = signed(&world, &mut process).await;
        is_paid_once(&world, &mut process, id).await;
    }
}

async fn one_of_three_does_not_choose_what_gas_costs(kind: Kind) {
    for lie in [1, 100_000_000_000] {
        let world = World::new(kind, |_| {}).await;
        let mut process = world.process("one");
        lies(&world, |tricks| tricks.priority_fee = Some(lie));
        let (id, intent) = signed(&world, &mut process).await;
        let forms = world.store.attempts(intent).await.expect("read");
        assert!(forms.iter().all(|form| form.fees.priority_fee == 1_000_000_000), "{forms:?}");
        is_paid_once(&world, &mut process, id).await;
    }
}

async fn two_that_disagree_about_what_gas_costs_sign_nothing(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    lies(&world, |tricks| (tricks.priority_fee, tricks.honest) = (Some(100_000_000_000), 1));
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("held");
    let reason = world.payout(id).await.hold.expect("a reason").reason;
    assert!(reason.contains("do not agree what gas costs"), "{reason}");
    *world.tricks.lock().expect("whole") = Tricks::default();
    world.clock.advance_ms(60_000);
    is_paid_once(&world, &mut process, id).await;
}

async fn two_that_disagree_about_gas_sign_nothing(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    lies(&world, |tricks| (tricks.gas, tricks.honest) = (Some(1 << 31), 1));
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("held");
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Approved);
    let reason = payout.hold.expect("a reason").reason;
    assert!(reason.contains("do not agree how much gas") && reason.contains("2147483648"), "{reason}");
    *world.tricks.lock().expect("whole") = Tricks::default();
    world.clock.advance_ms(60_000);
    is_paid_once(&world, &mut process, id).await;
}

/// The only endpoint has told nonsense for a moment: no block takes what was signed with it, and neither
/// does what follows it.
async fn too_much_gas_is_put_right_by_a_new_form(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    world.tricks.lock().expect("whole").gas = Some(1 << 31);
    let (id, intent) = signed(&world, &mut process).await;
    assert!(gas_limit(&world, intent).await > 1 << 31);
    world.tricks.lock().expect("whole").gas = None;
    is_paid_once(&world, &mut process, id).await;
    assert_eq!(world.payout(id).await.intent, Some(intent));
    assert!(gas_limit(&world, intent).await < 1_000_000);
    // Both forms are of the same transaction, whoever reads them.
    assert_eq!(process.ledger.attempts(intent).await.expect("sound").len(), 2);
    assert_eq!(process.ledger.forgeries(), []);
}

/// Nothing was paid, and the vault refused nothing: that is no end.
async fn what_ran_out_of_gas_is_tried_again_with_more(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    world.tricks.lock().expect("whole").gas = Some(21_000);
    let (id, first) = signed(&world, &mut process).await;
    is_paid_once(&world, &mut process, id).await;
    let last = world.payout(id).await.intent.expect("submitted");
    assert_ne!(first, last);
    assert!(gas_limit(&world, first).await * 2 <= gas_limit(&world, last).await);
    let ended = world.store.intent(first).await.expect("read").expect("there");
    assert_eq!(ended.state, IntentState::Reverted);
}
