//! A vault that wants each payout approved by a second key.

use alloy_primitives::U256;
use alloy_sol_types::sol;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::answer::VaultStatus;
use windlass_engine::pay::options::PayOptions;

use super::world::{FINALITY, World, raiseApprovalNonceCall, revokeRiskSignerCall, unpauseCall};

sol! {
    function scheduleRiskSigner(address signer);
    function applyRiskSigner();
}

/// The account whose approval the vault wants.
const RISK_SIGNER: usize = 8;
/// The delay of a new risk signer, in blocks of twelve seconds.
const DELAY_BLOCKS: u64 = 3_600 / 12 + 1;

async fn world(change: impl FnOnce(&mut PayOptions)) -> World {
    let world = World::with_risk_signer(RISK_SIGNER, change).await;
    world.clock.set_ms(world.chain_now_ms());
    world
}

async fn approve_three(world: &World) -> Vec<PayoutId> {
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(world.approved(&format!("invoice-{number}"), 10 + number).await);
    }
    ids
}

async fn all(world: &World, ids: &[PayoutId]) -> Vec<Payout> {
    let mut payouts = Vec::new();
    for id in ids {
        payouts.push(world.payout(*id).await);
    }
    payouts
}

/// Where every payout of these waits, for this.
async fn wait_for(world: &World, ids: &[PayoutId], reason: &str) {
    for payout in all(world, ids).await {
        assert_eq!(payout.state, PayoutState::Approved);
        let hold = payout.hold.expect("a reason");
        assert!(hold.reason.contains(reason), "{}", hold.reason);
    }
    assert!(world.sent.lock().expect("whole").is_empty(), "nothing was sent");
}

/// What a transaction was sent with that is too late: alone it fails, and as another payout
/// it is paid; together they are taken apart and approved anew.
async fn is_made_up_for(world: &World, batch: usize, ids: &[PayoutId]) {
    let states: Vec<PayoutState> = all(world, ids).await.iter().map(|payout| payout.state).collect();
    if batch > 1 {
        assert_eq!(states, [PayoutState::Confirmed; 3]);
        assert_eq!(world.payments().await.len(), 3);
        return;
    }
    assert_eq!(states, [PayoutState::Failed; 3]);
    assert!(world.payments().await.is_empty());
    for (number, id) in ids.iter().enumerate() {
        let key = IdempotencyKey::new(format!("again-{number}")).expect("a key");
        let desk = world.desk();
        let again = desk.retry(*id, key, VaultStatus::Unknown, "asker").await.expect("asked").payout;
        desk.approve(again.id, "boss").await.expect("approved");
    }
    world.clock.set_ms(world.chain_now_ms());
    world.drive(&mut world.process("two"), 60).await;
    assert_eq!(world.payments().await.len(), 3);
}

#[tokio::test]
async fn the_risk_signers_key_approves_what_is_paid() {
    for batch in [1, 10] {
        let world = world(|options| options.batch = batch).await;
        let ids = approve_three(&world).await;
        world.drive(&mut world.process("one"), 40).await;
        let states: Vec<PayoutState> = all(&world, &ids).await.iter().map(|payout| payout.state).collect();
        assert_eq!(states, [PayoutState::Confirmed; 3]);
        world.agrees().await;
    }
}

#[tokio::test]
async fn an_approval_that_runs_out_while_its_transaction_waits() {
    for batch in [1, 10] {
        let world = world(|options| {
            options.batch = batch;
            options.approval_ttl = std::time::Duration::from_secs(600);
        });
        let world = world.await;
        let ids = approve_three(&world).await;
        let mut process = world.process("one");
        process.submitters[0].step().await.expect("submitted");
        // Nobody mines it for longer than the approval is good.
        world.drop_all();
        world.chain.mine_many(600 / 12 + 1);
        world.clock.set_ms(world.chain_now_ms());
        world.drive(&mut process, 80).await;
        is_made_up_for(&world, batch, &ids).await;
        world.agrees().await;
    }
}

#[tokio::test]
async fn a_nonce_that_is_raised_voids_what_is_on_its_way() {
    for batch in [1, 10] {
        let world = world(|options| options.batch = batch).await;
        let ids = approve_three(&world).await;
        let mut process = world.process("one");
        process.submitters[0].step().await.expect("submitted");
        // It offers more, and is mined first.
        world.send_as(0, world.vault.address, &raiseApprovalNonceCall {});
        world.drive(&mut process, 80).await;
        is_made_up_for(&world, batch, &ids).await;
        world.agrees().await;
    }
}

#[tokio::test]
async fn a_nonce_that_was_raised_before_is_the_one_that_is_signed() {
    let world = world(|options| options.batch = 10).await;
    world.act(0, world.vault.address, &raiseApprovalNonceCall {});
    approve_three(&world).await;
    world.drive(&mut world.process("one"), 40).await;
    assert_eq!(world.payments().await.len(), 3);
    world.agrees().await;
}

/// Revoking is immediate: payouts wait and say why, until another signer is in force.
#[tokio::test]
async fn a_risk_signer_that_is_revoked_holds_everything() {
    for batch in [1, 10] {
        let mut world = world(|options| options.batch = batch).await;
        let ids = approve_three(&world).await;
        world.act(0, world.vault.address, &revokeRiskSignerCall {});
        let mut process = world.process("one");
        process.submitters[0].step().await.expect("held");
        wait_for(&world, &ids, "revoked").await;
        // Opening the vault alone does not bring payouts back.
        world.act(0, world.vault.address, &unpauseCall {});
        world.clock.advance_ms(20_000);
        process.submitters[0].step().await.expect("held");
        wait_for(&world, &ids, "revoked").await;
        let signer = world.chain.accounts()[7].address();
        world.act(0, world.vault.address, &scheduleRiskSignerCall { signer });
        world.chain.mine_many(DELAY_BLOCKS);
        world.act(0, world.vault.address, &applyRiskSignerCall {});
        world.clock.set_ms(world.chain_now_ms());
        process.submitters[0].step().await.expect("held");
        wait_for(&world, &ids, "whose key is not here").await;
        world.risk_key = Some(7);
        world.clock.advance_ms(61_000);
        world.drive(&mut world.process("two"), 40).await;
        assert_eq!(world.payments().await.len(), 3);
        world.agrees().await;
    }
}

#[tokio::test]
async fn another_key_than_the_vaults_approves_nothing() {
    for wrong in [None, Some(6)] {
        let mut world = world(|_| {}).await;
        let ids = approve_three(&world).await;
        world.risk_key = wrong;
        let mut process = world.process("one");
        process.submitters[0].step().await.expect("held");
        wait_for(&world, &ids, "whose key is not here").await;
        world.risk_key = Some(RISK_SIGNER);
        world.chain.mine_many(FINALITY);
        world.clock.set_ms(world.chain_now_ms() + 61_000);
        world.drive(&mut world.process("two"), 40).await;
        assert_eq!(world.payments().await.len(), 3);
        world.agrees().await;
    }
}

/// The vault has no use for a second key, and one is configured: it is left alone.
#[tokio::test]
async fn a_vault_without_a_risk_signer_is_paid_from_without_approvals() {
    let mut world = World::new(crate::database::Kind::Sqlite, |_| {}).await;
    world.risk_key = Some(RISK_SIGNER);
    let id = world.approved("invoice-1", 25).await;
    world.drive(&mut world.process("one"), 40).await;
    assert_eq!(world.balance(world.payout(id).await.request.to), U256::from(25));
    world.agrees().await;
}
