//! What an operator can do about a row that was refused, where no backup has it: for each kind of row
//! there is a way on, nothing is paid twice, and log and tables agree afterwards.

use std::collections::BTreeSet;

use alloy_primitives::{Address, B256, U256};
use windlass_core::payout::ledger::{ApiKey, Role, RowId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskLimits;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_engine::pay::audit_check;
use windlass_engine::pay::keyring::Keyring;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::repair::{Repair, RepairAction, RepairError, Repairer};

use super::tampering::Break;
use super::world::AUDIT_KEY;
use crate::database::Kind;

impl Break {
    fn repairer(&self) -> Repairer {
        Repairer::new(Ledger::new(self.world.store.clone(), AUDIT_KEY), "root").expect("a name")
    }

    pub(super) async fn repair(&self, row: &RowId) -> Repair {
        let repairer = self.repairer();
        let refused = repairer.refused().await.expect("compared");
        // Signed forms are put right with their transaction.
        let is_its = |found: &RowId| match (found, row) {
            (RowId::Attempt { intent, .. }, RowId::Intent(id)) => intent == id,
            _ => found == row,
        };
        assert!(refused.iter().any(|forgery| is_its(&forgery.row)), "{row} is not among {refused:?}");
        let preview = repairer.preview(row).await.expect("a way");
        let done = repairer.repair(row).await.expect("put right");
        assert_eq!(done, preview);
        let again = repairer.repair(row).await;
        assert!(matches!(again, Err(RepairError::Sound(_))), "{row}: {again:?}");
        done
    }

    /// Log and tables agree, in this process and for whoever begins.
    pub(super) async fn is_sound(&self) {
        assert_eq!(self.check().await, BTreeSet::new());
        let store = &self.world.store;
        let named = audit_check::follow(store, &AUDIT_KEY, None).await.expect("read").expect("whole");
        assert_eq!(audit_check::compare(store, &AUDIT_KEY, named).await.expect("read").forgeries, []);
    }

    pub(super) async fn goes_on(&mut self) {
        self.world.clock.advance_ms(61_000);
        self.check().await;
        self.rounds(25).await;
    }
}

macro_rules! on_both_stores {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Kind::Sqlite).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Kind::Postgres).await;
            })*
        }
    };
}

on_both_stores!(
    rows_that_were_inserted_are_removed,
    an_approved_payout_is_made_anew_from_the_log,
    payouts_on_their_way_and_at_their_end_are_made_anew,
    an_approval_is_made_anew,
    the_sum_of_a_day_is_made_anew_from_its_payouts,
    a_transaction_is_made_anew_from_its_signed_forms,
    an_account_is_made_anew_and_halted,
    an_api_key_is_revoked,
);

