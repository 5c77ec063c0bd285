//! Signed forms of transactions that were deleted, altered or inserted: they hold up their own transaction
//! alone, are named, and can be put right.

use std::collections::BTreeSet;

use windlass_core::payout::ledger::{Forgery, ForgeryKind, IntentId, RowId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_engine::pay::audit_check;

use super::tampering::{Break, on_both_stores};
use super::world::AUDIT_KEY;
use crate::database::Kind;

on_both_stores!(
    a_deleted_form_stops_its_own_payout_alone,
    a_form_that_was_deleted_before_it_was_sent_is_signed_again,
    a_form_that_was_deleted_after_it_was_mined_is_not_paid_again,
    every_form_is_compared_with_its_transaction,
    a_form_too_many_is_named_and_taken_away,
    a_form_where_the_next_transaction_will_be_is_named_and_taken_away,
    a_row_where_the_next_transaction_will_be_is_told_by_the_payouts_that_wait,
);

impl Break {
    /// A payout whose transaction is signed and sent.
    async fn sent(&mut self, key: &str) -> (PayoutId, IntentId) {
        let id = self.world.approved(key, 5).await;
        self.process.submitters[0].step().await.expect("signed");
        (id, self.world.payout(id).await.intent.expect("a transaction"))
    }

    async fn compared(&self) -> Vec<Forgery> {
        let store = &self.world.store;
        let named = audit_check::follow(store, &AUDIT_KEY, None).await.expect("read").expect("whole");
        audit_check::compare(store, &AUDIT_KEY, named).await.expect("compared").forgeries
    }
}

fn form(intent: IntentId, number: u32, kind: ForgeryKind) -> Vec<Forgery> {
    vec![Forgery { row: RowId::Attempt { intent, number }, kind }]
}

/// The vault tells of the payment, and nobody knows any more which bytes have made it.
async fn a_deleted_form_stops_its_own_payout_alone(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let (id, intent) = case.sent("invoice-1").await;
    case.sql(&["DELETE FROM attempt"]).await;
    case.world.chain.mine_many(20);
    let other = case.world.approved("invoice-2", 5).await;
    // A process that begins compares the vault's events before it signs anything.
    case.process = case.world.process("begun");
    let done = case.process.payer.reconcile(true).await.expect("compared");
    assert_eq!((done.events, done.refused, done.unknown), (1, 1, 0));
    case.rounds(25).await;
    assert_eq!(case.world.payout(other).await.state, PayoutState::Confirmed);
    assert_eq!(case.world.payout(id).await.state, PayoutState::Submitted);
    assert_eq!(case.check().await, BTreeSet::from([("attempt", ForgeryKind::Removed)]));
    assert_eq!(case.compared().await, form(intent, 1, ForgeryKind::Removed));
    case.repair(&RowId::Attempt { intent, number: 1 }).await;
    case.goes_on().await;
    let paid = case.world.payout(id).await;
    assert_eq!((paid.state, paid.inclusion.is_some()), (PayoutState::Confirmed, true));
    assert_eq!(case.paid().await, 2);
    let account = case.world.store.list_signers().await.expect("read").pop().expect("an account");
    assert_eq!(account.halted, None, "the vault has paid what the transaction pays");
    case.is_sound().await;
}

async fn a_form_that_was_deleted_before_it_was_sent_is_signed_again(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.tricks.lock().expect("whole").refuses_sends = true;
    let (id, intent) = case.sent("invoice-1").await;
    let before = case.world.store.intent(intent).await.expect("read").expect("there");
    case.sql(&["DELETE FROM attempt"]).await;
    case.world.tricks.lock().expect("whole").refuses_sends = false;
    case.rounds(5).await;
    assert_eq!(case.paid().await, 0, "nothing is left that could be sent");
    let done = case.repair(&RowId::Intent(intent)).await;
    assert!(done.next.expect("a step").contains("signed again"));
    let repaired = case.world.store.intent(intent).await.expect("read").expect("there");
    assert_eq!(repaired.attempts, 0);
    case.goes_on().await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    let after = case.world.store.intent(intent).await.expect("read").expect("there");
    assert_eq!(
        (after.id, after.to, after.data, after.gas_limit, after.attempts),
        (before.id, before.to, before.data, before.gas_limit, 1),
        "the same call, with the same nonce"
    );
    assert_eq!(case.paid().await, 1);
    case.is_sound().await;
}

/// Whatever an intruder removes once a payout was paid, nothing is signed for it again.
async fn a_form_that_was_deleted_after_it_was_mined_is_not_paid_again(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let (id, intent) = case.sent("invoice-1").await;
    case.world.chain.mine_many(1);
    case.sql(&["DELETE FROM attempt"]).await;
    case.repair(&RowId::Intent(intent)).await;
    case.goes_on().await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.paid().await, 1);
    let signed = case.world.store.attempts(intent).await.expect("read").len();
    assert_eq!((signed, case.check().await), (0, BTreeSet::new()), "nothing was signed again");
    case.is_sound().await;
}

