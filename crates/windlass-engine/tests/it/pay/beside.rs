//! What stands beside authenticated rows and carries no code of its own: which request id a payout is found
//! by, which transaction is a payout's live one, and payouts at their end that nobody is about to read.

use std::collections::BTreeSet;

use windlass_core::payout::ledger::{ForgeryKind, RowId};
use windlass_core::payout::state::PayoutState;
use windlass_engine::pay::ledger_check::LedgerCheck;

use super::cancel::cancel;
use super::tampering::{Break, on_both_stores};
use crate::database::Kind;

on_both_stores!(
    another_request_id_is_no_unknown_payment,
    a_request_id_that_is_taken_is_named_and_put_right,
    a_deleted_payout_is_no_unknown_payment,
    a_forged_payout_at_its_end_is_reported_in_one_check,
    more_payouts_than_a_check_reads_are_read_in_the_next,
    which_transaction_is_live_gains_nothing,
    a_mark_beside_the_transaction_of_another_payout_holds_one_payout_alone,
    the_order_of_a_batch_is_the_transactions,
);

const PAYOUT: (&str, ForgeryKind) = ("payout", ForgeryKind::Altered);

/// The vault's event is that of a payout which is not found by its request id any more.
async fn another_request_id_is_no_unknown_payment(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    case.world.chain.mine_many(20);
    case.sql(&["CREATE TABLE kept AS SELECT * FROM payout"]).await;
    let bytes = [case.intruder.bytes(&[0x66; 32]), case.intruder.bytes(&[0x66])];
    for (value, refused) in bytes.into_iter().zip([ForgeryKind::Altered, ForgeryKind::Unreadable]) {
        assert_eq!(case.sql(&[&format!("UPDATE payout SET request_id = {value}")]).await, 1);
        let done = case.process.payer.reconcile(true).await.expect("compared");
        assert_eq!((done.events, done.refused, done.unknown), (1, 1, 0), "{value}");
        assert_eq!(case.check().await, BTreeSet::from([("payout", refused)]));
        case.sql(&["DELETE FROM payout", "INSERT INTO payout SELECT * FROM kept"]).await;
    }
    case.check().await;
    case.rounds(25).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!((case.paid().await, case.check().await), (1, BTreeSet::new()));
}

