//! Finding payouts: by what was asked for, by their references, by parts of their ids.

use windlass_core::chain::{Address, ChainId, U256};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::memo::Reference;
use windlass_core::payout::partial_id::PartialId;
use windlass_core::payout::request::{PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::store::PayoutQuery;

use super::payouts::{approved, at, noted, put};
use super::support::Well;
use crate::harness::Harness;
use crate::make::{payout, vault};

pub async fn payouts_are_found_by_what_was_asked_for(harness: &dyn Harness) {
    let store = harness.open().await;
    let all: Vec<Payout> = (1..=5).map(payout).collect();
    put(&*store, &all.iter().collect::<Vec<_>>()).await.well();
    let numbers = async |query: PayoutQuery| -> Vec<u8> {
        let query = PayoutQuery { limit: 9, ..query };
        store.list_payouts(&query).await.well().iter().map(|row| row.request.to[0]).collect()
    };
    let of = |number: usize| &all[number - 1];
    let none = PayoutQuery::default;
    assert_eq!(numbers(PayoutQuery { to: Some(of(3).request.to), ..none() }).await, [3]);
    assert_eq!(numbers(PayoutQuery { key: Some(of(4).request.key.clone()), ..none() }).await, [4]);
    let token = Some(of(1).request.token);
    let others: Vec<u8> =
        all.iter().filter(|row| Some(row.request.token) == token).map(|row| row.request.to[0]).collect();
    assert_eq!(numbers(PayoutQuery { token, ..none() }).await, others);
    let amount = Some(of(2).request.amount);
    let same: Vec<u8> =
        all.iter().filter(|row| Some(row.request.amount) == amount).map(|row| row.request.to[0]).collect();
    assert_eq!(numbers(PayoutQuery { amount, ..none() }).await, same);
    assert!(numbers(PayoutQuery { amount: Some(U256::MAX), ..none() }).await.is_empty());
    let (from, before) = (Some(of(2).id), Some(of(4).id));
    assert_eq!(numbers(PayoutQuery { from, before, ..none() }).await, [2, 3]);
    let newest_first = true;
    assert_eq!(numbers(PayoutQuery { newest_first, ..none() }).await, [5, 4, 3, 2, 1]);
    let after = Some(of(4).id);
    assert_eq!(numbers(PayoutQuery { newest_first, after, from, ..none() }).await, [3, 2]);
    let missing = PayoutQuery { to: Some(of(1).request.to), key: Some(of(2).request.key.clone()), ..none() };
    assert!(numbers(missing).await.is_empty(), "all of them have to hold");
}

pub async fn payouts_that_wait_are_counted_by_vault(harness: &dyn Harness) {
    let store = harness.open().await;
    assert!(store.count_waiting().await.well().is_empty());
    let of = |number, vault| {
        let row = payout(number);
        Payout { request: PayoutRequest { vault, ..row.request }, ..row }
    };
    let other = VaultRef { address: Address::repeat_byte(0x12), ..vault() };
    let elsewhere = VaultRef { chain: ChainId::new(2).expect("an id"), ..vault() };
    let rows = [payout(1), payout(2), payout(3), of(4, other), of(5, elsewhere)];
    put(&*store, &rows.iter().collect::<Vec<_>>()).await.well();
    // What was approved still waits, and what was rejected does not.
    put(&*store, &[&approved(2), &rows[2].rejected("no", at(2_000)).expect("a way")]).await.well();
    let counts = store.count_waiting().await.well();
    assert_eq!(counts, [(vault(), 2), (other, 1), (elsewhere, 1)]);
}

pub async fn payouts_are_found_by_their_reference(harness: &dyn Harness) {
    let store = harness.open().await;
    let all = [noted(1, "march"), noted(2, "april"), payout(3), noted(4, "march")];
    put(&*store, &all.iter().collect::<Vec<_>>()).await.well();
    let query = |text: &str| {
        let reference = Some(Reference::new(text).expect("a reference"));
        PayoutQuery { reference, limit: 9, ..PayoutQuery::default() }
    };
    let [first, _, _, last] = all;
    assert_eq!(store.list_payouts(&query("march")).await.well(), [first.clone(), last.clone()]);
    let newest = PayoutQuery { newest_first: true, limit: 1, ..query("march") };
    assert_eq!(store.list_payouts(&newest).await.well(), std::slice::from_ref(&last));
    let behind = PayoutQuery { after: Some(first.id), ..query("march") };
    assert_eq!(store.list_payouts(&behind).await.well(), [last]);
    assert!(store.list_payouts(&query("marc")).await.well().is_empty());
}

pub async fn payouts_are_found_by_parts_of_their_ids(harness: &dyn Harness) {
    let store = harness.open().await;
    // The first two have one time, the last two one end.
    let with_id = |number: u8, at_ms: i64, random: u128| {
        let id = PayoutId::new(at(at_ms), random);
        Payout { id, ..payout(number) }
    };
    let all = [
        with_id(1, 0x0012_3456_7890, 0xabc_0000_0001),
        with_id(2, 0x0012_3456_7890, 0xdef_0000_0002),
        with_id(3, 0x0022_3456_7890, 0x123_0000_0002),
    ];
    put(&*store, &all.iter().collect::<Vec<_>>()).await.well();
    let found = async |query: Option<PayoutQuery>| -> Vec<u8> {
        let query = PayoutQuery { limit: 9, ..query.expect("a query") };
        store.list_payouts(&query).await.well().iter().map(|row| row.request.to[0]).collect()
    };
    let part = |text: &str| text.parse::<PartialId>().expect("a part");
    assert_eq!(found(part("00123456").prefix_query()).await, [1, 2]);
    assert_eq!(found(part("00123456-7890-7").prefix_query()).await, [1, 2]);
    assert_eq!(found(part("002234567").prefix_query()).await, [3]);
    assert!(found(part("002234568").prefix_query()).await.is_empty());
    assert_eq!(found(part("000002").suffix_query()).await, [2, 3]);
    assert_eq!(found(part("f00000002").suffix_query()).await, [2]);
    assert!(found(part("a00000002").suffix_query()).await.is_empty());
    let whole = all[2].id.to_string();
    assert_eq!(found(part(&whole[9..]).suffix_query()).await, [3], "across its dashes");
    assert!(found(part(&whole[..23]).suffix_query()).await.is_empty(), "it is a beginning");
}