async fn every_form_is_compared_with_its_transaction(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let (_, ended) = case.sent("invoice-1").await;
    case.rounds(25).await;
    let (_, open) = case.sent("invoice-2").await;
    case.sql(&["CREATE TABLE kept AS SELECT * FROM attempt"]).await;
    assert_eq!(case.compared().await, []);
    let one = case.intruder.bytes(&[1; 32]);
    for intent in [ended, open] {
        let its = format!("WHERE nonce = {}", intent.nonce);
        for (statement, number, kind) in [
            (format!("DELETE FROM attempt {its}"), 1, ForgeryKind::Removed),
            (format!("UPDATE attempt SET raw = {one} {its}"), 1, ForgeryKind::Altered),
            (format!("UPDATE attempt SET hash = {one} {its}"), 1, ForgeryKind::Altered),
            (format!("UPDATE attempt SET max_fee = priority_fee {its}"), 1, ForgeryKind::Altered),
            (format!("UPDATE attempt SET number = 2 {its}"), 1, ForgeryKind::Removed),
        ] {
            case.sql(&[&statement]).await;
            assert_eq!(case.compared().await, form(intent, number, kind), "{statement}");
            case.sql(&["DELETE FROM attempt", "INSERT INTO attempt SELECT * FROM kept"]).await;
        }
        // One more of the same transaction, and one of a transaction that is not there.
        for (change, at, number) in [
            ("number = 2", intent, 2),
            ("nonce = nonce + 10", IntentId { nonce: intent.nonce + 10, ..intent }, 1),
        ] {
            case.sql(&[
                &format!("CREATE TABLE forged AS SELECT * FROM kept {its}"),
                &format!("UPDATE forged SET hash = {one}, {change}"),
                "INSERT INTO attempt SELECT * FROM forged",
                "DROP TABLE forged",
            ])
            .await;
            assert_eq!(case.compared().await, form(at, number, ForgeryKind::Unnamed), "{change}");
            case.repair(&RowId::Attempt { intent: at, number }).await;
            assert_eq!(case.compared().await, []);
        }
    }
}

impl Break {
    /// Puts a copy of a transaction's form into the table, changed.
    async fn insert_form(&self, of: IntentId, change: &str) {
        let one = self.intruder.bytes(&[1; 32]);
        self.sql(&[
            &format!("CREATE TABLE forged AS SELECT * FROM attempt WHERE nonce = {}", of.nonce),
            &format!("UPDATE forged SET hash = {one}, {change}"),
            "INSERT INTO attempt SELECT * FROM forged",
            "DROP TABLE forged",
        ])
        .await;
    }
}

/// It stands where a higher offer would, so that none could be signed.
async fn a_form_too_many_is_named_and_taken_away(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.tricks.lock().expect("whole").refuses_sends = true;
    let (id, intent) = case.sent("invoice-1").await;
    case.insert_form(intent, "number = 2").await;
    assert_eq!(case.check().await, BTreeSet::from([("attempt", ForgeryKind::Unnamed)]));
    case.world.tricks.lock().expect("whole").refuses_sends = false;
    let other = case.world.approved("invoice-2", 5).await;
    case.rounds(5).await;
    assert_eq!(case.world.payout(other).await.state, PayoutState::Submitted, "all else goes on");
    case.repair(&RowId::Attempt { intent, number: 2 }).await;
    assert_eq!(case.check().await, BTreeSet::new());
    case.goes_on().await;
    for id in [id, other] {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}

/// It keeps its account from signing the next transaction.
async fn a_form_where_the_next_transaction_will_be_is_named_and_taken_away(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let (_, intent) = case.sent("invoice-1").await;
    case.insert_form(intent, "nonce = nonce + 1").await;
    let id = case.world.approved("invoice-2", 5).await;
    assert!(case.process.submitters[0].step().await.is_err(), "the place is taken");
    assert_eq!(case.check().await, BTreeSet::from([("attempt", ForgeryKind::Unnamed)]));
    let next = IntentId { nonce: intent.nonce + 1, ..intent };
    case.repair(&RowId::Attempt { intent: next, number: 1 }).await;
    assert_eq!(case.check().await, BTreeSet::new());
    case.goes_on().await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}

/// A mark of the account's next transaction is of no table that carries a code: the payouts that wait for it say so.
async fn a_row_where_the_next_transaction_will_be_is_told_by_the_payouts_that_wait(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let (_, intent) = case.sent("invoice-1").await;
    let next = intent.nonce + 1;
    case.sql(&[
        "CREATE TABLE forged AS SELECT * FROM intent_payout",
        &format!("UPDATE forged SET nonce = {next}, payout_id = '018f0000-0000-7000-8000-000000000000'"),
        "INSERT INTO intent_payout SELECT * FROM forged",
    ])
    .await;
    let id = case.world.approved("invoice-2", 5).await;
    for _ in 0..30 {
        let _ = case.process.submitters[0].step().await;
    }
    let hold = case.world.payout(id).await.hold.expect("a reason");
    assert!(hold.reason.contains("the database refuses transaction"), "{}", hold.reason);
    case.sql(&[&format!("DELETE FROM intent_payout WHERE nonce = {next}")]).await;
    case.goes_on().await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}
