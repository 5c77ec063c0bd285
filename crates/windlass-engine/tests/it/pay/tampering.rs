//! Whoever can write to the database can have nothing paid, and what they did is reported.
//!
//! An intruder inserts, alters, removes and puts back rows of every table that leads to a
//! signature, or to a decision not to pay, with every rule of the schema out of the way. They
//! can read everything, also codes of older versions, and put jobs into the queues.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::NewJob;
use windlass_core::name::{LaneKey, Queue};
use windlass_core::payout::audit::AuditEntry;
use windlass_core::payout::ledger::{ApiKey, ForgeryKind, PayWrite, Role, RowId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskLimits;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::vault::calldata::{self, VaultPayout};
use windlass_engine::pay::head_file::HeadFile;
use windlass_engine::pay::keyring::Keyring;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::ledger_check::LedgerCheck;
use windlass_engine::pay::names::PayNames;
use windlass_engine::pay::options::PayOptions;
use windlass_testkit::clock::ManualClock;

use super::world::{AUDIT_KEY, Process, World};
use crate::database::{Database, Intruder, Kind};

/// A world into which somebody breaks.
pub(super) struct Break {
    pub(super) world: World,
    pub(super) intruder: Intruder,
    pub(super) process: Process,
}

impl Break {
    pub(super) async fn new(kind: Kind, change: impl FnOnce(&mut PayOptions)) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (database, store, intruder) = Database::open_to_all(kind, clock.clone()).await;
        let mut world = World::with(store, database, clock, None, change);
        // What is stored is not what the chain has, on purpose.
        world.is_overseen = false;
        let process = world.process("one");
        Self { world, intruder, process }
    }

    pub(super) async fn sql(&self, statements: &[&str]) -> u64 {
        let statements: Vec<String> = statements.iter().map(|text| (*text).to_owned()).collect();
        self.intruder.run(&statements).await
    }

    pub(super) async fn rounds(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.world.round(&mut self.process).await;
        }
    }

    /// Has a payout taken up again, as if it were due.
    pub(super) async fn enqueue(&self, id: PayoutId) {
        let names = PayNames::new(self.world.vault).expect("names");
        let job = NewJob::new(names.submit, PayNames::payout_lane(id).expect("a lane"), "{}");
        self.world.store.enqueue_jobs(vec![job]).await.expect("enqueued");
    }

    /// What the ledger has refused, by table.
    pub(super) fn refused(&self) -> BTreeSet<(&'static str, ForgeryKind)> {
        self.process.ledger.forgeries().iter().map(|forgery| (forgery.row.table(), forgery.kind)).collect()
    }

    /// Looks at everything, as is done once a minute.
    pub(super) async fn check(&self) -> BTreeSet<(&'static str, ForgeryKind)> {
        LedgerCheck::new(self.process.ledger.clone()).step().await.expect("compared");
        self.refused()
    }

    pub(super) async fn paid(&self) -> usize {
        self.world.payments().await.len()
    }
}

