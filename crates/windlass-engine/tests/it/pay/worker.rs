//! One step of the worker at a time, as the reference's worker is held to: what is taken up,
//! what is called, when a payout counts as paid, and who may go on with it.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256, keccak256};
use async_trait::async_trait;
use windlass_core::job::{DeletedJobs, JobClaim};
use windlass_core::name::Owner;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskLimits;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::transaction::ReadTransaction;
use windlass_core::payout::vault::calldata::{self, VaultPayout};
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_engine::pay::names::PayNames;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::submit::Submitted;
use windlass_engine::pay::track::Tracked;

use super::direct::{Calm, ChainHook};
use super::world::{World, pauseCall};
use crate::database::Kind;

async fn world() -> World {
    World::new(Kind::Sqlite, |_| {}).await
}

async fn states(world: &World, ids: &[PayoutId]) -> Vec<PayoutState> {
    let mut states = Vec::new();
    for id in ids {
        states.push(world.payout(*id).await.state);
    }
    states
}

fn was_sent(world: &World) -> usize {
    world.sent.lock().expect("whole").len()
}

const ONE: Submitted = Submitted::Worked { transactions: 1, payouts: 1, held: 0, ended: 0 };

#[tokio::test]
async fn without_payouts_nothing_is_done() {
    let world = world().await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    assert_eq!(process.tracker.step().await.expect("stepped"), Tracked::Idle);
}

#[tokio::test]
async fn what_nobody_has_approved_is_left_alone() {
    let world = world().await;
    let created = world.desk().create(&[world.request("invoice-1", 25)], "asker").await.expect("asked");
    let before = world.payout(created[0].payout.id).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    assert_eq!(world.payout(before.id).await, before);
    assert_eq!(was_sent(&world), 0);
}

#[tokio::test]
async fn an_approved_payout_is_submitted_with_its_transaction() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), ONE);
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Submitted);
    assert!(payout.submitted_at.is_some() && payout.intent.is_some());
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle, "once");
    assert_eq!(was_sent(&world), 1);
}

#[tokio::test]
async fn the_transaction_says_what_was_asked_for() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    world.process("one").submitters[0].step().await.expect("stepped");
    let request = world.payout(id).await.request;
    let sent = ReadTransaction::read(&world.sent.lock().expect("whole")[0]).expect("a transaction");
    let wanted = VaultPayout {
        request_id: request.request_id(),
        token: world.token,
        to: request.to,
        amount: U256::from(25),
    };
    assert_eq!(sent.transaction.to, Some(world.vault.address));
    assert_eq!(sent.transaction.data, calldata::payout(&wanted));
    assert_eq!(sent.sender, world.chain.accounts()[1].address());
}

/// Following what was sent and sending more are lanes of their own: neither waits for the other.
#[tokio::test]
async fn submitted_and_approved_payouts_hold_up_neither() {
    let world = World::new(Kind::Sqlite, |options| options.max_open = 1).await;
    let first = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), ONE);
    let second = world.approved("invoice-2", 26).await;
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Full);
    world.chain.mine_many(3);
    world.clock.advance_ms(3_000);
    process.tracker.step().await.expect("looked");
    assert_eq!(states(&world, &[first, second]).await, [PayoutState::Confirmed, PayoutState::Approved]);
    // Nothing that is approved can be sent now, and what was sent is followed all the same.
    world.act(0, world.vault.address, &pauseCall {});
    world.chain.mine_many(6);
    world.clock.advance_ms(3_000);
    process.submitters[0].step().await.expect("held");
    process.tracker.step().await.expect("looked");
    assert!(world.payout(first).await.finalized_at.is_some());
    assert_eq!(states(&world, &[second]).await, [PayoutState::Approved]);
}

#[tokio::test]
async fn what_the_rules_refuse_is_rejected_without_a_word_to_the_chain() {
    let denied = Address::left_padding_from(&keccak256("denied")[..8]);
    let world = World::new(Kind::Sqlite, |options| {
        let (most, all) = (Some(U256::from(50)), Some(U256::from(60)));
        options.rules.limits =
            RiskLimits { max_per_request: most, max_daily_total: all, ..RiskLimits::default() };
        options.rules.denylist.insert(denied);
    });
    let world = world.await;
    world.approved("invoice-1", 50).await;
    let desk = world.desk();
    assert_eq!(world.request("denied", 5).to, denied);
    let refused = [
        (
            "too-much",
            51,
            "maxPerRequest exceeded: a payout may take 0.00005 DUSD at most, and this payout takes 0.000051 DUSD",
        ),
        ("denied", 5, "recipient is denylisted"),
        (
            "over-the-day",
            11,
            "maxDailyTotal exceeded: 0.00005 DUSD of 0.00006 DUSD are paid or reserved today, 0.00001 DUSD are \
             left, and this payout takes 0.000011 DUSD",
        ),
    ];
    for (key, amount, reason) in refused {
        let created = desk.create(&[world.request(key, amount)], "asker").await.expect("asked");
        let decided = desk.approve(created[0].payout.id, "boss").await.expect("decided").payout;
        assert_eq!((decided.state, decided.reason.as_deref()), (PayoutState::Rejected, Some(reason)));
    }
    // The limit itself is allowed, and the payout in question counts once.
    world.approved("to-the-brim", 10).await;
    world.budgets_agree().await;
    world.drive(&mut world.process("one"), 40).await;
    assert_eq!(world.payments().await.len(), 2);
    world.agrees().await;
}

