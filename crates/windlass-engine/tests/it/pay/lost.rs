//! A reorg below finality: what was paid for good is gone. It is named, its account is halted, and an
//! operator has the stored transaction sent again.

use std::sync::Arc;

use alloy_primitives::U256;
use async_trait::async_trait;
use tokio::sync::Mutex;
use windlass_core::commit::Commit;
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::IntentState;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::ledger_check::LedgerCheck;
use windlass_engine::pay::payer::Payer;
use windlass_engine::pay::reconcile::recheck::{Recheck, Rechecked};
use windlass_engine::pay::resend::ResendError;
use windlass_engine::pay::submit::Submitted;
use windlass_testkit::hooked::{HookedStore, StoreHook};

use super::direct::Calm;
use super::world::{FINALITY, Process, World};
use crate::database::Kind;

/// A world with a payment that is final, in a token.
async fn paid(kind: Kind) -> (World, Process, PayoutId) {
    paid_in(World::new(kind, |_| {}).await).await
}

async fn paid_in(world: World) -> (World, Process, PayoutId) {
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    world.drive(&mut process, 40).await;
    assert!(world.payout(id).await.finalized_at.is_some());
    (world, process, id)
}

/// The block of the payment and all above it are replaced.
async fn replace(world: &World, id: PayoutId, return_to_pool: bool) {
    let at = world.payout(id).await.inclusion.expect("a block").block.number;
    let depth = world.chain.head().number() - at + 1;
    let reorg =
        ReorgOptions { return_to_pool, fill: false, allow_finalized: true, ..ReorgOptions::default() };
    world.chain.reorg(depth, &reorg).expect("a reorg");
    world.chain.mine_many(FINALITY + 2);
}

async fn a_final_payment_that_is_gone_is_named_and_sent_again(world: World) {
    let (world, mut process, id) = paid_in(world).await;
    let mut recheck = Recheck::new(process.payer.clone());
    let all_there = Rechecked { payments: 1, ..Rechecked::default() };
    assert_eq!(recheck.step().await.expect("looked"), all_there);
    replace(&world, id, false).await;
    assert!(world.payments().await.is_empty(), "the chain has lost it");
    assert_eq!(recheck.step().await.expect("looked").suspected, 1, "one look is not enough");
    assert!(!world.payout(id).await.is_payment_lost());
    assert!(matches!(process.payer.resend(id).await, Err(ResendError::NotLost { .. })));
    assert_eq!(recheck.step().await.expect("looked").lost, 1);
    let lost = world.payout(id).await;
    assert!(lost.is_payment_lost() && lost.state == PayoutState::Confirmed);
    assert!(lost.hold.expect("a reason").reason.contains("windlass payout resend"));
    assert_eq!(world.told("payout.payment_lost").await.len(), 1);
    let account = world.chain.accounts()[1].address();
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    // What waits behind the account says so.
    let behind = world.approved("invoice-2", 10).await;
    process.submitters[0].step().await.expect("stepped");
    let reason = world.payout(behind).await.hold.expect("a reason").reason;
    assert!(reason.contains("is halted") && reason.contains("resend"), "{reason}");
    let resent = process.payer.resend(id).await.expect("sent again");
    assert_eq!(resent.payouts[0].state, PayoutState::Submitted);
    assert_eq!(
        world.store.intent(resent.transaction).await.expect("read").expect("there").state,
        IntentState::Open
    );
    world.resume(account).await.expect("resumed");
    world.clock.advance_ms(61_000);
    world.drive(&mut process, 40).await;
    for id in [id, behind] {
        assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    }
    assert_eq!(world.store.attempts(resent.transaction).await.expect("read").len(), 1, "the stored bytes");
    world.agrees().await;
    world.log_is_whole().await;
    LedgerCheck::new(process.ledger.clone()).step().await.expect("looked");
    assert_eq!(process.ledger.forgeries(), [], "every row is the one that the log names");
    assert_eq!(world.entries("payout.resent").await.len(), 1);
}

#[tokio::test]
async fn a_final_payment_that_is_gone_is_sent_again_on_sqlite() {
    a_final_payment_that_is_gone_is_named_and_sent_again(World::new(Kind::Sqlite, |_| {}).await).await;
}

#[tokio::test]
async fn a_final_payment_of_the_coin_that_is_gone_is_sent_again() {
    let world = World::new(Kind::Sqlite, |_| {}).await.of_coin();
    a_final_payment_that_is_gone_is_named_and_sent_again(world).await;
}

#[tokio::test]
async fn a_final_payment_on_postgres_that_is_gone_is_sent_again() {
    a_final_payment_that_is_gone_is_named_and_sent_again(World::new(Kind::Postgres, |_| {}).await).await;
}

/// Another process sends the same payment again right before a commit.
struct ResendFirst(Mutex<Option<(Arc<Payer>, PayoutId)>>);