fn refused(table: &'static str, kind: ForgeryKind) -> BTreeSet<(&'static str, ForgeryKind)> {
    BTreeSet::from([(table, kind)])
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
pub(super) use on_both_stores;

on_both_stores!(
    no_column_of_a_payout_can_be_altered,
    a_payout_that_was_inserted_is_not_paid,
    a_payout_that_was_removed_is_missed,
    a_rejected_payout_that_was_put_back_is_not_paid,
    an_approval_that_was_inserted_counts_for_nothing,
    an_approval_that_was_removed_is_missed,
    api_keys_that_were_inserted_altered_or_put_back_are_not_known,
    who_was_revoked_before_the_signature_has_approved_nothing,
    the_sum_of_a_day_cannot_be_lowered_removed_or_put_back,
    a_recipient_is_not_made_known_by_an_inserted_payout,
    a_transaction_with_a_chosen_call_is_not_signed,
    no_column_of_a_transaction_can_be_altered,
    signed_forms_that_were_altered_are_not_sent,
    an_account_that_was_halted_is_not_let_go,
    an_account_that_was_removed_is_not_begun_anew,
    the_known_blocks_of_the_chain_cannot_be_altered_removed_or_put_back,
    jobs_that_were_deleted_are_made_again,
    a_job_or_a_lane_alone_that_was_deleted_holds_up_no_payout,
    a_lane_that_was_altered_holds_up_no_other_payout,
    a_payout_whose_lane_or_job_was_altered_does_not_wait_for_ever,
    a_log_that_was_cut_or_altered_stops_everything,
);

/// What could be written into each column of an approved payout.
fn columns(intruder: &Intruder) -> Vec<(&'static str, String)> {
    let address = intruder.bytes(Address::repeat_byte(0x66).as_slice());
    vec![
        ("recipient", address.clone()),
        ("token", address.clone()),
        ("vault", address),
        ("amount", intruder.amount(500_000)),
        ("key", "'another-key'".to_owned()),
        ("created_by", "'boss'".to_owned()),
        ("created_at_ms", "created_at_ms - 1".to_owned()),
        ("updated_at_ms", "updated_at_ms + 1".to_owned()),
        ("retry_of", "'018f0000-0000-7000-8000-000000000000'".to_owned()),
        ("version", "version + 1".to_owned()),
        ("version", "version - 1".to_owned()),
        ("chain_id", "chain_id + 1".to_owned()),
        ("hold_reason", "'wait'".to_owned()),
        ("budget_day", "budget_day + 1".to_owned()),
        ("memo", "'forged'".to_owned()),
        ("reference", "'forged'".to_owned()),
        ("mac", intruder.bytes(&[0; 32])),
    ]
}

async fn no_column_of_a_payout_can_be_altered(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    let other = case.world.approved("invoice-2", 5).await;
    case.sql(&["CREATE TABLE kept AS SELECT * FROM payout"]).await;
    for (column, value) in columns(&case.intruder) {
        let alter = format!("UPDATE payout SET {column} = {value} WHERE id = '{id}'");
        assert_eq!(case.sql(&[&alter]).await, 1, "{column}");
        case.rounds(2).await;
        let paid = case.world.payments().await;
        assert!(paid.iter().all(|(request, ..)| *request != case.world.request("invoice-1", 5).request_id()));
        let kinds = [ForgeryKind::Altered, ForgeryKind::Old];
        let refused = case.refused();
        assert!(kinds.iter().any(|kind| refused.contains(&("payout", *kind))), "{column}: {refused:?}");
        let back = format!("INSERT INTO payout SELECT * FROM kept WHERE id = '{id}'");
        case.sql(&[&format!("DELETE FROM payout WHERE id = '{id}'"), &back]).await;
        case.enqueue(id).await;
    }
    // Nothing else waited for it, and it goes on once it is mended.
    case.world.clock.advance_ms(60_000);
    case.rounds(20).await;
    for id in [id, other] {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    assert_eq!(case.check().await, BTreeSet::new());
    assert_eq!(case.paid().await, 2);
}

async fn a_payout_that_was_inserted_is_not_paid(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    let forged: PayoutId = "018f0000-0000-7000-8000-000000000000".parse().expect("an id");
    let thief = case.intruder.bytes(Address::repeat_byte(0x66).as_slice());
    let request = case.intruder.bytes(&[0x66; 32]);
    let insert = [
        "CREATE TABLE forged AS SELECT * FROM payout".to_owned(),
        format!(
            "UPDATE forged SET id = '{forged}', key = 'mine', request_id = {request}, recipient = {thief}"
        ),
        "INSERT INTO payout SELECT * FROM forged".to_owned(),
        // With an approval, as if the same person had given it.
        "CREATE TABLE approved AS SELECT * FROM approval".to_owned(),
        format!("UPDATE approved SET payout_id = '{forged}'"),
        "INSERT INTO approval SELECT * FROM approved".to_owned(),
    ];
    case.intruder.run(&insert).await;
    case.enqueue(forged).await;
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed, "the other one goes on");
    assert_eq!(case.paid().await, 1);
    assert_eq!(case.refused(), refused("payout", ForgeryKind::Altered));
}

async fn a_payout_that_was_removed_is_missed(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    let other = case.world.approved("invoice-2", 5).await;
    case.sql(&[&format!("DELETE FROM payout WHERE id = '{id}'")]).await;
    case.rounds(20).await;
    assert_eq!(case.world.payout(other).await.state, PayoutState::Confirmed);
    assert_eq!(case.paid().await, 1);
    assert_eq!(case.refused(), refused("payout", ForgeryKind::Removed));
}

async fn a_rejected_payout_that_was_put_back_is_not_paid(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.sql(&["CREATE TABLE kept AS SELECT * FROM payout"]).await;
    case.world.desk().reject(id, "boss", "stolen invoice").await.expect("rejected");
    let back = ["DELETE FROM payout".to_owned(), "INSERT INTO payout SELECT * FROM kept".to_owned()];
    case.intruder.run(&back).await;
    case.enqueue(id).await;
    case.rounds(5).await;
    assert_eq!(case.paid().await, 0);
    assert_eq!(case.refused(), refused("payout", ForgeryKind::Unnamed));
}

async fn an_approval_that_was_inserted_counts_for_nothing(kind: Kind) {
    let two = |options: &mut PayOptions| {
        options.approvals.others.insert(U256::ZERO, 2);
    };
    let mut case = Break::new(kind, two).await;
    let desk = case.world.desk();
    let asked = case.world.request("invoice-1", 5);
    let id = desk.create(&[asked], "asker").await.expect("asked")[0].payout.id;
    desk.approve(id, "boss").await.expect("one of two");
    let insert = [
        "CREATE TABLE forged AS SELECT * FROM approval".to_owned(),
        "UPDATE forged SET approver = 'zoe'".to_owned(),
        "INSERT INTO approval SELECT * FROM forged".to_owned(),
    ];
    case.intruder.run(&insert).await;
    desk.approve(id, "boss").await.expect("as before");
    assert_eq!(case.world.payout(id).await.state, PayoutState::PendingRisk, "one counts");
    assert_eq!(case.check().await, refused("approval", ForgeryKind::Altered));
    case.rounds(3).await;
    assert_eq!(case.paid().await, 0);
    // Whoever really approves it makes it two.
    desk.approve(id, "eve").await.expect("two of two");
    case.rounds(20).await;
    assert_eq!(case.paid().await, 1);
}

async fn an_approval_that_was_removed_is_missed(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.sql(&["DELETE FROM approval"]).await;
    case.rounds(3).await;
    assert_eq!(case.paid().await, 0);
    assert_eq!(case.refused(), refused("approval", ForgeryKind::Removed));
    let held = case.world.payout(id).await.hold.expect("held");
    assert_eq!(held.reason, "0 valid approvals, and it takes 1");
}

async fn api_keys_that_were_inserted_altered_or_put_back_are_not_known(kind: Kind) {
    let case = Break::new(kind, |_| {}).await;
    let ledger = &case.process.ledger;
    let keyring = Keyring::new(ledger.clone(), "cli/root").expect("a keyring");
    let hash = |secret: &str| ApiKey::hash_of(secret);
    keyring.create("ann", Role::Viewer, hash("ann")).await.expect("made");
    keyring.create("bob", Role::Approver, hash("bob")).await.expect("made");
    case.sql(&["CREATE TABLE kept AS SELECT * FROM api_key"]).await;
    keyring.revoke("bob").await.expect("revoked");
    let known = async |secret: &str| ledger.api_key(hash(secret)).await.expect("read").map(|key| key.role);
    assert_eq!(known("ann").await, Some(Role::Viewer));

    // Put back to before it was revoked.
    case.sql(&[
        "DELETE FROM api_key WHERE name = 'bob'",
        "INSERT INTO api_key SELECT * FROM kept WHERE name = 'bob'",
    ])
    .await;
    assert_eq!(known("bob").await, None);
    assert_eq!(case.refused(), refused("api_key", ForgeryKind::Old));
    // Removed.
    case.sql(&["DELETE FROM api_key WHERE name = 'bob'"]).await;
    assert_eq!(case.check().await, refused("api_key", ForgeryKind::Removed));
    // Another role, another secret.
    for column in ["role = 'admin'".to_owned(), format!("hash = {}", case.intruder.bytes(&hash("eve").0))] {
        case.sql(&[&format!("UPDATE api_key SET {column} WHERE name = 'ann'")]).await;
        assert_eq!((known("ann").await, known("eve").await), (None, None), "{column}");
        assert!(case.refused().contains(&("api_key", ForgeryKind::Altered)));
        case.sql(&[
            "DELETE FROM api_key WHERE name = 'ann'",
            "INSERT INTO api_key SELECT * FROM kept WHERE name = 'ann'",
        ])
        .await;
        assert_eq!(known("ann").await, Some(Role::Viewer), "it is mended");
    }
    // One that was never made.
    let insert = [
        "CREATE TABLE forged AS SELECT * FROM kept WHERE name = 'ann'".to_owned(),
        format!(
            "UPDATE forged SET name = 'eve', role = 'admin', hash = {}",
            case.intruder.bytes(&hash("eve").0)
        ),
        "INSERT INTO api_key SELECT * FROM forged".to_owned(),
    ];
    case.intruder.run(&insert).await;
    assert_eq!(known("eve").await, None);
    let names: Vec<String> =
        ledger.list_api_keys().await.expect("listed").into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["ann"]);
}

