//! Rows that an operator puts right: replaced and removed whatever the schema's rules say, and the
//! rules hold again afterwards.

use windlass_core::chain::{Address, B256, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::ledger::{
    ApiKey, Approval, Attempt, Budget, Intent, IntentState, PayWrite, Payout, ReplacedRow, Role, RowId,
    SignerRow,
};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::support::{Well, refused};
use crate::harness::Harness;
use crate::make::{attempt, budget_key, inclusion, intent, intent_id, payout, vault};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

async fn pay(store: &dyn Store, writes: Vec<PayWrite>) -> StoreResult<()> {
    store.commit(Commit::of(writes.into_iter().map(Write::Pay).collect())).await.map(drop)
}

async fn replace(store: &dyn Store, row: ReplacedRow) {
    pay(store, vec![PayWrite::Replace(Box::new(row))]).await.well();
}

async fn remove(store: &dyn Store, row: RowId) {
    pay(store, vec![PayWrite::Remove(row)]).await.well();
}

fn approval(number: u8) -> Approval {
    Approval { payout: payout(number).id, approver: "ann".to_owned(), at: at(5), mac: B256::repeat_byte(6) }
}

/// A payout that is over, in one step, and with another recipient than before.
fn confirmed(number: u8) -> Payout {
    let approved = payout(number).approved(budget_key(3, None).day, at(2_000)).expect("a way");
    let submitted = approved.submitted(intent_id(4), budget_key(3, None).day, at(3_000)).expect("a way");
    let mut row = submitted.confirmed(inclusion(8), at(4_000)).expect("a way").finalized(at(5_000));
    row.request.to = Address::repeat_byte(0x66);
    row.memo = Memo::new("rent, March").ok();
    row.reference = Reference::new("2041").ok();
    row.version = 9;
    row
}

pub async fn a_payout_is_replaced_whatever_stands_there(harness: &dyn Harness) {
    let store = harness.open().await;
    pay(&*store, vec![PayWrite::Payouts(vec![payout(1), payout(2)])]).await.well();
    pay(&*store, vec![PayWrite::Approvals(vec![approval(1)])]).await.well();
    // In the place of an older one, which its approval names, and where none is.
    for number in [1, 3] {
        replace(&*store, ReplacedRow::Payout(confirmed(number))).await;
        assert_eq!(store.payouts(&[payout(number).id]).await.well(), [confirmed(number)]);
        let request = confirmed(number).request.request_id();
        assert_eq!(store.payouts_of_requests(&[request]).await.well(), [confirmed(number)]);
    }
    assert_eq!(store.approvals(&[payout(1).id]).await.well(), [approval(1)]);
    // Somebody has inserted another payout under its key.
    let squatter = Payout { request: payout(4).request, ..payout(5) };
    pay(&*store, vec![PayWrite::Payouts(vec![squatter])]).await.well();
    replace(&*store, ReplacedRow::Payout(confirmed(4))).await;
    assert_eq!(store.payouts_of_keys(&[payout(4).request.key]).await.well(), [confirmed(4)]);
    assert_eq!(store.payouts(&[payout(5).id]).await.well(), []);
    // One that goes back to an earlier state keeps nothing of what stood there.
    replace(&*store, ReplacedRow::Payout(payout(1))).await;
    assert_eq!(store.payouts(&[payout(1).id]).await.well(), [payout(1)]);
    the_rules_hold(&*store).await;
}

/// What no rule allows is refused again.
async fn the_rules_hold(store: &dyn Store) {
    let jump = Payout { version: payout(2).version + 1, ..confirmed(2) };
    refused!(pay(store, vec![PayWrite::Payouts(vec![jump])]).await, StoreError::Forbidden(_));
}

pub async fn other_rows_are_replaced_at_any_version(harness: &dyn Harness) {
    let store = harness.open().await;
    pay(&*store, vec![PayWrite::Payouts(vec![payout(1)])]).await.well();
    let (chain, address) = (vault().chain, Address::repeat_byte(9));
    for version in [7, 3] {
        let one = Approval { at: at(version), ..approval(1) };
        replace(&*store, ReplacedRow::Approval(one.clone())).await;
        assert_eq!(store.approvals(&[payout(1).id]).await.well(), [one]);
        let sum = Budget { version, ..Budget::empty(budget_key(3, Some(1))).with(U256::from(version)) };
        let sum = Budget { version, ..sum };
        replace(&*store, ReplacedRow::Budget(sum)).await;
        assert_eq!(store.budgets(&[sum.key]).await.well(), [sum]);
        let nonce = version.unsigned_abs();
        let halted = Some("looked at".to_owned());
        let signer = SignerRow { version, halted, ..SignerRow::new(chain, address, nonce, at(1)) };
        replace(&*store, ReplacedRow::Signer(signer.clone())).await;
        assert_eq!(store.signer(chain, address).await.well(), Some(signer));
        let hash = B256::repeat_byte(u8::try_from(version).unwrap_or(0));
        let key = ApiKey {
            name: "ann".to_owned(),
            version,
            role: Role::Viewer,
            hash,
            created_at: at(1),
            revoked_at: Some(at(2)),
            mac: B256::repeat_byte(3),
        };
        replace(&*store, ReplacedRow::ApiKey(key.clone())).await;
        assert_eq!(store.list_api_keys().await.well(), [key]);
    }
    the_rules_hold_for_payouts_that_are_there(&*store).await;
}

async fn the_rules_hold_for_payouts_that_are_there(store: &dyn Store) {
    let again = Approval { at: at(99), ..approval(1) };
    refused!(pay(store, vec![PayWrite::Approvals(vec![again])]).await, StoreError::Stale(_));
}

pub async fn a_transaction_is_replaced_with_its_signed_forms(harness: &dyn Harness) {
    let store = harness.open().await;
    pay(&*store, vec![PayWrite::Payouts(vec![payout(1)])]).await.well();
    let first = intent(4, &[&payout(1)]);
    let forms =
        |numbers: &[u32]| -> Vec<Attempt> { numbers.iter().map(|number| attempt(4, *number)).collect() };
    pay(&*store, vec![PayWrite::Intents(vec![first.clone()]), PayWrite::Attempts(forms(&[1]))]).await.well();
    for (state, attempts) in [(IntentState::Open, 2), (IntentState::Mined, 1), (IntentState::Reverted, 1)] {
        let inclusion = (state != IntentState::Open).then(|| inclusion(8));
        let row = Intent { version: 6, state, inclusion, attempts, gas_limit: 77, ..first.clone() };
        let kept = forms(&(1..=attempts).collect::<Vec<_>>());
        replace(&*store, ReplacedRow::Intent(row.clone(), kept.clone())).await;
        assert_eq!(store.intent(row.id).await.well(), Some(row.clone()));
        assert_eq!(store.attempts(row.id).await.well(), kept);
        assert_eq!(store.intents_of(payout(1).id).await.well(), [row]);
    }
    // It was reverted: another transaction may pay the payout.
    let other = intent(5, &[&payout(1)]);
    pay(&*store, vec![PayWrite::Intents(vec![other])]).await.well();
}

pub async fn rows_are_removed_with_what_belongs_to_them(harness: &dyn Harness) {
    let store = harness.open().await;
    pay(&*store, vec![PayWrite::Payouts(vec![payout(1), payout(2)])]).await.well();
    pay(&*store, vec![PayWrite::Approvals(vec![approval(1), approval(2)])]).await.well();
    let transaction = intent(4, &[&payout(2)]);
    pay(&*store, vec![PayWrite::Intents(vec![transaction]), PayWrite::Attempts(vec![attempt(4, 1)])])
        .await
        .well();
    remove(&*store, RowId::Payout(payout(1).id)).await;
    assert_eq!(store.payouts(&[payout(1).id, payout(2).id]).await.well(), [payout(2)]);
    assert_eq!(store.approvals(&[payout(1).id, payout(2).id]).await.well(), [approval(2)]);
    let row = RowId::Payout(payout(2).id);
    assert!(pay(&*store, vec![PayWrite::Remove(row)]).await.is_err(), "a transaction pays it");
    remove(&*store, RowId::Intent(intent_id(4))).await;
    assert_eq!(store.intent(intent_id(4)).await.well(), None);
    assert_eq!(store.attempts(intent_id(4)).await.well(), []);
    remove(&*store, RowId::Approval { payout: payout(2).id, approver: "ann".to_owned() }).await;
    assert_eq!(store.approvals(&[payout(2).id]).await.well(), []);
    // What is not there is no trouble.
    remove(&*store, RowId::Signer { chain: vault().chain, address: Address::ZERO }).await;
    remove(&*store, RowId::Budget(budget_key(3, None))).await;
    remove(&*store, RowId::ApiKey("nobody".to_owned())).await;
    the_rules_hold(&*store).await;
}