async fn rows_that_were_inserted_are_removed(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let keyring = Keyring::new(case.process.ledger.clone(), "cli/root").expect("a keyring");
    keyring.create("ann", Role::Viewer, ApiKey::hash_of("ann")).await.expect("made");
    let id = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    let intent = case.world.payout(id).await.intent.expect("a transaction");
    let forged: PayoutId = "018f0000-0000-7000-8000-000000000000".parse().expect("an id");
    let hash = case.intruder.bytes(&[0x66; 32]);
    let insert = [
        "CREATE TABLE f1 AS SELECT * FROM payout".to_owned(),
        format!("UPDATE f1 SET id = '{forged}', key = 'invoice-2', request_id = {hash}"),
        "INSERT INTO payout SELECT * FROM f1".to_owned(),
        "CREATE TABLE f2 AS SELECT * FROM approval".to_owned(),
        format!("UPDATE f2 SET payout_id = '{forged}'"),
        "INSERT INTO approval SELECT * FROM f2".to_owned(),
        "UPDATE f2 SET approver = 'eve'".to_owned(),
        format!("UPDATE f2 SET payout_id = '{id}'"),
        "INSERT INTO approval SELECT * FROM f2".to_owned(),
        "CREATE TABLE f3 AS SELECT * FROM api_key".to_owned(),
        format!("UPDATE f3 SET name = 'eve', hash = {hash}"),
        "INSERT INTO api_key SELECT * FROM f3".to_owned(),
        "CREATE TABLE f4 AS SELECT * FROM intent".to_owned(),
        "UPDATE f4 SET nonce = nonce + 1".to_owned(),
        "INSERT INTO intent SELECT * FROM f4".to_owned(),
        "CREATE TABLE f5 AS SELECT * FROM budget".to_owned(),
        "UPDATE f5 SET day = day + 7".to_owned(),
        "INSERT INTO budget SELECT * FROM f5".to_owned(),
        "CREATE TABLE f6 AS SELECT * FROM signer".to_owned(),
        format!("UPDATE f6 SET address = {}", case.intruder.bytes(&[9; 20])),
        "INSERT INTO signer SELECT * FROM f6".to_owned(),
    ];
    case.intruder.run(&insert).await;
    // The key that the inserted payout has taken cannot be used.
    assert!(case.world.desk().create(&[case.world.request("invoice-2", 5)], "asker").await.is_err());
    case.check().await;
    let refused = case.repairer().refused().await.expect("compared");
    let tables: BTreeSet<&str> = refused.iter().map(|forgery| forgery.row.table()).collect();
    assert_eq!(tables, BTreeSet::from(["api_key", "approval", "budget", "intent", "payout", "signer"]));
    for forgery in refused {
        // The payout's approval goes with it.
        let is_its = matches!(&forgery.row, RowId::Approval { payout, .. } if *payout == forged);
        if !is_its {
            assert_eq!(case.repair(&forgery.row).await.action, RepairAction::Removed);
        }
    }
    assert_eq!(case.world.store.intent(intent).await.expect("read").map(|row| row.id), Some(intent));
    let second = case.world.approved("invoice-2", 5).await;
    case.goes_on().await;
    for id in [id, second] {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}

async fn an_approved_payout_is_made_anew_from_the_log(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let thief = case.intruder.bytes(Address::repeat_byte(0x66).as_slice());
    let mut ids = Vec::new();
    for (key, statement) in [
        (
            "altered",
            format!("UPDATE payout SET recipient = {thief}, amount = {} WHERE", case.intruder.amount(9)),
        ),
        ("removed", "DELETE FROM payout WHERE".to_owned()),
        ("older", "UPDATE payout SET version = version - 1 WHERE".to_owned()),
    ] {
        let id = case.world.approved(key, 5).await;
        let before = case.world.payout(id).await;
        case.sql(&[&format!("{statement} id = '{id}'")]).await;
        assert_eq!(case.repair(&RowId::Payout(id)).await.action, RepairAction::Rebuilt);
        let after = case.world.payout(id).await;
        assert_eq!((after.version, after.mac != before.mac), (before.version + 1, true));
        let same = |row: &windlass_core::payout::ledger::Payout| {
            (row.request.clone(), row.state, row.created_by.clone(), row.created_at, row.budget_day)
        };
        assert_eq!(same(&after), same(&before));
        ids.push(id);
    }
    // Its job went with nothing: it is paid to whom it was asked for.
    case.goes_on().await;
    for (id, key) in ids.into_iter().zip(["altered", "removed", "older"]) {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
        assert_eq!(case.world.balance(case.world.request(key, 5).to), U256::from(5));
    }
    assert_eq!(case.paid().await, 3);
    case.is_sound().await;
}

async fn payouts_on_their_way_and_at_their_end_are_made_anew(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let thief = case.intruder.bytes(Address::repeat_byte(0x66).as_slice());
    let paid = case.world.approved("paid", 5).await;
    case.rounds(25).await;
    assert!(case.world.payout(paid).await.finalized_at.is_some());
    let rejected = case.world.approved("rejected", 5).await;
    case.sql(&["CREATE TABLE kept AS SELECT * FROM payout"]).await;
    case.world.desk().reject(rejected, "boss", "stolen invoice").await.expect("rejected");
    let sent = case.world.approved("sent", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    let before =
        [case.world.payout(paid).await, case.world.payout(rejected).await, case.world.payout(sent).await];
    case.sql(&[
        &format!("UPDATE payout SET recipient = {thief} WHERE id IN ('{paid}', '{sent}')"),
        &format!("DELETE FROM payout WHERE id = '{rejected}'"),
        &format!("INSERT INTO payout SELECT * FROM kept WHERE id = '{rejected}'"),
    ])
    .await;
    for old in before {
        case.repair(&RowId::Payout(old.id)).await;
        let new = case.world.payout(old.id).await;
        assert_eq!(
            (new.request, new.state, new.reason, new.intent),
            (old.request, old.state, old.reason, old.intent)
        );
        assert_eq!((new.finalized_at.is_some(), new.hold), (old.finalized_at.is_some(), old.hold));
        assert_eq!(new.submitted_at.is_some(), old.submitted_at.is_some());
    }
    case.goes_on().await;
    assert_eq!(case.world.payout(sent).await.state, PayoutState::Confirmed);
    assert_eq!(case.world.payout(rejected).await.state, PayoutState::Rejected);
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}

async fn an_approval_is_made_anew(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let mut ids = Vec::new();
    for (key, statement) in [
        ("altered", "UPDATE approval SET at_ms = at_ms + 1 WHERE"),
        ("removed", "DELETE FROM approval WHERE"),
    ] {
        let id = case.world.approved(key, 5).await;
        case.sql(&[&format!("{statement} payout_id = '{id}'")]).await;
        case.rounds(2).await;
        let row = RowId::Approval { payout: id, approver: "boss".to_owned() };
        assert_eq!(case.repair(&row).await.action, RepairAction::Rebuilt);
        ids.push(id);
    }
    case.goes_on().await;
    for id in ids {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    case.is_sound().await;
}

async fn the_sum_of_a_day_is_made_anew_from_its_payouts(kind: Kind) {
    let limit = |options: &mut PayOptions| {
        options.rules.limits = RiskLimits { max_daily_total: Some(U256::from(100)), ..RiskLimits::default() };
    };
    let mut case = Break::new(kind, limit).await;
    let id = case.world.approved("invoice-1", 60).await;
    let sums = case.world.store.list_budgets(None, 10).await.expect("read");
    let zero = format!("UPDATE budget SET total = {}", case.intruder.amount(0));
    for statement in [zero.as_str(), "DELETE FROM budget"] {
        case.sql(&[statement]).await;
        case.sql(&[&format!("UPDATE payout SET version = version + 1 WHERE id = '{id}'")]).await;
        let row = RowId::Budget(sums[0].key);
        let refused = case.repairer().repair(&row).await;
        assert!(matches!(refused, Err(RepairError::PayoutsFirst(_))), "{refused:?}");
        case.repair(&RowId::Payout(id)).await;
        for sum in &sums {
            case.repair(&RowId::Budget(sum.key)).await;
        }
        let now = case.world.store.list_budgets(None, 10).await.expect("read");
        let totals = |sums: &[windlass_core::payout::ledger::Budget]| -> Vec<_> {
            sums.iter().map(|sum| (sum.key, sum.total)).collect()
        };
        assert_eq!(totals(&now), totals(&sums));
    }
    // The day's limit holds as before.
    let desk = case.world.desk();
    let over =
        desk.create(&[case.world.request("invoice-2", 50)], "asker").await.expect("asked")[0].payout.id;
    desk.approve(over, "boss").await.expect("refused by the rules");
    assert_eq!(case.world.payout(over).await.state, PayoutState::Rejected);
    case.goes_on().await;
    assert_eq!(case.paid().await, 1);
    case.is_sound().await;
}

async fn a_transaction_is_made_anew_from_its_signed_forms(kind: Kind) {
    let mut case = Break::new(kind, |options| options.batch = 3).await;
    let ids = [case.world.approved("one", 5).await, case.world.approved("two", 6).await];
    case.process.submitters[0].step().await.expect("signed");
    let intent = case.world.payout(ids[0]).await.intent.expect("a transaction");
    assert_eq!(case.world.payout(ids[1]).await.intent, Some(intent), "both in one");
    let one = case.intruder.bytes(&[1; 32]);
    for statement in [
        "UPDATE intent SET gas_limit = gas_limit * 100".to_owned(),
        format!("UPDATE attempt SET hash = {one}"),
        "UPDATE attempt SET number = 7".to_owned(),
        "DELETE FROM intent".to_owned(),
    ] {
        case.sql(&[&statement]).await;
        assert_eq!(case.repair(&RowId::Intent(intent)).await.action, RepairAction::Rebuilt, "{statement}");
        let row = case.world.store.intent(intent).await.expect("read").expect("there");
        assert_eq!((row.payouts, row.attempts), (ids.to_vec(), 1), "{statement}");
    }
    case.sql(&["CREATE TABLE kept AS SELECT * FROM attempt"]).await;
    case.sql(&["CREATE TABLE kept_intent AS SELECT * FROM intent"]).await;
    case.sql(&["DELETE FROM attempt", "UPDATE intent SET gas_limit = gas_limit * 100"]).await;
    let refused = case.repairer().repair(&RowId::Intent(intent)).await;
    assert!(
        matches!(&refused, Err(RepairError::Unmendable { why, .. }) if why.contains("backup")),
        "{refused:?}"
    );
    case.sql(&["INSERT INTO attempt SELECT * FROM kept"]).await;
    case.sql(&["DELETE FROM intent", "INSERT INTO intent SELECT * FROM kept_intent"]).await;
    case.goes_on().await;
    for id in ids {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    // One that is over is made anew as what it was.
    case.sql(&["UPDATE intent SET gas_limit = gas_limit * 100"]).await;
    case.repair(&RowId::Intent(intent)).await;
    let row = case.world.store.intent(intent).await.expect("read").expect("there");
    assert_eq!(row.state.as_str(), "MINED");
    assert_eq!(case.paid().await, 2);
    case.is_sound().await;
}

async fn an_account_is_made_anew_and_halted(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.rounds(25).await;
    let account = case.world.chain.accounts()[1].address();
    let chain = case.world.vault.chain;
    let before = case.world.store.signer(chain, account).await.expect("read").expect("there");
    for statement in ["UPDATE signer SET next_nonce = next_nonce - 1", "DELETE FROM signer"] {
        case.sql(&[statement]).await;
        let done = case.repair(&RowId::Signer { chain, address: account }).await;
        assert!(done.next.expect("a step").contains("windlass signer resume"));
        let row = case.world.store.signer(chain, account).await.expect("read").expect("there");
        assert_eq!((row.next_nonce, row.halted.is_some()), (before.next_nonce, true));
    }
    let id = case.world.approved("invoice-2", 5).await;
    case.rounds(3).await;
    assert_eq!(case.paid().await, 1, "it signs nothing before somebody has looked");
    case.world.resume(account).await.expect("resumed");
    case.goes_on().await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    case.is_sound().await;
}

async fn an_api_key_is_revoked(kind: Kind) {
    let case = Break::new(kind, |_| {}).await;
    let ledger = case.process.ledger.clone();
    let keyring = Keyring::new(ledger.clone(), "cli/root").expect("a keyring");
    for name in ["ann", "bob"] {
        keyring.create(name, Role::Approver, ApiKey::hash_of(name)).await.expect("made");
    }
    case.sql(&["UPDATE api_key SET role = 'admin' WHERE name = 'ann'"]).await;
    case.sql(&["DELETE FROM api_key WHERE name = 'bob'"]).await;
    for name in ["ann", "bob"] {
        let done = case.repair(&RowId::ApiKey(name.to_owned())).await;
        assert!(done.next.expect("a step").contains("windlass key create"));
        let key = ledger.api_key(ApiKey::hash_of(name)).await.expect("read");
        assert!(key.is_none(), "its secret opens nothing");
        assert!(
            keyring.create(name, Role::Admin, B256::repeat_byte(7)).await.is_err(),
            "nor is its name given again"
        );
    }
    let keys = ledger.list_api_keys().await.expect("listed");
    assert!(keys.len() == 2 && keys.iter().all(|key| key.revoked_at.is_some() && key.role == Role::Approver));
    case.is_sound().await;
}

/// What was right is left alone, and nothing is made of a log that was tampered with.
#[tokio::test]
async fn rows_that_are_right_and_broken_logs_are_left_alone() {
    let case = Break::new(Kind::Sqlite, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    let row = RowId::Payout(id);
    assert!(matches!(case.repairer().repair(&row).await, Err(RepairError::Sound(_))));
    case.sql(&["UPDATE payout SET version = version + 1"]).await;
    case.sql(&["UPDATE audit SET detail = replace(detail, '\"amount\":\"5\"', '\"amount\":\"500\"')"]).await;
    let refused = case.repairer().repair(&row).await;
    assert!(
        matches!(&refused, Err(RepairError::Broken(_) | RepairError::Store(_))),
        "the amount of the log was altered: {refused:?}"
    );
    assert!(case.process.ledger.check_log().await.is_err());
}