async fn who_was_revoked_before_the_signature_has_approved_nothing(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let keyring = Keyring::new(case.process.ledger.clone(), "cli/root").expect("a keyring");
    keyring.create("boss", Role::Approver, B256::repeat_byte(1)).await.expect("made");
    let id = case.world.approved("invoice-1", 5).await;
    keyring.revoke("boss").await.expect("revoked");
    case.rounds(2).await;
    let reason = case.world.payout(id).await.hold.expect("held").reason;
    assert_eq!(
        reason,
        "0 valid approvals, and it takes 1; not counted, because the key was revoked since: boss"
    );
    // That nobody has such a key any more changes nothing.
    case.sql(&["DELETE FROM api_key"]).await;
    case.world.clock.advance_ms(60_000);
    case.rounds(2).await;
    assert_eq!(case.paid().await, 0);
    // Somebody else approves it.
    case.world.desk().approve(id, "zoe").await.expect("approved anew");
    case.world.clock.advance_ms(60_000);
    case.rounds(20).await;
    assert_eq!(case.paid().await, 1);
}

/// A day's limit that has room for one payout of two.
fn one_a_day(options: &mut PayOptions) {
    options.rules.limits = RiskLimits { max_daily_total: Some(U256::from(100)), ..RiskLimits::default() };
}

