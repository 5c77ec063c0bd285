//! Endpoints that lag, lie, or hold another transaction with the same nonce. What they tell
//! ends nothing by itself; what they cannot know halts nothing for good.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolError, sol};
use async_trait::async_trait;
use windlass_core::payout::desk::{DeskError, PayoutDesk};
use windlass_core::payout::ledger::{IntentId, IntentState};
use windlass_core::payout::request::IdempotencyKey;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::submit::{Call, CallOutcome, TransactionChain};
use windlass_core::payout::vault::calldata;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::desk::VaultDesk;
use windlass_engine::pay::submit::Submitted;

use super::direct::{Calm, ChainHook};
use super::tricks::Lag;
use super::world::{FINALITY, Process, World, mintCall};
use crate::database::Kind;

sol! {
    error RecipientDenied(bytes32 requestId, address to);
}

/// Fails every call of some names.
#[derive(Default)]
struct Down(Mutex<BTreeSet<&'static str>>);

impl Down {
    fn set(&self, calls: &[&'static str]) {
        *self.0.lock().expect("whole") = calls.iter().copied().collect();
    }
}

#[async_trait]
impl ChainHook for Down {
    async fn before(&self, _: &'static str) -> Result<(), ChainError> {
        Ok(())
    }

    /// The question was heard; its answer is lost.
    async fn after(&self, call: &'static str) -> Result<(), ChainError> {
        match self.0.lock().expect("whole").contains(call) {
            true => Err(ChainError::new(ChainErrorKind::Unreachable, "timeout")),
            false => Ok(()),
        }
    }
}

fn account(world: &World, number: usize) -> Address {
    world.chain.accounts()[number].address()
}

/// A payout whose transaction nobody but the store knows of any more.
async fn submitted_and_lost(world: &World, process: &mut Process) -> IntentId {
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("submitted");
    world.drop_all();
    world.payout(id).await.intent.expect("submitted")
}

#[tokio::test]
async fn an_endpoint_that_lags_ends_nothing_and_halts_nobody() {
    for (blocks, one_in) in [(1, 1), (2, 2), (5, 3), (9, 2), (20, 5)] {
        let world = World::new(Kind::Sqlite, |options| options.batch = 2).await;
        for number in 0..5 {
            world.approved(&format!("invoice-{number}"), 10 + number).await;
        }
        world.tricks.lock().expect("whole").lag = Some(Lag { blocks, one_in, asked: 0 });
        let mut process = world.process("one");
        for round in 0..30 {
            world.round(&mut process).await;
            if round == 6 {
                world.chain.reorg(2, &ReorgOptions::default()).expect("a reorg");
            }
            for payout in world.payouts().await {
                assert!(!payout.state.is_end(), "{blocks} behind, one in {one_in}: {payout:#?}");
            }
        }
        world.tricks.lock().expect("whole").lag = None;
        world.drive(&mut process, 60).await;
        let signers = world.store.list_signers().await.expect("read");
        assert!(signers.iter().all(|signer| signer.halted.is_none()), "{signers:?}");
        assert_eq!(world.payments().await.len(), 5);
        world.agrees().await;
    }
}

/// Old nonces: the first question is answered by who has not seen the account's last transactions.
#[tokio::test]
async fn an_account_begins_where_the_chain_is_although_an_endpoint_lags() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    for _ in 0..3 {
        world.act(1, world.token, &mintCall { to: world.token, amount: U256::ONE });
    }
    world.approved("invoice-1", 25).await;
    world.tricks.lock().expect("whole").lag = Some(Lag { blocks: 2, one_in: 1, asked: 0 });
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
    world.tricks.lock().expect("whole").lag = None;
    world.drive(&mut process, 40).await;
    let signers = world.store.list_signers().await.expect("read");
    assert!(signers[0].halted.is_none());
    world.agrees().await;
}

/// "Replacement underpriced": another transaction holds the nonce where it was sent to. That
/// proves nothing of ours, which is sent on until it is taken.
#[tokio::test]
async fn another_transaction_that_waits_with_the_nonce_proves_nothing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    let intent = submitted_and_lost(&world, &mut process).await;
    let mint = mintCall { to: world.token, amount: U256::ONE };
    let other = world.send_with(1, intent.nonce, world.token, &mint).expect("taken");
    for _ in 0..5 {
        world.clock.advance_ms(5_000);
        process.tracker.step().await.expect("looked");
        let payout = world.payouts().await.remove(0);
        assert_eq!((payout.state, payout.intent), (PayoutState::Submitted, Some(intent)));
        assert_eq!(world.store.intent(intent).await.expect("read").expect("there").state, IntentState::Open);
    }
    let log = world.entries("attempt.sent").await;
    assert!(log.iter().any(|entry| entry.contains("underpriced")), "{log:?}");
    assert!(world.chain.drop_transaction(other));
    world.drive(&mut process, 40).await;
    let payout = world.payouts().await.remove(0);
    assert_eq!((payout.state, payout.intent), (PayoutState::Confirmed, Some(intent)));
    world.agrees().await;
}

