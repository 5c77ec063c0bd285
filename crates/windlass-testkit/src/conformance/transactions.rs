//! Transactions of payouts, and the nonces of the accounts that send them.

use windlass_core::chain::{Address, B256};
use windlass_core::error::StoreError;
use windlass_core::payout::ledger::{Intent, IntentState, PayWrite, ReceiptSummary, SignerRow};
use windlass_core::payout::store::MAX_PAYOUT_PAGE;

use super::payouts::{at, pay, put, submit};
use super::support::{Well, refused};
use crate::harness::Harness;
use crate::make::{attempt, inclusion, intent, intent_id, payout, vault};

const RECEIPT: Option<ReceiptSummary> = Some(ReceiptSummary {
    gas_used: 75_000,
    effective_gas_price: u128::MAX,
    block_timestamp_s: 1_700_000_000,
});

pub async fn transactions_read_back_exactly(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = submit(&*store, 1).await;
    let made = intent(1, &[&row]);
    assert_eq!(store.intent(made.id).await.well(), Some(made.clone()));
    assert_eq!(store.intent(intent_id(2)).await.well(), None);
    let again = made.signed_again(9, at(4_000));
    let second = attempt(1, 2);
    pay(&*store, vec![PayWrite::Intents(vec![again.clone()]), PayWrite::Attempts(vec![second.clone()])])
        .await
        .well();
    let both = [attempt(1, 1), second];
    assert_eq!(store.attempts(made.id).await.well(), both);
    assert_eq!(store.list_attempts(None, 10).await.well(), both);
    assert_eq!(store.list_attempts(None, 1).await.well(), both[..1]);
    assert_eq!(store.list_attempts(Some((made.id, 1)), 10).await.well(), both[1..]);
    assert_eq!(store.list_attempts(Some((made.id, 2)), 10).await.well(), []);
    assert_eq!(store.unreadable_ids().await.well(), []);
    let seen = again.seen(Some(inclusion(8)), at(5_000));
    let mined = seen.ended(IntentState::Mined, Some(inclusion(8)), at(6_000)).with_receipt(RECEIPT);
    let mined = Intent { mac: B256::repeat_byte(0x55), ..mined };
    pay(&*store, vec![PayWrite::Intents(vec![seen, mined.clone()])]).await.well();
    assert_eq!(store.intents_of(row.id).await.well(), std::slice::from_ref(&mined));
    refused!(pay(&*store, vec![PayWrite::Intents(vec![mined])]).await, StoreError::Stale(_));
}

pub async fn what_a_receipt_says_is_kept_with_its_block_alone(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = submit(&*store, 1).await;
    let made = intent(1, &[&row]);
    let nowhere = Intent { receipt: RECEIPT, ..made.signed_again(9, at(4_000)) };
    refused!(pay(&*store, vec![PayWrite::Intents(vec![nowhere])]).await, StoreError::Forbidden(_));
    let seen = made.seen(Some(inclusion(8)), at(5_000)).with_receipt(RECEIPT);
    pay(&*store, vec![PayWrite::Intents(vec![seen.clone()])]).await.well();
    assert_eq!(store.intent(made.id).await.well(), Some(seen.clone()));
    let gone = seen.seen(None, at(6_000));
    pay(&*store, vec![PayWrite::Intents(vec![gone.clone()])]).await.well();
    assert_eq!(store.intent(made.id).await.well(), Some(gone));
}

pub async fn transactions_of_many_payouts_are_read_at_once(harness: &dyn Harness) {
    let store = harness.open().await;
    let rows = [submit(&*store, 1).await, submit(&*store, 2).await, submit(&*store, 3).await];
    let displaced = intent(1, &[&rows[0]]).ended(IntentState::Displaced, None, at(5_000));
    pay(&*store, vec![PayWrite::Intents(vec![displaced.clone(), intent(7, &[&rows[0]])])]).await.well();
    let of = [rows[1].id, payout(9).id, rows[0].id, rows[1].id];
    let found = store.intents_of_payouts(&of).await.well();
    assert_eq!(found, [displaced, intent(2, &[&rows[1]]), intent(7, &[&rows[0]])]);
    assert!(store.intents_of_payouts(&[]).await.well().is_empty());
    let too_many = vec![rows[0].id; MAX_PAYOUT_PAGE as usize + 1];
    refused!(store.intents_of_payouts(&too_many).await, StoreError::Invalid(_));
}

