//! What is kept of payouts: rows with versions, and ways that nobody can go.

use windlass_core::chain::{Address, B256, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Approval, Budget, OpenTotalLimit, PayWrite, Payout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::support::{Well, refused};
use crate::harness::Harness;
use crate::make::{attempt, budget_key, inclusion, intent, intent_id, payout, vault};

pub(super) const DAY: UtcDay = UtcDay(3);

pub(super) fn at(ms: i64) -> Timestamp {
    Timestamp::from_ms(ms)
}

pub(super) async fn pay(store: &dyn Store, writes: Vec<PayWrite>) -> StoreResult<()> {
    store.commit(Commit::of(writes.into_iter().map(Write::Pay).collect())).await.map(|_| ())
}

pub(super) async fn put(store: &dyn Store, rows: &[&Payout]) -> StoreResult<()> {
    pay(store, vec![PayWrite::Payouts(rows.iter().map(|row| (*row).clone()).collect())]).await
}

pub(super) async fn one(store: &dyn Store, payout: &Payout) -> Payout {
    store.payouts(&[payout.id]).await.well().pop().expect("it is kept")
}

pub(super) fn approved(number: u8) -> Payout {
    payout(number).approved(DAY, at(2_000)).expect("a way")
}

/// A payout that is submitted by a transaction of its own, each step written.
pub(super) async fn submit(store: &dyn Store, number: u8) -> Payout {
    let submitted = approved(number).submitted(intent_id(number.into()), DAY, at(3_000)).expect("a way");
    put(store, &[&payout(number), &approved(number)]).await.well();
    let writes = vec![
        PayWrite::Intents(vec![intent(number.into(), &[&submitted])]),
        PayWrite::Attempts(vec![attempt(number.into(), 1)]),
        PayWrite::Payouts(vec![submitted.clone()]),
    ];
    pay(store, writes).await.well();
    submitted
}

/// A payout with a memo and a reference.
pub(super) fn noted(number: u8, reference: &str) -> Payout {
    let memo = Some(Memo::new(format!("for \"é\" {number}")).expect("a memo"));
    Payout { memo, reference: Some(Reference::new(reference).expect("a reference")), ..payout(number) }
}

pub async fn payouts_read_back_exactly(harness: &dyn Harness) {
    let store = harness.open().await;
    let asked = Payout { retry_of: Some(payout(9).id), ..noted(1, "ref-1") };
    put(&*store, &[&payout(9), &asked]).await.well();
    assert_eq!(one(&*store, &asked).await, asked);
    let held = asked.held("new recipient", Some(at(9_999)), at(1_500));
    let mut rows = vec![held.clone(), held.approved(DAY, at(2_000)).expect("a way")];
    rows.push(rows[1].submitted(intent_id(7), DAY.next(), at(3_000)).expect("a way"));
    rows.push(rows[2].seen(Some(inclusion(8)), at(3_500)));
    rows.push(rows[3].confirmed(inclusion(8), at(4_000)).expect("a way"));
    rows.push(rows[4].reorganised(at(4_500)).expect("a way"));
    rows.push(rows[5].confirmed(inclusion(9), at(5_000)).expect("a way"));
    rows.push(rows[6].finalized(at(6_000)));
    for row in rows {
        put(&*store, &[&row]).await.well();
        assert_eq!(one(&*store, &asked).await, row);
    }
    let store = harness.restart(store).await;
    assert_eq!(one(&*store, &asked).await.version, 9);
    let rejected = payout(9).rejected("recipient is denylisted", at(2_000)).expect("a way");
    put(&*store, &[&rejected]).await.well();
    assert_eq!(one(&*store, &rejected).await, rejected);
}

pub async fn a_key_is_given_once(harness: &dyn Harness) {
    let store = harness.open().await;
    put(&*store, &[&payout(1)]).await.well();
    refused!(put(&*store, &[&payout(1)]).await, StoreError::Stale(_));
    let same_key = Payout { id: payout(2).id, ..payout(1) };
    refused!(put(&*store, &[&payout(3), &same_key]).await, StoreError::Stale(_));
    assert!(store.payouts(&[payout(3).id]).await.well().is_empty(), "all or nothing");
    let found = store.payouts_of_keys(&[payout(1).request.key, payout(5).request.key]).await.well();
    assert_eq!(found, [payout(1)]);
    let id = payout(1).request.request_id();
    assert_eq!(store.payouts_of_requests(&[B256::ZERO, id]).await.well(), [payout(1)]);
}

pub async fn only_the_next_version_is_taken(harness: &dyn Harness) {
    let store = harness.open().await;
    let first = approved(1);
    let second = payout(1).rejected("cancelled", at(2_000)).expect("a way");
    refused!(put(&*store, &[&first]).await, StoreError::Stale(_));
    put(&*store, &[&payout(1), &first]).await.well();
    refused!(put(&*store, &[&second]).await, StoreError::Stale(_));
    refused!(put(&*store, &[&first]).await, StoreError::Stale(_));
    let skipped = Payout { version: 4, ..first.clone() };
    refused!(put(&*store, &[&skipped]).await, StoreError::Stale(_));
    assert_eq!(one(&*store, &first).await, first);
}

/// Every pair of states, written as they are: a store takes the ways there are, and no other.
pub async fn no_other_way_is_taken_than_the_states_allow(harness: &dyn Harness) {
    let store = harness.open().await;
    let mut number = 0;
    for from in PayoutState::ALL {
        for to in PayoutState::ALL {
            number += 1;
            let row = reach(&*store, number, from).await;
            let answer = put(&*store, &[&as_state(&row, to)]).await;
            let kept = one(&*store, &row).await;
            if from == to || from.leads_to(to) {
                answer.well();
                assert_eq!((kept.state, kept.version), (to, row.version + 1), "{from} to {to}");
            } else {
                refused!(answer, StoreError::Forbidden(_));
                assert_eq!(kept, row, "{from} to {to}");
            }
        }
    }
}

/// Writes a payout's whole way to a state.
async fn reach(store: &dyn Store, number: u8, state: PayoutState) -> Payout {
    use PayoutState::*;
    let way: &[PayoutState] = match state {
        PendingRisk => &[],
        Approved => &[Approved],
        Submitted => &[Approved, Submitted],
        Confirmed => &[Approved, Submitted, Confirmed],
        Failed => &[Approved, Submitted, Failed],
        Rejected => &[Rejected],
    };
    let mut row = payout(number);
    put(store, &[&row]).await.well();
    for step in way {
        row = as_state(&row, *step);
        put(store, &[&row]).await.well();
    }
    row
}

/// The next version, sound in itself, as if it had come to a state in whatever way.
fn as_state(row: &Payout, state: PayoutState) -> Payout {
    use PayoutState::*;
    let was_submitted = matches!(state, Submitted | Confirmed | Failed);
    Payout {
        version: row.version + 1,
        state,
        reason: matches!(state, Failed | Rejected).then(|| "why".to_owned()),
        budget_day: state.holds_budget().then_some(DAY),
        intent: was_submitted.then_some(intent_id(1)),
        submitted_at: was_submitted.then_some(at(3_000)),
        inclusion: (state == Confirmed).then_some(inclusion(8)),
        confirmed_at: (state == Confirmed).then_some(at(4_000)),
        ..row.clone()
    }
}

pub async fn what_a_state_wants_must_be_there(harness: &dyn Harness) {
    let store = harness.open().await;
    let asked = payout(1);
    put(&*store, &[&asked]).await.well();
    let next = as_state(&asked, PayoutState::Approved);
    let unsound = [
        Payout { budget_day: None, ..next.clone() },
        Payout { reason: Some("why".to_owned()), ..next.clone() },
        Payout { submitted_at: Some(at(1)), intent: Some(intent_id(1)), ..next.clone() },
        Payout { finalized_at: Some(at(1)), ..next.clone() },
        Payout { reason: None, ..as_state(&asked, PayoutState::Rejected) },
    ];
    for row in &unsound {
        refused!(put(&*store, &[row]).await, StoreError::Forbidden(_));
    }
    let submitted = submit(&*store, 2).await;
    let next = as_state(&submitted, PayoutState::Confirmed);
    let unsound = [
        Payout { inclusion: None, ..next.clone() },
        Payout { confirmed_at: None, ..next.clone() },
        Payout { intent: None, inclusion: None, ..submitted.seen(None, at(9)) },
    ];
    for row in &unsound {
        refused!(put(&*store, &[row]).await, StoreError::Forbidden(_));
    }
    let born_elsewhere = Payout { state: PayoutState::Approved, budget_day: Some(DAY), ..payout(3) };
    refused!(put(&*store, &[&born_elsewhere]).await, StoreError::Forbidden(_));
}

pub async fn what_is_final_has_no_way_back(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = reach(&*store, 1, PayoutState::Confirmed).await.finalized(at(5_000));
    put(&*store, &[&row]).await.well();
    let back = as_state(&row, PayoutState::Submitted);
    refused!(put(&*store, &[&Payout { finalized_at: None, ..back }]).await, StoreError::Forbidden(_));
}

pub async fn a_final_payment_that_is_gone_can_be_sent_again(harness: &dyn Harness) {
    let store = harness.open().await;
    let row = reach(&*store, 1, PayoutState::Confirmed).await.finalized(at(5_000));
    let lost = row.payment_lost("its block is gone", at(6_000));
    put(&*store, &[&row, &lost]).await.well();
    let failed = Payout { finalized_at: None, hold: None, ..as_state(&lost, PayoutState::Failed) };
    refused!(put(&*store, &[&failed]).await, StoreError::Forbidden(_));
    put(&*store, &[&lost.resent(at(7_000)).expect("a way")]).await.well();
}

pub async fn what_was_asked_for_never_changes(harness: &dyn Harness) {
    let store = harness.open().await;
    let asked = noted(1, "ref-1");
    put(&*store, &[&asked]).await.well();
    let mut forged = approved(1);
    forged.request.amount = U256::ZERO;
    forged.memo = None;
    forged.reference = Some(Reference::new("another").expect("a reference"));
    forged.request.to = Address::ZERO;
    forged.created_by = "somebody else".to_owned();
    put(&*store, &[&forged]).await.well();
    let kept = one(&*store, &forged).await;
    assert_eq!((&kept.request, kept.created_by.as_str()), (&payout(1).request, "asker"));
    assert_eq!((kept.memo, kept.reference), (asked.memo, asked.reference));
}

pub async fn payouts_are_paged_by_age_and_state(harness: &dyn Harness) {
    let store = harness.open().await;
    let all: Vec<Payout> = (1..=5).map(payout).collect();
    put(&*store, &all.iter().rev().collect::<Vec<_>>()).await.well();
    put(&*store, &[&approved(2), &approved(4)]).await.well();
    let page = |state, after, limit| PayoutQuery { state, after, limit, ..PayoutQuery::default() };
    let numbers = |rows: Vec<Payout>| -> Vec<u8> { rows.iter().map(|row| row.request.to[0]).collect() };
    assert_eq!(numbers(store.list_payouts(&page(None, None, 2)).await.well()), [1, 2]);
    assert_eq!(numbers(store.list_payouts(&page(None, Some(all[1].id), 9)).await.well()), [3, 4, 5]);
    let approved = Some(PayoutState::Approved);
    assert_eq!(numbers(store.list_payouts(&page(approved, None, 9)).await.well()), [2, 4]);
    assert_eq!(numbers(store.list_payouts(&page(approved, Some(all[1].id), 9)).await.well()), [4]);
    assert!(store.list_payouts(&page(None, None, 0)).await.well().is_empty());
    let counts = store.count_payouts().await.well();
    assert_eq!(counts, [(PayoutState::PendingRisk, 3), (PayoutState::Approved, 2)]);
    let too_many = vec![all[0].id; MAX_PAYOUT_PAGE as usize + 1];
    refused!(store.payouts(&too_many).await, StoreError::Invalid(_));
}

pub async fn a_payout_is_tried_again_once(harness: &dyn Harness) {
    let store = harness.open().await;
    put(&*store, &[&payout(1)]).await.well();
    let retry = |number| Payout { retry_of: Some(payout(1).id), ..payout(number) };
    put(&*store, &[&retry(2)]).await.well();
    refused!(put(&*store, &[&retry(3)]).await, StoreError::Stale(_));
    let query = PayoutQuery { retry_of: Some(payout(1).id), limit: 9, ..PayoutQuery::default() };
    assert_eq!(store.list_payouts(&query).await.well(), [retry(2)]);
    let rejected = PayoutQuery { state: Some(PayoutState::Rejected), ..query };
    assert!(store.list_payouts(&rejected).await.well().is_empty());
}

pub async fn what_is_on_its_way_is_summed(harness: &dyn Harness) {
    let store = harness.open().await;
    let token = payout(1).request.token;
    assert_eq!(store.open_total(vault(), token).await.well(), U256::ZERO);
    let small = |number: u8| {
        let mut row = payout(number);
        row.request.amount = U256::from(number);
        row
    };
    for number in 1..=3 {
        let approved = small(number).approved(DAY, at(2_000)).expect("a way");
        let submitted = approved.submitted(intent_id(number.into()), DAY, at(3_000)).expect("a way");
        put(&*store, &[&small(number), &approved, &submitted]).await.well();
        if number == 2 {
            put(&*store, &[&submitted.seen(Some(inclusion(8)), at(4_000))]).await.well();
        }
    }
    assert_eq!(store.open_total(vault(), token).await.well(), U256::from(4));
    assert_eq!(store.open_total(vault(), Address::ZERO).await.well(), U256::ZERO);
    let limit = |token, units| {
        PayWrite::OpenTotalLimit(OpenTotalLimit { vault: vault(), token, limit: U256::from(units) })
    };
    let with = |number: u8, limit| {
        let row = PayWrite::Payouts(vec![small(number)]);
        pay(&*store, vec![row, limit])
    };
    with(4, limit(token, 4)).await.well();
    refused!(with(5, limit(token, 3)).await, StoreError::Stale(_));
    with(5, limit(Address::ZERO, 0)).await.well();
    for number in [9, 10] {
        submit(&*store, number).await;
    }
    assert_eq!(store.open_total(vault(), token).await.well(), U256::MAX, "it does not wrap");
}

pub async fn a_recipient_is_known_once_a_payment_is_confirmed(harness: &dyn Harness) {
    let store = harness.open().await;
    let (mut to, mut paid) = (vec![Address::repeat_byte(0x77)], Vec::new());
    for number in [2, 1, 3] {
        let confirmed = submit(&*store, number).await.confirmed(inclusion(8), at(4_000)).expect("a way");
        to.extend([confirmed.request.to; 2]);
        assert_eq!(store.paid_to(vault(), &to).await.well(), paid, "not before that");
        put(&*store, &[&confirmed]).await.well();
        paid.push(confirmed);
        paid.sort_by_key(|payout| payout.request.to);
        assert_eq!(store.paid_to(vault(), &to).await.well(), paid, "each once, by recipient");
    }
    let too_many = vec![to[0]; MAX_PAYOUT_PAGE as usize + 1];
    refused!(store.paid_to(vault(), &too_many).await, StoreError::Invalid(_));
}

pub async fn an_approval_is_given_once_by_each(harness: &dyn Harness) {
    let store = harness.open().await;
    put(&*store, &[&payout(1)]).await.well();
    let by = |approver: &str| Approval {
        payout: payout(1).id,
        approver: approver.to_owned(),
        at: at(5),
        mac: B256::repeat_byte(6),
    };
    pay(&*store, vec![PayWrite::Approvals(vec![by("zoe"), by("ann")])]).await.well();
    refused!(pay(&*store, vec![PayWrite::Approvals(vec![by("ann")])]).await, StoreError::Stale(_));
    assert_eq!(store.approvals(&[payout(2).id, payout(1).id]).await.well(), [by("ann"), by("zoe")]);
    let of_nothing = Approval { payout: payout(2).id, ..by("ann") };
    refused!(pay(&*store, vec![PayWrite::Approvals(vec![of_nothing])]).await, StoreError::Forbidden(_));
}

pub async fn a_budget_is_changed_by_who_knows_it(harness: &dyn Harness) {
    let store = harness.open().await;
    let keys = [budget_key(3, None), budget_key(3, Some(1)), budget_key(4, None)];
    assert_eq!(store.budgets(&keys).await.well(), keys.map(Budget::empty));
    let first = Budget { mac: B256::repeat_byte(1), ..Budget::empty(keys[0]).with(U256::MAX) };
    let other = Budget::empty(keys[1]).with(U256::from(5));
    pay(&*store, vec![PayWrite::Budgets(vec![first, other])]).await.well();
    assert_eq!(store.budgets(&keys).await.well(), [first, other, Budget::empty(keys[2])]);
    refused!(pay(&*store, vec![PayWrite::Budgets(vec![first])]).await, StoreError::Stale(_));
    let less = Budget { mac: B256::repeat_byte(2), ..first.without(U256::ONE) };
    pay(&*store, vec![PayWrite::Budgets(vec![less])]).await.well();
    refused!(pay(&*store, vec![PayWrite::Budgets(vec![first.with(U256::ZERO)])]).await, StoreError::Stale(_));
    assert_eq!(store.budgets(&keys[..1]).await.well(), [less]);
    assert_eq!(store.list_budgets(None, 10).await.well(), [less, other]);
    assert_eq!(store.list_budgets(None, 1).await.well(), [less]);
    assert_eq!(store.list_budgets(Some(keys[0]), 10).await.well(), [other]);
    assert_eq!(store.list_budgets(Some(keys[1]), 10).await.well(), []);
}

/// Many approve at once against one day's sum: what fits is held, and no more.
pub async fn budgets_written_at_once_lose_nothing(harness: &dyn Harness) {
    let store = harness.open().await;
    let key = budget_key(3, None);
    let workers = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut done = 0;
            while done < 5 {
                let budget = store.budgets(&[key]).await.well()[0].with(U256::ONE);
                match pay(&*store, vec![PayWrite::Budgets(vec![budget])]).await {
                    Ok(()) => done += 1,
                    Err(StoreError::Stale(_) | StoreError::Busy) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.expect("no panic");
    }
    let budget = store.budgets(&[key]).await.well()[0];
    assert_eq!((budget.version, budget.total), (40, U256::from(40)));
}

pub async fn many_payouts_are_one_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    let rows: Vec<Payout> = (1..=200).map(payout).collect();
    put(&*store, &rows.iter().collect::<Vec<_>>()).await.well();
    let approved: Vec<Payout> = (1..=200).map(approved).collect();
    put(&*store, &approved.iter().collect::<Vec<_>>()).await.well();
    let batch = intent(1, &approved.iter().collect::<Vec<_>>());
    pay(&*store, vec![PayWrite::Intents(vec![batch.clone()])]).await.well();
    assert_eq!(store.intent(batch.id).await.well(), Some(batch));
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    assert_eq!(store.payouts(&ids).await.well(), approved);
}