/// The rules became stricter after it was approved: asked once more before signing.
#[tokio::test]
async fn what_the_rules_refuse_by_now_is_not_signed() {
    let mut world = world().await;
    let large = world.approved("large", 51).await;
    let denied = world.approved("denied", 5).await;
    let mut options: PayOptions = (*world.options).clone();
    options.rules.limits.max_per_request = Some(U256::from(50));
    options.rules.denylist.insert(world.request("denied", 5).to);
    world.options = Arc::new(options);
    let done = world.process("one").submitters[0].step().await.expect("stepped");
    assert_eq!(done, Submitted::Worked { transactions: 0, payouts: 0, held: 0, ended: 2 });
    let reasons = [world.payout(large).await.reason, world.payout(denied).await.reason];
    assert_eq!(
        reasons.map(Option::unwrap_or_default),
        [
            "maxPerRequest exceeded: a payout may take 0.00005 DUSD at most, and this payout takes 0.000051 DUSD",
            "recipient is denylisted",
        ]
    );
    assert_eq!(states(&world, &[large, denied]).await, [PayoutState::Rejected; 2]);
    assert_eq!(was_sent(&world), 0);
    world.agrees().await;
}

#[tokio::test]
async fn a_payout_is_confirmed_by_so_many_blocks_its_own_among_them() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    for blocks in 0..5 {
        world.clock.advance_ms(3_000);
        process.tracker.step().await.expect("looked");
        let payout = world.payout(id).await;
        assert_eq!(payout.inclusion.is_some(), blocks > 0, "after {blocks} blocks");
        let is_confirmed = payout.state == PayoutState::Confirmed;
        assert_eq!(is_confirmed, blocks >= 3, "after {blocks} blocks");
        assert_eq!(payout.confirmed_at.is_some(), is_confirmed);
        world.chain.mine();
    }
}

#[tokio::test]
async fn a_payout_that_is_deep_when_it_is_first_looked_at_is_confirmed_at_once() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    world.chain.mine_many(5);
    process.tracker.step().await.expect("looked");
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(was_sent(&world), 1, "it is not sent again");
}

#[tokio::test]
async fn without_a_receipt_it_stays_submitted() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    for _ in 0..5 {
        world.drop_all();
        world.pass_time();
        process.tracker.step().await.expect("looked");
        assert_eq!(world.payout(id).await.state, PayoutState::Submitted);
    }
}

/// Reverted, it has failed: not while its block may go, but then for good.
#[tokio::test]
async fn a_reverted_payout_has_failed_once_that_is_final() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    world.send_as(0, world.vault.address, &pauseCall {});
    let mut seen = 0;
    for _ in 0..12 {
        world.round(&mut process).await;
        let payout = world.payout(id).await;
        if payout.state == PayoutState::Failed {
            let reason = payout.reason.expect("a reason");
            assert!(reason.contains("was reverted"), "{reason}");
            break;
        }
        assert_eq!(payout.state, PayoutState::Submitted);
        seen += usize::from(payout.inclusion.is_some());
    }
    assert!(seen >= 5, "it was waited until nothing could undo it: {seen}");
    assert_eq!(world.payout(id).await.state, PayoutState::Failed);
    world.agrees().await;
}