async fn the_sum_of_a_day_cannot_be_lowered_removed_or_put_back(kind: Kind) {
    let mut case = Break::new(kind, one_a_day).await;
    let kept = "CREATE TABLE kept AS SELECT * FROM budget";
    case.world.approved("invoice-1", 5).await;
    case.sql(&[kept]).await;
    case.world.approved("invoice-2", 90).await;
    let desk = case.world.desk();
    let asked = case.world.request("invoice-3", 50);
    let id = desk.create(&[asked], "asker").await.expect("asked")[0].payout.id;
    case.sql(&["CREATE TABLE whole AS SELECT * FROM budget"]).await;
    let zero = format!("UPDATE budget SET total = {}", case.intruder.amount(0));
    let tampered = [
        (vec![zero.as_str()], ForgeryKind::Altered),
        (vec!["DELETE FROM budget"], ForgeryKind::Removed),
        (vec!["DELETE FROM budget", "INSERT INTO budget SELECT * FROM kept"], ForgeryKind::Old),
    ];
    for (statements, kind) in tampered {
        case.sql(&statements).await;
        let error = desk.approve(id, "boss").await.expect_err("nobody knows what the day holds");
        assert_eq!(error.code().as_str(), "W0612", "{error}");
        assert!(case.check().await.contains(&("budget", kind)), "{:?}", case.refused());
        case.rounds(2).await;
        assert_eq!(case.paid().await, 0, "nothing of this token is signed meanwhile");
        case.sql(&["DELETE FROM budget", "INSERT INTO budget SELECT * FROM whole"]).await;
    }
    desk.approve(id, "boss").await.expect("refused by the rules");
    assert_eq!(case.world.payout(id).await.state, PayoutState::Rejected);
    case.world.clock.advance_ms(60_000);
    case.rounds(20).await;
    assert_eq!(case.paid().await, 2);
    assert_eq!(case.check().await, BTreeSet::new());
}

async fn a_recipient_is_not_made_known_by_an_inserted_payout(kind: Kind) {
    let hold = |options: &mut PayOptions| options.rules.new_recipient_hold = Duration::from_secs(86_400);
    let mut case = Break::new(kind, hold).await;
    let desk = case.world.desk();
    let asked = case.world.request("invoice-1", 5);
    let id = desk.create(std::slice::from_ref(&asked), "asker").await.expect("asked")[0].payout.id;
    let hash = case.intruder.bytes(&[1; 32]);
    let insert = [
        "CREATE TABLE forged AS SELECT * FROM payout".to_owned(),
        format!(
            "UPDATE forged SET id = '018f0000-0000-7000-8000-000000000000', key = 'mine', request_id = {hash}, \
             state = 'CONFIRMED', submitted_at_ms = 1, confirmed_at_ms = 1, block_number = 1, block_hash = {hash}, \
             transaction_hash = {hash}, budget_day = 1"
        ),
        "INSERT INTO payout SELECT * FROM forged".to_owned(),
    ];
    case.intruder.run(&insert).await;
    let paid = case.process.ledger.paid_to(case.world.vault, &[asked.to]).await.expect("read");
    assert_eq!((paid, case.refused()), (Vec::new(), refused("payout", ForgeryKind::Altered)));
    let approved = desk.approve(id, "boss").await.expect("approved").payout;
    assert_eq!(approved.hold.expect("a day").reason, "first payment to this recipient");
    case.rounds(5).await;
    assert_eq!(case.paid().await, 0);
}