/// The request id of a payout that is yet to be asked for stands in another payout's row.
async fn a_request_id_that_is_taken_is_named_and_put_right(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    let wanted = case.world.request("invoice-2", 5);
    let taken = case.intruder.bytes(wanted.request_id().as_slice());
    assert_eq!(case.sql(&[&format!("UPDATE payout SET request_id = {taken}")]).await, 1);
    let error = case.world.desk().create(&[wanted], "asker").await.expect_err("its request id is taken");
    assert!(error.to_string().contains(&format!("payout {id}")), "{error}");
    assert_eq!(case.check().await, BTreeSet::from([PAYOUT]));
    case.repair(&RowId::Payout(id)).await;
    let second = case.world.approved("invoice-2", 5).await;
    case.goes_on().await;
    for id in [id, second] {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}

async fn a_deleted_payout_is_no_unknown_payment(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    case.world.chain.mine_many(20);
    case.sql(&["DELETE FROM payout"]).await;
    case.check().await;
    let done = case.process.payer.reconcile(true).await.expect("compared");
    assert_eq!((done.events, done.refused, done.unknown), (1, 1, 0));
}

async fn a_forged_payout_at_its_end_is_reported_in_one_check(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let mut ended = Vec::new();
    for number in 0..5 {
        ended.push(case.world.approved(&format!("invoice-{number}"), 5).await);
    }
    case.rounds(25).await;
    assert_eq!(case.check().await, BTreeSet::new());
    case.sql(&["CREATE TABLE kept AS SELECT * FROM payout"]).await;
    for id in [ended[0], ended[4]] {
        let alter = format!("UPDATE payout SET amount = {} WHERE id = '{id}'", case.intruder.amount(7));
        assert_eq!(case.sql(&[&alter]).await, 1);
        assert_eq!(case.check().await, BTreeSet::from([PAYOUT]));
        assert_eq!(case.process.ledger.forgeries()[0].row, RowId::Payout(id));
        case.sql(&["DELETE FROM payout", "INSERT INTO payout SELECT * FROM kept"]).await;
        assert_eq!(case.check().await, BTreeSet::new(), "it was put back");
    }
    // One that was inserted, long before all others.
    let hash = case.intruder.bytes(&[0x66; 32]);
    let forged = "018f0000-0000-7000-8000-000000000000";
    let insert = [
        format!("CREATE TABLE forged AS SELECT * FROM kept WHERE id = '{}'", ended[0]),
        format!("UPDATE forged SET id = '{forged}', key = 'mine', request_id = {hash}"),
        "INSERT INTO payout SELECT * FROM forged".to_owned(),
    ];
    case.intruder.run(&insert).await;
    assert_eq!(case.check().await, BTreeSet::from([PAYOUT]));
    case.repair(&RowId::Payout(forged.parse().expect("an id"))).await;
    assert_eq!((case.check().await, case.paid().await), (BTreeSet::new(), 5));
}

/// 21,500 forged payouts: a check reads the newest 1,000 and 20,000 others.
async fn more_payouts_than_a_check_reads_are_read_in_the_next(kind: Kind) {
    const COUNT: usize = 21_500;
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.rounds(25).await;
    let numbers = format!(
        "WITH RECURSIVE n (i) AS (SELECT 10000 UNION ALL SELECT i + 1 FROM n WHERE i < {})",
        9_999 + COUNT
    );
    let hash = match kind {
        Kind::Sqlite => "CAST('000000000000000000000000000' || i AS BLOB)",
        Kind::Postgres => "convert_to('000000000000000000000000000' || i, 'UTF8')",
    };
    let cast = match kind {
        Kind::Sqlite => "i",
        Kind::Postgres => "i::text",
    };
    let copies = format!("CREATE TABLE copies AS {numbers} SELECT payout.*, n.i AS i FROM payout, n");
    let set = format!(
        "UPDATE copies SET id = '018f0000-0000-7000-8000-0000000' || {cast}, key = {cast}, request_id = {hash}"
    );
    let columns = "id, version, key, request_id, chain_id, vault, token, recipient, amount, created_by, \
                   created_at_ms, state, updated_at_ms, budget_day, intent_signer, intent_nonce, \
                   transaction_hash, block_number, block_hash, submitted_at_ms, confirmed_at_ms, \
                   finalized_at_ms, mac";
    let insert = format!("INSERT INTO payout ({columns}) SELECT {columns} FROM copies");
    assert_eq!(case.sql(&[&copies, &set, &insert]).await, COUNT as u64);
    let check = LedgerCheck::new(case.process.ledger.clone());
    check.step().await.expect("compared");
    let first = case.process.ledger.forgeries().len();
    assert!((20_000..COUNT).contains(&first), "{first}: a check is bounded");
    check.step().await.expect("compared");
    assert_eq!(case.process.ledger.forgeries().len(), COUNT, "the next goes on where the first has ended");
}

/// A payout that was sent is not signed a second time because its transaction is said not to be live, and
/// one that is to be signed again is, whatever is said of its first transaction.
async fn which_transaction_is_live_gains_nothing(kind: Kind) {
    let mut case = Break::new(kind, |options| options.batch = 2).await;
    let (no, yes) = match kind {
        Kind::Sqlite => ("0", "1"),
        Kind::Postgres => ("FALSE", "TRUE"),
    };
    let sent = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    assert_eq!(case.sql(&[&format!("UPDATE intent_payout SET is_live = {no}")]).await, 1);
    case.enqueue(sent).await;
    case.rounds(25).await;
    assert_eq!((case.world.payout(sent).await.state, case.paid().await), (PayoutState::Confirmed, 1));
    assert_eq!(case.world.store.intents_of(sent).await.expect("read").len(), 1);

    // A batch that is reverted for one of its payouts: the others are signed again.
    let ids = [case.world.approved("good", 5).await, case.world.approved("bad", 6).await];
    case.process.submitters[0].step().await.expect("signed");
    let intent = case.world.payout(ids[0]).await.intent.expect("a transaction");
    assert_eq!(case.world.payout(ids[1]).await.intent, Some(intent));
    cancel(&case.world, ids[1]).await;
    let live = format!(
        "UPDATE intent_payout SET is_live = {yes} WHERE nonce = {} AND NOT EXISTS (SELECT 1 FROM intent_payout \
         AS other WHERE other.payout_id = intent_payout.payout_id AND other.nonce <> intent_payout.nonce)",
        intent.nonce
    );
    for _ in 0..40 {
        case.rounds(1).await;
        case.sql(&[&live]).await;
    }
    assert_eq!(case.world.payout(ids[0]).await.state, PayoutState::Confirmed, "it is not lost");
    assert_eq!(case.world.payout(ids[1]).await.state, PayoutState::Failed);
    assert_eq!(case.paid().await, 2);
}

/// A payout that is said to be paid by the transaction of another one waits, and says so. Those that are
/// signed in the same commit do not.
async fn a_mark_beside_the_transaction_of_another_payout_holds_one_payout_alone(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let first = case.world.approved("invoice-1", 5).await;
    case.rounds(25).await;
    assert_eq!(case.world.payout(first).await.state, PayoutState::Confirmed);
    let (marked, other) =
        (case.world.approved("invoice-2", 5).await, case.world.approved("invoice-3", 5).await);
    let yes = if kind == Kind::Sqlite { "1" } else { "TRUE" };
    let insert = format!(
        "INSERT INTO intent_payout (chain_id, signer, nonce, place, payout_id, is_live) SELECT chain_id, signer, \
         nonce, 9, '{marked}', {yes} FROM intent_payout WHERE payout_id = '{first}'"
    );
    assert_eq!(case.sql(&[&insert]).await, 1);
    case.rounds(25).await;
    assert_eq!(case.world.payout(other).await.state, PayoutState::Confirmed);
    let held = case.world.payout(marked).await;
    assert_eq!(held.state, PayoutState::Approved);
    let reason = held.hold.expect("a reason").reason;
    assert!(reason.contains("`intent_payout`"), "{reason}");
    assert!(case.check().await.contains(&("intent", ForgeryKind::Altered)), "it is reported");
    case.sql(&[&format!("DELETE FROM intent_payout WHERE payout_id = '{marked}'")]).await;
    case.world.clock.advance_ms(60_000);
    case.rounds(25).await;
    assert_eq!(case.world.payout(marked).await.state, PayoutState::Confirmed);
    assert_eq!((case.paid().await, case.check().await), (3, BTreeSet::new()));
}

/// In which order a transaction pays is part of its code.
async fn the_order_of_a_batch_is_the_transactions(kind: Kind) {
    let mut case = Break::new(kind, |options| options.batch = 2).await;
    let ids = [case.world.approved("one", 5).await, case.world.approved("two", 6).await];
    case.process.submitters[0].step().await.expect("signed");
    case.sql(&["CREATE TABLE kept AS SELECT * FROM intent_payout"]).await;
    let refused = BTreeSet::from([("intent", ForgeryKind::Altered)]);
    for statements in [
        vec!["UPDATE intent_payout SET place = 7 WHERE place = 0"],
        vec!["DELETE FROM intent_payout WHERE place = 0"],
    ] {
        case.sql(&statements).await;
        assert_eq!(case.check().await, refused, "{statements:?}");
        case.rounds(2).await;
        case.sql(&["DELETE FROM intent_payout", "INSERT INTO intent_payout SELECT * FROM kept"]).await;
    }
    case.goes_on().await;
    for id in ids {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    assert_eq!((case.paid().await, case.check().await), (2, BTreeSet::new()));
}