/// Stored, and its process died before it was sent: what is stored is sent, and nothing is signed.
#[tokio::test]
async fn whoever_comes_next_sends_what_is_stored() {
    struct Mute;
    #[async_trait]
    impl ChainHook for Mute {
        async fn before(&self, call: &'static str) -> Result<(), ChainError> {
            match call {
                "send" => Err(ChainError::new(ChainErrorKind::Unreachable, "no wire")),
                _ => Ok(()),
            }
        }
        async fn after(&self, _: &'static str) -> Result<(), ChainError> {
            Ok(())
        }
    }
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let mut first = world.process_of("first", world.store.clone(), Arc::new(Mute), 1);
    assert_eq!(first.submitters[0].step().await.expect("stepped"), ONE);
    let before = world.payout(id).await;
    assert_eq!((before.state, was_sent(&world)), (PayoutState::Submitted, 0));
    drop(first);
    world.clock.advance_ms(61_000);
    let mut second = world.process("second");
    second.tracker.step().await.expect("looked");
    assert_eq!(second.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    assert_eq!(was_sent(&world), 1);
    world.drive(&mut second, 40).await;
    let after = world.payout(id).await;
    assert_eq!((after.intent, after.submitted_at), (before.intent, before.submitted_at));
    world.agrees().await;
}

/// Sent, and its process died: another finds it paid, or reverted, and sends nothing.
#[tokio::test]
async fn whoever_comes_next_finds_out_what_became_of_it() {
    for is_reverted in [false, true] {
        let world = world().await;
        let id = world.approved("invoice-1", 25).await;
        let mut first = world.process("first");
        assert_eq!(first.submitters[0].step().await.expect("stepped"), ONE);
        let before = world.payout(id).await;
        drop(first);
        if is_reverted {
            world.send_as(0, world.vault.address, &pauseCall {});
        }
        world.chain.mine_many(8);
        world.clock.advance_ms(61_000);
        let mut second = world.process("second");
        second.tracker.step().await.expect("looked");
        let after = world.payout(id).await;
        let wanted = if is_reverted { PayoutState::Failed } else { PayoutState::Confirmed };
        assert_eq!((after.state, after.submitted_at), (wanted, before.submitted_at));
        assert_eq!(was_sent(&world), 1);
        world.agrees().await;
    }
}

#[tokio::test]
async fn what_is_past_its_approval_is_approved_no_more() {
    let world = world().await;
    let id = world.approved("invoice-1", 25).await;
    let before = world.payout(id).await;
    let late = world.desk().approve(id, "chief").await.expect_err("too late");
    assert!(matches!(late, DeskError::NotPending(PayoutState::Approved)), "{late}");
    assert_eq!(world.payout(id).await, before);
}

#[tokio::test]
async fn what_another_works_on_is_left_alone_until_its_hold_runs_out() {
    let world = world().await;
    world.approved("invoice-1", 25).await;
    let claim = JobClaim {
        queue: PayNames::new(world.vault).expect("names").submit,
        owner: Owner::new("another").expect("a name"),
        ttl: Duration::from_secs(30),
        max_jobs: 10,
        max_per_lane: 1,
        max_attempts: 10,
        deleted: DeletedJobs::Skip,
    };
    assert_eq!(world.store.claim_jobs(&claim).await.expect("claimed").len(), 1);
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    world.clock.advance_ms(31_000);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), ONE);
}

#[tokio::test]
async fn an_account_has_one_who_gives_out_its_nonces() {
    let world = world().await;
    world.approved("invoice-1", 25).await;
    let calm = || Arc::new(Calm);
    let mut one = world.process_of("one", world.store.clone(), calm(), 1);
    let mut other = world.process_of("other", world.store.clone(), calm(), 1);
    assert_eq!(one.submitters[0].step().await.expect("stepped"), ONE);
    world.approved("invoice-2", 26).await;
    assert_eq!(other.submitters[0].step().await.expect("stepped"), Submitted::NotOurs);
    world.clock.advance_ms(31_000);
    assert_eq!(other.submitters[0].step().await.expect("stepped"), ONE);
    world.clock.advance_ms(31_000);
    world.drive(&mut other, 40).await;
    world.agrees().await;
}

#[tokio::test]
async fn the_oldest_is_submitted_first_and_no_more_than_there_is_room_for() {
    let world = World::new(Kind::Sqlite, |options| options.max_open = 2).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(world.approved(&format!("invoice-{number}"), 10 + number).await);
        world.clock.advance_ms(10);
    }
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("stepped");
    let wanted = [PayoutState::Submitted, PayoutState::Submitted, PayoutState::Approved];
    assert_eq!(states(&world, &ids).await, wanted);
    let nonces: Vec<u64> = {
        let (first, second) = (world.payout(ids[0]).await, world.payout(ids[1]).await);
        [first, second].map(|payout| payout.intent.expect("submitted").nonce).to_vec()
    };
    assert!(nonces[0] < nonces[1], "{nonces:?}");
    world.drive(&mut process, 40).await;
    assert_eq!(world.payments().await.len(), 3);
    world.agrees().await;
}