async fn a_transaction_with_a_chosen_call_is_not_signed(kind: Kind) {
    let mut case = Break::new(kind, |options| options.bump_after_blocks = 1).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    let signed = case.world.sent.lock().expect("sent").len();
    let payout = case.world.payout(id).await;
    let intent = payout.intent.expect("a transaction");
    let thief = VaultPayout {
        request_id: B256::repeat_byte(0x66),
        token: case.world.token,
        to: Address::repeat_byte(0x66),
        amount: U256::from(20_000),
    };
    let call = case.intruder.bytes(&calldata::payout(&thief));
    let next = intent.nonce + 1;
    let insert = [
        "CREATE TABLE forged AS SELECT * FROM intent".to_owned(),
        format!("UPDATE forged SET nonce = {next}, data = {call}"),
        "INSERT INTO intent SELECT * FROM forged".to_owned(),
        "CREATE TABLE signed AS SELECT * FROM attempt".to_owned(),
        format!("UPDATE signed SET nonce = {next}, hash = {}", case.intruder.bytes(&[0x66; 32])),
        "INSERT INTO attempt SELECT * FROM signed".to_owned(),
    ];
    case.intruder.run(&insert).await;
    let names = PayNames::new(case.world.vault).expect("names");
    let lane = windlass_core::payout::ledger::IntentId { nonce: next, ..intent }.to_string();
    let job = NewJob::new(names.track, LaneKey::new(lane).expect("a lane"), "{}");
    case.world.store.enqueue_jobs(vec![job]).await.expect("enqueued");
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.paid().await, 1, "and nothing to the thief");
    assert!(case.refused().contains(&("intent", ForgeryKind::Altered)), "{:?}", case.refused());
    assert!(signed >= 1);
}

async fn no_column_of_a_transaction_can_be_altered(kind: Kind) {
    let mut case = Break::new(kind, |options| options.bump_after_blocks = 1).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    case.sql(&["CREATE TABLE kept AS SELECT * FROM intent"]).await;
    let address = case.intruder.bytes(Address::repeat_byte(0x66).as_slice());
    let thief = VaultPayout {
        request_id: B256::repeat_byte(0x66),
        token: case.world.token,
        to: Address::repeat_byte(0x66),
        amount: U256::from(20_000),
    };
    let price = match kind {
        Kind::Sqlite => case.intruder.bytes(&[0; 16]),
        Kind::Postgres => "1".to_owned(),
    };
    let columns = [
        ("gas_used", format!("1, effective_gas_price = {price}, block_timestamp_s = 1")),
        ("recipient", address),
        ("data", case.intruder.bytes(&calldata::payout(&thief))),
        ("gas_limit", "gas_limit * 100".to_owned()),
        ("created_at_ms", "created_at_ms + 1".to_owned()),
        ("updated_at_ms", "updated_at_ms + 1".to_owned()),
        ("attempts", "attempts + 1".to_owned()),
        ("signed_at_block", "0".to_owned()),
        ("version", "version + 1".to_owned()),
        ("state", "'DISPLACED'".to_owned()),
        ("mac", case.intruder.bytes(&[0; 32])),
    ];
    let before = case.world.sent.lock().expect("sent").len();
    for (column, value) in columns {
        case.sql(&[&format!("UPDATE intent SET {column} = {value}")]).await;
        // Blocks pass over it, so that more would be offered for it.
        case.world.clock.advance_ms(10_000);
        let _ = case.process.tracker.step().await;
        assert!(case.refused().contains(&("intent", ForgeryKind::Altered)), "{column}: {:?}", case.refused());
        case.sql(&["DELETE FROM intent", "INSERT INTO intent SELECT * FROM kept"]).await;
    }
    assert_eq!(case.world.sent.lock().expect("sent").len(), before, "nothing was signed or sent meanwhile");
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!((case.paid().await, case.check().await), (1, BTreeSet::new()));
}

async fn signed_forms_that_were_altered_are_not_sent(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    case.sql(&["CREATE TABLE kept AS SELECT * FROM attempt"]).await;
    let before = case.world.sent.lock().expect("sent").len();
    let one = case.intruder.bytes(&[1; 32]);
    let tampered = [
        format!("UPDATE attempt SET raw = {one}"),
        format!("UPDATE attempt SET hash = {one}"),
        "UPDATE attempt SET number = 2".to_owned(),
        "DELETE FROM attempt".to_owned(),
    ];
    for statement in tampered {
        case.sql(&[&statement]).await;
        case.world.clock.advance_ms(10_000);
        let _ = case.process.tracker.step().await;
        assert!(case.refused().iter().any(|(table, _)| *table == "attempt"), "{statement}");
        case.sql(&["DELETE FROM attempt", "INSERT INTO attempt SELECT * FROM kept"]).await;
    }
    assert_eq!(case.world.sent.lock().expect("sent").len(), before);
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!((case.paid().await, case.check().await), (1, BTreeSet::new()));
}

async fn an_account_that_was_halted_is_not_let_go(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.rounds(20).await;
    case.sql(&["CREATE TABLE kept AS SELECT * FROM signer"]).await;
    let mint = super::world::mintCall { to: case.world.token, amount: U256::ONE };
    case.world.act(1, case.world.token, &mint);
    case.rounds(2).await;
    let chain = case.world.vault.chain;
    let account = case.world.chain.accounts()[1].address();
    assert!(case.world.store.signer(chain, account).await.expect("read").expect("there").halted.is_some());
    case.world.approved("invoice-2", 5).await;
    for statements in [
        vec!["UPDATE signer SET halted = NULL"],
        vec!["UPDATE signer SET halted = NULL, next_nonce = next_nonce + 1"],
        vec!["DELETE FROM signer", "INSERT INTO signer SELECT * FROM kept"],
    ] {
        case.sql(&statements).await;
        case.rounds(5).await;
        assert_eq!(case.paid().await, 1, "{statements:?}");
        assert!(case.refused().iter().any(|(table, _)| *table == "signer"), "{statements:?}");
    }
}