#[async_trait]
impl StoreHook for ResendFirst {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn committing(&self, commit: Commit) -> StoreResult<Commit> {
        if let Some((other, id)) = self.0.lock().await.take() {
            other.resend(id).await.expect("sent again");
        }
        Ok(commit)
    }
}

/// Of two that send a payment again at once one does, and the other is told so.
async fn of_two_resends_at_once_one_wins(kind: Kind) {
    let (world, mut process, id) = paid(kind).await;
    replace(&world, id, false).await;
    let mut recheck = Recheck::new(process.payer.clone());
    for _ in 0..2 {
        recheck.step().await.expect("looked");
    }
    let hook = ResendFirst(Mutex::new(Some((process.payer.clone(), id))));
    let store = Arc::new(HookedStore::new(world.store.clone(), Arc::new(hook)));
    let second = world.process_of("two", store, Arc::new(Calm), 1);
    let refused = second.payer.resend(id).await.expect_err("the first process has done it");
    assert!(matches!(refused, ResendError::AlreadyResent(refused) if refused == id), "{refused}");
    assert_eq!(world.payout(id).await.state, PayoutState::Submitted);
    assert_eq!(world.entries("payout.resent").await.len(), 1);
    world.resume(world.chain.accounts()[1].address()).await.expect("resumed");
    world.clock.advance_ms(61_000);
    world.drive(&mut process, 40).await;
    world.agrees().await;
    world.log_is_whole().await;
}

#[tokio::test]
async fn of_two_resends_at_once_one_wins_on_sqlite() {
    of_two_resends_at_once_one_wins(Kind::Sqlite).await;
}

#[tokio::test]
async fn of_two_resends_at_once_one_wins_on_postgres() {
    of_two_resends_at_once_one_wins(Kind::Postgres).await;
}

/// The payment came back by itself, in another block: nothing is sent again.
#[tokio::test]
async fn a_payment_that_is_mined_again_is_not_lost() {
    let (world, process, id) = paid(Kind::Sqlite).await;
    replace(&world, id, true).await;
    assert_eq!(world.payments().await.len(), 1, "in another block");
    let mut recheck = Recheck::new(process.payer.clone());
    let all_there = Rechecked { payments: 1, ..Rechecked::default() };
    let before = world.payout(id).await.inclusion;
    assert_eq!(recheck.step().await.expect("looked"), Rechecked { moved: 1, ..all_there });
    assert_eq!(recheck.step().await.expect("looked"), all_there);
    assert_ne!(world.payout(id).await.inclusion, before);
    assert!(matches!(process.payer.resend(id).await, Err(ResendError::NotLost { .. })));
}

/// Marked, and then somebody sends the stored bytes: the vault has paid, and nothing is sent again.
#[tokio::test]
async fn a_lost_payment_that_comes_back_is_no_longer_marked() {
    let (world, process, id) = paid(Kind::Sqlite).await;
    replace(&world, id, false).await;
    let mut recheck = Recheck::new(process.payer.clone());
    for _ in 0..2 {
        recheck.step().await.expect("looked");
    }
    assert!(world.payout(id).await.is_payment_lost());
    let intent = world.payout(id).await.intent.expect("a transaction");
    let raw = world.store.attempts(intent).await.expect("read")[0].raw.clone();
    world.chain.send_raw(&raw).expect("taken");
    world.chain.mine();
    assert!(matches!(process.payer.resend(id).await, Err(ResendError::StillThere(_))));
    assert_eq!(recheck.step().await.expect("looked").moved, 0, "it is not final yet");
    world.chain.mine_many(FINALITY);
    assert_eq!(recheck.step().await.expect("looked").moved, 1);
    assert!(!world.payout(id).await.is_payment_lost());
    world.agrees().await;
    LedgerCheck::new(process.ledger.clone()).step().await.expect("looked");
    assert_eq!(process.ledger.forgeries(), []);
}

/// A payment of the vault that this database has no payout for.
#[tokio::test]
async fn an_unknown_payment_is_named_and_published() {
    let (world, _, id) = paid(Kind::Sqlite).await;
    let request = world.payout(id).await.request;
    let other = world.restored().await;
    let process = other.process("two");
    let done = process.payer.reconcile(true).await.expect("compared");
    assert_eq!(done.unknown, 1);
    let payment = &done.unknown_payments[0];
    assert_eq!((payment.to, payment.token, &*payment.amount), (request.to, request.token, "25"));
    assert_eq!(payment.request_id, request.request_id());
    let told = other.told("vault.unknown_payment").await;
    assert!(told.len() == 1 && told[0].contains(&payment.transaction.to_string()), "{told:?}");
    assert_eq!(other.balance(request.to), U256::from(25));
    let again = Arc::new(other.process("three"));
    assert_eq!(again.payer.reconcile(false).await.expect("compared").unknown, 0, "it is named once");
}