/// "Nonce too low": by itself or by another, nobody says. Here it was mined already, and who
/// was asked first had not seen that.
#[tokio::test]
async fn a_nonce_that_is_said_to_be_too_low_proves_nothing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    world.chain.mine();
    world.tricks.lock().expect("whole").lag = Some(Lag { blocks: 1, one_in: 1, asked: 0 });
    world.clock.advance_ms(3_000);
    process.tracker.step().await.expect("looked");
    let log = world.entries("attempt.sent").await;
    assert!(log.iter().any(|entry| entry.contains("nonce_too_low")), "{log:?}");
    assert_eq!(world.payout(id).await.state, PayoutState::Submitted);
    world.tricks.lock().expect("whole").lag = None;
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!((payout.state, payout.intent), (PayoutState::Confirmed, Some(intent)));
    world.agrees().await;
}

/// An endpoint that tells of transactions which there are none of stops the account, and
/// costs nothing else.
#[tokio::test]
async fn a_nonce_that_is_a_lie_halts_the_account_until_a_person_looks() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    let signer = account(&world, 1);
    world.approved("invoice-1", 25).await;
    world.tricks.lock().expect("whole").nonces.insert(signer, 7);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    world.tricks.lock().expect("whole").nonces.clear();
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    assert!(world.sent.lock().expect("whole").is_empty());
    assert!(world.is_logged("signer.halted").await);
    let resumed = world.resume(signer).await.expect("resumed");
    assert_eq!(resumed.next_nonce, world.chain.nonce(signer));
    world.drive(&mut process, 40).await;
    assert_eq!(world.payments().await.len(), 1);
    world.agrees().await;
}

/// Nonce, receipts and vault all told wrong: paying is fooled into a second transaction, and
/// the vault still pays once.
#[tokio::test]
async fn an_endpoint_that_lies_about_everything_gets_nobody_paid_twice() {
    let mut world = World::new(Kind::Sqlite, |_| {}).await;
    world.is_overseen = false;
    let mut process = world.process_of("one", world.store.clone(), Arc::new(Calm), 2);
    let first = submitted_and_lost(&world, &mut process).await;
    let raw = world.store.attempts(first).await.expect("read")[0].raw.clone();
    world.tricks.lock().expect("whole").nonces.insert(first.signer, first.nonce + 1);
    process.tracker.step().await.expect("looked");
    world.tricks.lock().expect("whole").nonces.clear();
    assert_eq!(world.store.intent(first).await.expect("read").expect("there").state, IntentState::Displaced);
    // The other account signs; then somebody hands the first transaction over once more.
    process.submitters[1].step().await.expect("submitted");
    let second = world.payouts().await[0].intent.expect("submitted");
    assert_ne!(first.signer, second.signer);
    world.drop_all();
    world.chain.send_raw(&raw).expect("taken");
    world.chain.mine();
    world.drive(&mut process, 60).await;
    let payout = world.payouts().await.remove(0);
    assert_eq!(payout.state, PayoutState::Confirmed, "{payout:#?}");
    assert_eq!(payout.inclusion.expect("paid").transaction, alloy_primitives::keccak256(&raw));
    assert_eq!(world.payments().await.len(), 1);
    world.agrees().await;
}

/// The vault is not asked by those who have not got its newest block.
#[tokio::test]
async fn receipts_that_one_endpoint_has_lost_are_made_up_for_by_the_vault() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    // It is mined in a form that nobody here has: as after a bump that was forgotten.
    world.drop_all();
    world.send_again_dearer(1, &world.store.intent(intent).await.expect("read").expect("there"));
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Confirmed, "{payout:#?}");
    let ended = world.store.intent(intent).await.expect("read").expect("there");
    assert_eq!(ended.state, IntentState::Displaced);
    let signers = world.store.list_signers().await.expect("read");
    assert!(signers[0].halted.is_none(), "it paid what was asked for: nobody else used the key");
    world.agrees().await;
}

