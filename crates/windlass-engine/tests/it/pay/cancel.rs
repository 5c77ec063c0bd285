//! A request is cancelled on the vault while its payout is on its way: whichever comes
//! first in the chain counts, and only once nothing can undo it.

use windlass_core::payout::ledger::IntentState;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::submit::Submitted;

use super::world::{FINALITY, World, cancelRequestCall};
use crate::database::Kind;

/// Cancels a payout's request on the vault; it waits to be mined, and comes before ours.
pub(super) async fn cancel(world: &World, id: PayoutId) {
    let request = world.payout(id).await.request;
    let cancel = cancelRequestCall {
        requestId: request.request_id(),
        token: request.token,
        to: request.to,
        amount: request.amount,
    };
    world.send_as(0, world.vault.address, &cancel);
}

/// The blocks go with everything in them.
fn forgetful() -> ReorgOptions {
    ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() }
}

#[tokio::test]
async fn a_cancel_that_comes_first_ends_the_payout() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    // Both wait to be mined; the cancel offers more and comes first.
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    cancel(&world, id).await;
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Failed, "{payout:#?}");
    assert!(payout.reason.expect("a reason").contains("cancelled"));
    world.agrees().await;
}

/// The payout comes first, and the cancel is refused.
#[tokio::test]
async fn a_cancel_that_comes_too_late_changes_nothing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    world.chain.mine();
    cancel(&world, id).await;
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// Cancelled in a block that goes: the payout was reverted there, and is paid in the end.
#[tokio::test]
async fn a_cancel_that_goes_with_its_block_ends_nothing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    cancel(&world, id).await;
    for _ in 0..3 {
        world.round(&mut process).await;
        assert_eq!(world.payout(id).await.state, PayoutState::Submitted);
    }
    world.chain.reorg(3, &forgetful()).expect("a reorg");
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// Cancelled before anything was signed, in a block that goes: it waited, and is paid.
#[tokio::test]
async fn a_cancel_that_is_not_final_is_waited_out_before_signing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    cancel(&world, id).await;
    world.chain.mine();
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("held");
    let held = world.payout(id).await;
    assert_eq!(held.state, PayoutState::Approved);
    assert!(held.hold.expect("a reason").reason.contains("cancelled"));
    world.chain.reorg(1, &forgetful()).expect("a reorg");
    world.clock.advance_ms(20_000);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

#[tokio::test]
async fn a_batch_that_is_reverted_is_taken_apart() {
    let world = World::new(Kind::Sqlite, |options| options.batch = 10).await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(world.approved(&format!("invoice-{number}"), 10).await);
    }
    let mut process = world.process("one");
    let done = process.submitters[0].step().await.expect("submitted");
    assert!(matches!(done, Submitted::Worked { transactions: 1, payouts: 3, .. }), "{done:?}");
    // One of them is cancelled before the batch is mined, which reverts all of it.
    cancel(&world, ids[1]).await;
    world.drive(&mut process, 80).await;
    let mut states = Vec::new();
    for id in &ids {
        states.push(world.payout(*id).await.state);
    }
    assert_eq!(states, [PayoutState::Confirmed, PayoutState::Failed, PayoutState::Confirmed]);
    world.agrees().await;
}

/// A batch is reverted for good, and one of its other payouts is cancelled in a block that
/// may still go: that payout has not failed yet, and is paid when the block is gone.
#[tokio::test]
async fn a_cancel_that_is_not_final_fails_nothing_of_a_batch_that_is_over() {
    for is_gone in [true, false] {
        let world = World::new(Kind::Sqlite, |options| options.batch = 10).await;
        let first = world.approved("invoice-1", 10).await;
        let second = world.approved("invoice-2", 20).await;
        let mut process = world.process("one");
        process.submitters[0].step().await.expect("submitted");
        let intent = world.payout(second).await.intent.expect("submitted");
        cancel(&world, first).await;
        // The batch's block, and all but one of those that make it final.
        world.chain.mine_many(FINALITY);
        cancel(&world, second).await;
        world.chain.mine();
        world.clock.advance_ms(5_000);
        process.tracker.step().await.expect("looked");
        let ended = world.store.intent(intent).await.expect("read").expect("there");
        assert_eq!(ended.state, IntentState::Reverted);
        assert_eq!(world.payout(first).await.state, PayoutState::Failed);
        assert_eq!(world.payout(second).await.state, PayoutState::Submitted, "its cancel is not final");
        if is_gone {
            world.chain.reorg(1, &forgetful()).expect("a reorg");
        }
        world.clock.advance_ms(20_000);
        world.drive(&mut process, 60).await;
        let wanted = if is_gone { PayoutState::Confirmed } else { PayoutState::Failed };
        assert_eq!(world.payout(second).await.state, wanted);
        world.agrees().await;
    }
}