async fn an_account_that_was_removed_is_not_begun_anew(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.rounds(20).await;
    case.world.approved("invoice-2", 5).await;
    case.sql(&["DELETE FROM signer"]).await;
    case.rounds(5).await;
    assert_eq!(case.paid().await, 1);
    assert_eq!(case.refused(), refused("signer", ForgeryKind::Removed));
}

async fn the_known_blocks_of_the_chain_cannot_be_altered_removed_or_put_back(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.rounds(20).await;
    case.world.approved("invoice-2", 5).await;
    let where_it_is = "WHERE key LIKE 'pay/%/identity'";
    case.sql(&[&format!("CREATE TABLE kept AS SELECT * FROM state {where_it_is}")]).await;
    let remove = format!("DELETE FROM state {where_it_is}");
    for (statement, kind) in [
        (
            format!("UPDATE state SET value = replace(value, '\"number\":0', '\"number\":1') {where_it_is}"),
            ForgeryKind::Altered,
        ),
        (format!("UPDATE state SET value = '{{}}' {where_it_is}"), ForgeryKind::Removed),
        (remove.clone(), ForgeryKind::Removed),
    ] {
        assert_eq!(case.sql(&[&statement]).await, 1, "{statement}");
        // Whoever begins looks at once, and whoever runs within half a minute.
        let mut begun = case.world.process("begun");
        assert!(begun.submitters[0].step().await.is_err(), "{statement}");
        assert!(case.check().await.contains(&("chain", kind)), "{statement}: {:?}", case.refused());
        case.world.clock.advance_ms(31_000);
        case.rounds(2).await;
        assert_eq!(case.paid().await, 1, "{statement}");
        case.sql(&[&remove, "INSERT INTO state SELECT * FROM kept"]).await;
    }
    case.world.clock.advance_ms(61_000);
    case.rounds(20).await;
    assert_eq!((case.paid().await, case.check().await), (2, BTreeSet::new()));
}

async fn jobs_that_were_deleted_are_made_again(kind: Kind) {
    let mut case = Break::new(kind, |options| options.max_open = 1).await;
    let sent = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    let waiting = case.world.approved("invoice-2", 5).await;
    assert_eq!(case.world.payout(sent).await.state, PayoutState::Submitted);
    let lanes = case.sql(&["DELETE FROM job", "DELETE FROM lane WHERE queue LIKE 'pay/%'"]).await;
    assert!(lanes > 0);
    case.world.clock.advance_ms(60_000);
    case.rounds(10).await;
    assert_eq!((case.paid().await, case.world.payout(sent).await.inclusion), (1, None), "nobody follows it");
    assert_eq!(case.world.payout(waiting).await.state, PayoutState::Approved, "nobody signs it");
    let store = case.world.store.clone();
    let jobs = async || -> u64 {
        let queues = store.count_jobs().await.expect("counted");
        queues.iter().map(|queue| queue.open).sum()
    };
    assert_eq!(jobs().await, 0);
    case.check().await;
    assert_eq!(jobs().await, 2);
    case.check().await;
    assert_eq!(jobs().await, 2, "each once");
    case.rounds(20).await;
    for id in [sent, waiting] {
        assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    }
    case.check().await;
    assert_eq!((jobs().await, case.paid().await), (0, 2));
}

/// Whatever is left of a lane and its job: the payout is taken up again, and others never wait.
async fn a_job_or_a_lane_alone_that_was_deleted_holds_up_no_payout(kind: Kind) {
    for deleted in ["job", "lane"] {
        let mut case = Break::new(kind, |_| {}).await;
        let delete = format!("DELETE FROM {deleted}");
        let mut ids = vec![case.world.approved("invoice-1", 5).await];
        assert!(case.sql(&[&delete]).await > 0, "{deleted}");
        // Made again in a lane whose first job is gone.
        case.check().await;
        ids.push(case.world.approved("invoice-2", 5).await);
        case.process.submitters[0].step().await.expect("signed");
        for id in &ids {
            assert_eq!(case.world.payout(*id).await.state, PayoutState::Submitted, "{deleted}");
        }
        case.sql(&[&delete]).await;
        ids.push(case.world.approved("invoice-3", 5).await);
        case.check().await;
        case.world.clock.advance_ms(60_000);
        case.rounds(20).await;
        for id in ids {
            assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed, "{deleted}");
        }
        assert_eq!(case.paid().await, 3, "{deleted}");
    }
}