#[tokio::test]
async fn an_answer_to_sending_that_never_comes() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let down = Arc::new(Down::default());
    down.set(&["send"]);
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process_of("one", world.store.clone(), down.clone(), 1);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

#[tokio::test]
async fn receipts_that_cannot_be_had_change_nothing() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let down = Arc::new(Down::default());
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process_of("one", world.store.clone(), down.clone(), 1);
    process.submitters[0].step().await.expect("submitted");
    down.set(&["receipt"]);
    for _ in 0..15 {
        world.round(&mut process).await;
        assert_eq!(world.payout(id).await.state, PayoutState::Submitted);
    }
    down.set(&[]);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// A node that tells of a success which the vault knows nothing of, or of a revert while the
/// nonce is free, is not believed.
#[tokio::test]
async fn a_receipt_that_is_a_lie_decides_nothing() {
    for is_success in [true, false] {
        let world = World::new(Kind::Sqlite, |_| {}).await;
        let id = world.approved("invoice-1", 25).await;
        let mut process = world.process("one");
        process.submitters[0].step().await.expect("submitted");
        let intent = world.payout(id).await.intent.expect("submitted");
        let hash: B256 = world.store.attempts(intent).await.expect("read")[0].hash;
        assert!(world.chain.drop_transaction(hash));
        // Somebody else's transaction has the nonce for a while, so that receipts are asked for.
        world.act(1, world.token, &mintCall { to: world.token, amount: U256::ONE });
        let at = world.chain.head().number();
        world.tricks.lock().expect("whole").receipts.insert(hash, (at, is_success));
        for _ in 0..4 {
            world.clock.advance_ms(5_000);
            let _ = process.tracker.step().await;
            world.chain.mine();
            let payout = world.payout(id).await;
            assert_eq!((payout.state, payout.intent), (PayoutState::Submitted, Some(intent)));
        }
        world.tricks.lock().expect("whole").receipts.clear();
        let reorg = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
        world.chain.reorg(5, &reorg).expect("a reorg");
        world.drive(&mut process, 40).await;
        assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
        world.agrees().await;
    }
}

/// One endpoint of two that counts too many transactions: nothing is halted, and the account goes on
/// by itself.
#[tokio::test]
async fn one_endpoint_of_two_that_counts_too_many_transactions_halts_nothing() {
    for is_honest_silent in [false, true] {
        let world = World::new(Kind::Sqlite, |_| {}).await;
        let mut process = world.process("one");
        assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
        let signer = account(&world, 1);
        let id = world.approved("invoice-1", 25).await;
        {
            let mut tricks = world.tricks.lock().expect("whole");
            tricks.nonces.insert(signer, world.chain.nonce(signer) + 3);
            (tricks.is_honest_beside, tricks.is_honest_silent) = (true, is_honest_silent);
        }
        for _ in 0..3 {
            assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
            world.clock.advance_ms(3_000);
        }
        let held = world.payout(id).await.hold.expect("a reason");
        assert!(held.reason.contains("do not agree how many transactions"), "{}", held.reason);
        assert!(!world.is_logged("signer.halted").await && world.sent.lock().expect("whole").is_empty());
        *world.tricks.lock().expect("whole") = Default::default();
        world.clock.advance_ms(60_000);
        world.drive(&mut process, 40).await;
        assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
        world.agrees().await;
    }
}

/// The bytes with which the vault says now that it knows nothing of a payout.
async fn unknown_record(world: &World, key: &str, amount: u64) -> (Bytes, Bytes) {
    let data = calldata::request_states(&[world.request(key, amount).request_id()]);
    let call = Call { from: Address::ZERO, to: Some(world.vault.address), data: data.clone() };
    let answer = world.direct(Arc::new(Calm)).call(&call, BlockTag::Latest).await.expect("an answer");
    let CallOutcome::Returned(told) = answer else { panic!("{answer:?}") };
    (data, told)
}