pub async fn a_nonce_has_one_transaction(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = submit(&*store, 1).await;
    put(&*store, &[&payout(2)]).await.well();
    let other = intent(1, &[&payout(2)]);
    refused!(pay(&*store, vec![PayWrite::Intents(vec![other])]).await, StoreError::Stale(_));
    refused!(pay(&*store, vec![PayWrite::Attempts(vec![attempt(1, 1)])]).await, StoreError::Stale(_));
    refused!(pay(&*store, vec![PayWrite::Attempts(vec![attempt(5, 1)])]).await, StoreError::Forbidden(_));
    let of_nobody = intent(9, &[&payout(8)]);
    refused!(pay(&*store, vec![PayWrite::Intents(vec![of_nobody])]).await, StoreError::Forbidden(_));
    assert_eq!(store.intents_of(row.id).await.well().len(), 1);
}

pub async fn a_payout_has_one_live_transaction(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = submit(&*store, 1).await;
    let second = || PayWrite::Intents(vec![intent(2, &[&row])]);
    refused!(pay(&*store, vec![second()]).await, StoreError::Stale(_));
    let twice = PayWrite::Intents(vec![intent(3, &[&payout(1), &payout(1)])]);
    refused!(pay(&*store, vec![twice]).await, StoreError::Stale(_));
    let displaced = intent(1, &[&row]).ended(IntentState::Displaced, None, at(5_000));
    pay(&*store, vec![PayWrite::Intents(vec![displaced.clone()]), second()]).await.well();
    let both = [displaced, intent(2, &[&row])];
    assert_eq!(store.intents_of(row.id).await.well(), both);
    assert_eq!(store.list_intents(None, 10).await.well(), both);
    assert_eq!(store.list_intents(None, 1).await.well(), both[..1]);
    assert_eq!(store.list_intents(Some(both[0].id), 10).await.well(), both[1..]);
    assert_eq!(store.list_intents(Some(both[1].id), 10).await.well(), []);
    let mined = intent(2, &[&row]).ended(IntentState::Mined, Some(inclusion(8)), at(6_000));
    pay(&*store, vec![PayWrite::Intents(vec![mined])]).await.well();
    refused!(pay(&*store, vec![PayWrite::Intents(vec![intent(4, &[&row])])]).await, StoreError::Stale(_));
}

pub async fn a_transaction_that_is_over_stays_as_it_is(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = submit(&*store, 1).await;
    let made = intent(1, &[&row]);
    let nowhere = made.ended(IntentState::Reverted, None, at(5_000));
    refused!(pay(&*store, vec![PayWrite::Intents(vec![nowhere])]).await, StoreError::Forbidden(_));
    let reverted = made.ended(IntentState::Reverted, Some(inclusion(8)), at(5_000));
    pay(&*store, vec![PayWrite::Intents(vec![reverted.clone()])]).await.well();
    for next in [reverted.seen(None, at(6_000)), reverted.ended(IntentState::Open, None, at(6_000))] {
        refused!(pay(&*store, vec![PayWrite::Intents(vec![next])]).await, StoreError::Forbidden(_));
    }
    let born_mined = Intent { state: IntentState::Mined, ..intent(7, &[]) };
    refused!(pay(&*store, vec![PayWrite::Intents(vec![born_mined])]).await, StoreError::Forbidden(_));
}

pub async fn nonces_are_never_given_out_twice(harness: &dyn Harness) {
    let store = harness.open().await;
    let (chain, address) = (vault().chain, Address::repeat_byte(0x99));
    assert_eq!(store.signer(chain, address).await.well(), None);
    let new = SignerRow { mac: B256::repeat_byte(1), ..SignerRow::new(chain, address, 7, at(1)) };
    pay(&*store, vec![PayWrite::Signer(new.clone())]).await.well();
    refused!(pay(&*store, vec![PayWrite::Signer(new.clone())]).await, StoreError::Stale(_));
    let used = new.used(3, at(2));
    pay(&*store, vec![PayWrite::Signer(used.clone())]).await.well();
    refused!(pay(&*store, vec![PayWrite::Signer(new.used(1, at(2)))]).await, StoreError::Stale(_));
    let back = used.moved_to(9, at(3));
    refused!(pay(&*store, vec![PayWrite::Signer(back)]).await, StoreError::Forbidden(_));
    let halted = used.halted(Some("the key is used elsewhere".to_owned()), at(3));
    let halted = SignerRow { mac: B256::repeat_byte(2), ..halted };
    pay(&*store, vec![PayWrite::Signer(halted.clone())]).await.well();
    assert_eq!(store.signer(chain, address).await.well(), Some(halted.clone()));
    assert_eq!(store.list_signers().await.well(), [halted]);
}