async fn a_payout_whose_lane_or_job_was_altered_does_not_wait_for_ever(kind: Kind) {
    const FAR: i64 = i64::MAX / 2;
    for altered in [
        format!("lane SET available_at_ms = {FAR}"),
        format!("lane SET available_at_ms = {FAR}, owner = 'nobody', held_seq = tail_seq"),
        "lane SET done_seq = tail_seq".to_owned(),
        "lane SET tail_seq = 0, done_seq = 0".to_owned(),
        "lane SET epoch = 9223372036854775807".to_owned(),
        format!("job SET not_before_ms = {FAR}"),
    ] {
        let mut case = Break::new(kind, |options| options.max_open = 1).await;
        let sent = case.world.approved("invoice-1", 5).await;
        case.process.submitters[0].step().await.expect("signed");
        let waiting = case.world.approved("invoice-2", 5).await;
        assert!(case.sql(&[&format!("UPDATE {altered}")]).await > 1, "{altered}");
        case.rounds(5).await;
        case.check().await;
        case.check().await;
        case.world.clock.advance_ms(60_000);
        case.rounds(20).await;
        for id in [sent, waiting] {
            assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed, "{altered}");
        }
        assert_eq!(case.paid().await, 2, "{altered}");
    }
}

async fn a_lane_that_was_altered_holds_up_no_other_payout(kind: Kind) {
    for altered in ["attempts = -7", "key = ''", "epoch = 9223372036854775807"] {
        let mut case = Break::new(kind, |_| {}).await;
        let first = case.world.approved("invoice-1", 5).await;
        assert_eq!(case.sql(&[&format!("UPDATE lane SET {altered} WHERE key = '{first}'")]).await, 1);
        let other = case.world.approved("invoice-2", 5).await;
        case.rounds(20).await;
        assert_eq!(case.world.payout(other).await.state, PayoutState::Confirmed, "{altered}");
    }
}

async fn a_log_that_was_cut_or_altered_stops_everything(kind: Kind) {
    for tampered in [
        "UPDATE audit SET detail = '{}' WHERE seq = (SELECT max(seq) FROM audit)",
        "UPDATE audit SET rows = '' WHERE seq = (SELECT max(seq) FROM audit)",
        "UPDATE audit SET subject = 'x' WHERE seq = 2",
        "UPDATE audit SET mac = substr(mac, 1, 1) WHERE seq = 2",
        "UPDATE audit SET mac = substr(mac, 1, 1) WHERE seq = (SELECT max(seq) FROM audit)",
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
        "DELETE FROM audit",
    ] {
        let mut case = Break::new(kind, |_| {}).await;
        let folder = tempfile::tempdir().expect("a folder");
        let file = HeadFile::new(folder.path().join("head"));
        case.world.approved("invoice-1", 5).await;
        let ledger = || Ledger::with_head_file(case.world.store.clone(), AUDIT_KEY, Some(file.clone()));
        ledger().check_log().await.expect("whole");
        case.sql(&[tampered]).await;
        // One that has followed it before, one that begins, and one that has only the file.
        let error = ledger().check_log().await.expect_err(tampered);
        assert!(matches!(error, StoreError::AuditBroken(_)), "{tampered}: {error}");
        let is_cut_off = tampered.starts_with("DELETE");
        case.rounds(5).await;
        // A log that is whole and too short shows against what is kept outside alone.
        if !is_cut_off {
            assert_eq!(case.paid().await, 0, "{tampered}");
            assert!(case.process.ledger.fault().is_some(), "{tampered}");
        }
    }
}