/// A nonce, a final revert and a record of the vault, all told wrong by one endpoint of two: the
/// payout does not end as FAILED, and cannot be tried again beside a payment.
#[tokio::test]
async fn one_endpoint_of_two_fails_no_payout_that_was_or_can_be_paid() {
    let [answers, pruned, silent] = [(false, false), (true, false), (false, true)];
    for (is_mined, (is_honest_pruned, is_honest_silent)) in
        [(true, answers), (false, answers), (false, pruned), (true, silent), (false, silent)]
    {
        let mut world = World::new(Kind::Sqlite, |_| {}).await;
        world.is_overseen = false;
        let id = world.approved("invoice-1", 25).await;
        let mut process = world.process("one");
        let lie = unknown_record(&world, "invoice-1", 25).await;
        process.submitters[0].step().await.expect("submitted");
        let intent = world.payout(id).await.intent.expect("submitted");
        let hash: B256 = world.store.attempts(intent).await.expect("read")[0].hash;
        if !is_mined {
            assert!(world.chain.drop_transaction(hash));
        }
        world.chain.mine_many(FINALITY + 2);
        {
            let mut tricks = world.tricks.lock().expect("whole");
            tricks.calls.insert(lie.0, lie.1);
            tricks.nonces.insert(intent.signer, intent.nonce + 1);
            tricks.receipts.insert(hash, (1, false));
            tricks.is_honest_beside = true;
            (tricks.is_honest_pruned, tricks.is_honest_silent) = (is_honest_pruned, is_honest_silent);
        }
        for _ in 0..4 {
            world.clock.advance_ms(5_000);
            let _ = process.tracker.step().await;
            world.chain.mine();
            let payout = world.payout(id).await;
            assert_eq!((payout.state, payout.intent), (PayoutState::Submitted, Some(intent)), "{is_mined}");
        }
        *world.tricks.lock().expect("whole") = Default::default();
        world.drive(&mut process, 40).await;
        assert_eq!(world.payout(id).await.state, PayoutState::Confirmed, "{is_mined}");
        assert_eq!(world.payments().await.len(), 1, "{is_mined}");
    }
}

/// An answer of the vault that cannot be read is one endpoint's: two others are enough.
#[tokio::test]
async fn an_answer_that_cannot_be_read_holds_nothing_up_beside_an_honest_endpoint() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    let id = world.approved("invoice-1", 25).await;
    let (data, _) = unknown_record(&world, "invoice-1", 25).await;
    {
        let mut tricks = world.tricks.lock().expect("whole");
        tricks.calls.insert(data, Bytes::from_static(&[1, 2, 3]));
        tricks.honest = 2;
    }
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// A refusal that ends a payout is one endpoint's word of two: it waits, and is paid.
#[tokio::test]
async fn one_endpoint_of_two_that_refuses_a_payout_does_not_end_it() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    let id = world.approved("invoice-1", 25).await;
    let request = world.request("invoice-1", 25);
    let denied = RecipientDenied { requestId: request.request_id(), to: request.to }.abi_encode();
    {
        let mut tricks = world.tricks.lock().expect("whole");
        tricks.refusal = Some(denied.into());
        tricks.is_honest_beside = true;
    }
    process.submitters[0].step().await.expect("held");
    let held = world.payout(id).await;
    assert_eq!(held.state, PayoutState::Approved);
    let reason = held.hold.expect("a reason").reason;
    assert!(reason.contains("do not agree whether the vault refuses it"), "{reason}");
    *world.tricks.lock().expect("whole") = Default::default();
    world.clock.advance_ms(60_000);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// Whether a payout may be tried again is not up to one endpoint of two either.
#[tokio::test]
async fn one_endpoint_of_two_lets_no_payout_be_tried_again() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let mut process = world.process("one");
    let id = world.approved("invoice-1", 25).await;
    let data = calldata::request_state(world.request("invoice-1", 25).request_id());
    let call = Call { from: Address::ZERO, to: Some(world.vault.address), data: data.clone() };
    let before = world.direct(Arc::new(Calm)).call(&call, BlockTag::Latest).await.expect("an answer");
    let CallOutcome::Returned(unknown) = before else { panic!("{before:?}") };
    world.drive(&mut process, 40).await;
    let desk = VaultDesk::new(world.desk(), world.direct(Arc::new(Calm)));
    let preview = || desk.preview_retry(id, IdempotencyKey::new("again").expect("a key"));
    {
        let mut tricks = world.tricks.lock().expect("whole");
        tricks.calls.insert(data, unknown);
        (tricks.is_honest_beside, tricks.is_honest_silent) = (true, true);
    }
    let refused = preview().await;
    assert!(matches!(refused, Err(DeskError::Chain(_))), "{refused:?}");
    // With the other endpoint's answer it is the payout's own state that refuses it.
    world.tricks.lock().expect("whole").is_honest_silent = false;
    let refused = preview().await;
    assert!(matches!(refused, Err(DeskError::NotEnded(_))), "{refused:?}");
}