#[tokio::test]
async fn a_database_that_was_put_back_shows_against_the_file() {
    let case = Break::new(Kind::Sqlite, |_| {}).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = HeadFile::new(folder.path().join("head"));
    let ledger = Ledger::with_head_file(case.world.store.clone(), AUDIT_KEY, Some(file.clone()));
    let keyring = Keyring::new(ledger.clone(), "cli/root").expect("a keyring");
    keyring.create("bob", Role::Approver, ApiKey::hash_of("bob")).await.expect("made");
    // A copy of everything, log and all, from before bob was revoked.
    let tables = ["api_key", "audit"];
    for table in tables {
        case.sql(&[&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}")]).await;
    }
    keyring.revoke("bob").await.expect("revoked");
    assert_eq!(file.read().expect("read").expect("written").seq, 2);
    for table in tables {
        let back = format!("INSERT INTO {table} SELECT * FROM kept_{table}");
        case.sql(&[&format!("DELETE FROM {table}"), &back]).await;
    }
    // Who has followed the log knows; who begins has the file.
    for ledger in [ledger, Ledger::with_head_file(case.world.store.clone(), AUDIT_KEY, Some(file.clone()))] {
        let error = ledger.api_key(ApiKey::hash_of("bob")).await.expect_err("nobody is let in");
        assert_eq!(
            error.to_string(),
            "the audit log is broken: the log does not hold the published head at entry 2: its end was cut off or rewritten"
        );
        assert!(ledger.fault().is_some());
    }
    let row = RowId::ApiKey("bob".to_owned());
    assert_eq!(row.to_string(), "API key `bob`");
}

/// A checkpoint spares following the log from its first entry, and nobody gains by altering it.
#[tokio::test]
async fn a_checkpoint_is_made_and_an_altered_one_is_not_used() {
    let case = Break::new(Kind::Sqlite, |_| {}).await;
    let ledger = case.process.ledger.clone();
    let keyring = Keyring::new(ledger.clone(), "cli/root").expect("a keyring");
    keyring.create("ann", Role::Viewer, ApiKey::hash_of("ann")).await.expect("made");
    keyring.create("bob", Role::Approver, ApiKey::hash_of("bob")).await.expect("made");
    assert!(!ledger.checkpoint().await.expect("looked"), "the log is short");
    let entry = AuditEntry {
        actor: "worker".to_owned(),
        action: "attempt.sent".to_owned(),
        subject: "x".to_owned(),
        detail: "{}".to_owned(),
        rows: String::new(),
    };
    let entries = vec![entry; 5_000];
    let write = Write::Pay(PayWrite::audit(AUDIT_KEY, entries));
    ledger.commit(Commit::of(vec![write])).await.expect("written");
    assert!(ledger.checkpoint().await.expect("made") && !ledger.checkpoint().await.expect("looked"));
    keyring.revoke("bob").await.expect("revoked");
    // The first entries are not read again: that they are gone does not show to who begins there.
    case.sql(&[
        "CREATE TABLE kept AS SELECT * FROM audit WHERE seq < 10",
        "DELETE FROM audit WHERE seq < 10",
    ])
    .await;
    let begun = || Ledger::new(case.world.store.clone(), AUDIT_KEY);
    let found = begun().api_key(ApiKey::hash_of("ann")).await.expect("read").expect("known");
    assert_eq!(found.role, Role::Viewer);
    let bob = begun().api_key(ApiKey::hash_of("bob")).await.expect("read").expect("known");
    assert!(bob.revoked_at.is_some(), "what came behind the checkpoint counts");
    // One that was altered is as good as none: then all of the log has to be there.
    case.sql(&[
        "UPDATE state SET value = replace(value, '5002', '5001') WHERE key = 'pay/ledger/checkpoint'",
    ])
    .await;
    let error = begun().api_key(ApiKey::hash_of("ann")).await.expect_err("entries are missing");
    assert!(matches!(error, StoreError::AuditBroken(_)), "{error}");
    case.sql(&["INSERT INTO audit SELECT * FROM kept"]).await;
    assert!(begun().api_key(ApiKey::hash_of("ann")).await.expect("read").is_some());
}

#[test]
fn the_file_never_goes_back() {
    use windlass_core::payout::audit::AuditHead;
    let folder = tempfile::tempdir().expect("a folder");
    let file = HeadFile::new(folder.path().join("deep/head"));
    assert_eq!(file.read().expect("read"), None);
    let head = |seq| AuditHead { seq, mac: B256::repeat_byte(seq as u8) };
    let advance = |seq| file.try_lock().expect("looked").expect("free").advance(head(seq)).expect("written");
    for (given, kept) in [(3, 3), (2, 3), (5, 5)] {
        assert_eq!(advance(given), head(kept));
        assert_eq!(file.read().expect("read"), Some(head(kept)));
    }
    let lock = file.try_lock().expect("looked");
    assert!(lock.is_some() && file.try_lock().expect("looked").is_none(), "one at a time");
    drop(lock);
    file.replace(head(1)).expect("written");
    assert_eq!(file.read().expect("read"), Some(head(1)));
    for broken in ["", "{", "\0\0\0"] {
        std::fs::write(file.path(), broken).expect("written");
        assert!(file.read().is_err(), "{broken:?} is not taken for none");
    }
}

/// Queues are nobody's secret: what stands in them is only looked at.
#[tokio::test]
async fn a_job_without_a_payout_harms_nobody() {
    let mut case = Break::new(Kind::Sqlite, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.enqueue("018f0000-0000-7000-8000-000000000000".parse().expect("an id")).await;
    let names = PayNames::new(case.world.vault).expect("names");
    let queue: Queue = names.submit;
    let job = NewJob::new(queue, LaneKey::new("nonsense").expect("a lane"), "{}");
    case.world.store.enqueue_jobs(vec![job]).await.expect("enqueued");
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
}
