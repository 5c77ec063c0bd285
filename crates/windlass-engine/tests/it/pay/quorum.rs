//! One endpoint that lies beside honest ones: what it makes up ends no payout, confirms none, marks none and
//! is not published. Beside two honest ones everything goes on; beside one, payouts wait and say why.

use alloy_primitives::{Address, B256};
use alloy_sol_types::{SolCall, SolError, SolEvent, sol};
use windlass_core::chain::BlockRef;
use windlass_core::event::{LogEvent, Topics};
use windlass_core::payout::request::{PayoutId, PayoutRequest};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::calldata;
use windlass_engine::pay::ledger_check::LedgerCheck;
use windlass_engine::pay::reconcile::recheck::{Recheck, lost_payments};
use windlass_engine::pay::submit::Submitted;

use super::cancel::cancel;
use super::tampering::on_both_stores;
use super::world::{Process, World};
use crate::database::Kind;

on_both_stores!(
    one_of_three_that_makes_up_a_payment_confirms_nothing,
    a_payment_that_one_of_two_makes_up_is_waited_for,
    events_that_one_of_three_makes_up_change_nothing,
    events_on_which_two_endpoints_do_not_agree_are_compared_later,
    an_event_that_one_of_three_leaves_out_is_compared,
    a_revert_that_one_of_three_hides_is_no_payment,
    one_endpoint_that_says_cancelled_rejects_nothing,
    one_endpoint_that_says_cancelled_fails_no_payout_that_is_signed_again,
    a_refusal_is_of_the_payout_that_two_name,
    a_payment_that_was_made_up_is_reported_once_two_do_not_know_it,
    one_of_two_calls_no_payment_gone_while_the_other_is_silent,
    a_mark_that_was_wrong_is_taken_back_with_its_halt,
);

sol! {
    #[derive(Default)]
    struct Record {
        uint8 state;
        uint40 settledAt;
        uint48 blockNumber;
        address to;
    }
    function answered() returns (Record[] memory list);
    function deny(address account);
    event PayoutExecuted(bytes32 indexed requestId, address indexed token, address indexed to, uint256 amount);
    event RequestCancelled(bytes32 indexed requestId, address indexed token, address indexed to, uint256 amount, address by);
    error RecipientDenied(bytes32 requestId, address to);
}

const PAID: u8 = 1;
const CANCELLED: u8 = 2;

/// An endpoint that lies, beside so many honest ones.
fn beside(world: &World, honest: usize) {
    world.tricks.lock().expect("whole").honest = honest;
}

fn all_honest(world: &World) {
    *world.tricks.lock().expect("whole") = Default::default();
}

/// It has the vault say so of these requests, whichever of them are asked for together.
fn tell_records(world: &World, requests: &[(PayoutRequest, u8)], block: u64) {
    let mut tricks = world.tricks.lock().expect("whole");
    for from in 0..requests.len() {
        for to in from + 1..=requests.len() {
            let part = &requests[from..to];
            let ids: Vec<B256> = part.iter().map(|(request, _)| request.request_id()).collect();
            let list: Vec<Record> =
                part.iter().map(|(request, state)| record(request, *state, block)).collect();
            let told = answeredCall::abi_encode_returns(&list);
            tricks.calls.insert(calldata::request_states(&ids), told.into());
        }
    }
}

fn record(request: &PayoutRequest, state: u8, block: u64) -> Record {
    use alloy_primitives::aliases::{U40, U48};
    match state {
        0 => Record::default(),
        state => Record { state, settledAt: U40::from(1), blockNumber: U48::from(block), to: request.to },
    }
}

/// A log of the vault that no block has.
fn made_up(world: &World, event: &impl SolEvent, number: u64) -> LogEvent {
    let data = event.encode_log_data();
    LogEvent {
        chain: world.vault.chain,
        block: BlockRef { number, hash: world.chain.block(number).expect("a block").hash() },
        log_index: 0,
        timestamp_s: 0,
        transaction_hash: B256::repeat_byte(0x66),
        address: world.vault.address,
        topics: Topics::new(data.topics()).expect("few enough"),
        data: data.data,
    }
}

fn executed(request: &PayoutRequest) -> PayoutExecuted {
    PayoutExecuted {
        requestId: request.request_id(),
        token: request.token,
        to: request.to,
        amount: request.amount,
    }
}

fn cancelled(request: &PayoutRequest) -> RequestCancelled {
    RequestCancelled {
        requestId: request.request_id(),
        token: request.token,
        to: request.to,
        amount: request.amount,
        by: Address::repeat_byte(7),
    }
}

/// The endpoint's vault has paid a request in a block, and logs tell of it.
fn tell_payment(world: &World, request: &PayoutRequest, block: u64) {
    tell_records(world, &[(request.clone(), PAID)], block);
    let log = made_up(world, &executed(request), block);
    world.tricks.lock().expect("whole").logs.push(log);
}

async fn is_paid_for_real(world: &World, id: PayoutId) {
    all_honest(world);
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Confirmed, "{payout:#?}");
    assert_ne!(payout.inclusion.expect("a block").transaction, B256::repeat_byte(0x66));
    world.agrees().await;
}

async fn rounds(world: &World, process: &mut Process, rounds: usize) {
    for _ in 0..rounds {
        world.round(process).await;
    }
}

async fn reason(world: &World, id: PayoutId) -> String {
    world.payout(id).await.hold.map(|hold| hold.reason).unwrap_or_default()
}

async fn one_of_three_that_makes_up_a_payment_confirms_nothing(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    let id = world.approved("invoice-1", 25).await;
    beside(&world, 2);
    tell_payment(&world, &world.request("invoice-1", 25), 3);
    world.drive(&mut process, 40).await;
    is_paid_for_real(&world, id).await;
}

async fn a_payment_that_one_of_two_makes_up_is_waited_for(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    let id = world.approved("invoice-1", 25).await;
    beside(&world, 1);
    tell_payment(&world, &world.request("invoice-1", 25), 3);
    rounds(&world, &mut process, 3).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Approved);
    assert!(reason(&world, id).await.contains("do not agree"), "{}", reason(&world, id).await);
    all_honest(&world);
    world.clock.advance_ms(300_000);
    world.drive(&mut process, 40).await;
    is_paid_for_real(&world, id).await;
}

/// Events of a payout that nobody has approved, of one that is approved, and of none that is stored.
async fn with_made_up_events(kind: Kind, honest: usize) -> (World, [PayoutId; 2]) {
    let world = World::new(kind, |_| {}).await;
    let pending = world.request("pending", 5);
    let pending_id =
        world.desk().create(std::slice::from_ref(&pending), "asker").await.expect("asked")[0].payout.id;
    let id = world.approved("invoice-1", 25).await;
    let approved = world.request("invoice-1", 25);
    beside(&world, honest);
    let unknown = made_up(&world, &executed(&world.request("unknown", 9)), 4);
    let logs =
        vec![made_up(&world, &executed(&pending), 3), made_up(&world, &cancelled(&approved), 3), unknown];
    world.tricks.lock().expect("whole").logs = logs;
    (world, [pending_id, id])
}

async fn events_that_one_of_three_makes_up_change_nothing(kind: Kind) {
    let (world, [pending, approved]) = with_made_up_events(kind, 2).await;
    let mut process = world.process("one");
    let done = process.payer.reconcile(true).await.expect("compared");
    assert_eq!((done.events, done.repaired, done.unknown, done.disputed), (0, 0, 0, 0));
    assert!(world.told("vault.unknown_payment").await.is_empty());
    assert_eq!(
        world.tricks.lock().expect("whole").reported.first().map(String::as_str),
        Some("the endpoint")
    );
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(pending).await.state, PayoutState::PendingRisk);
    is_paid_for_real(&world, approved).await;
}

async fn events_on_which_two_endpoints_do_not_agree_are_compared_later(kind: Kind) {
    let (world, [pending, approved]) = with_made_up_events(kind, 1).await;
    let mut process = world.process("one");
    let done = process.payer.reconcile(true).await.expect("compared");
    assert_eq!((done.repaired, done.unknown, done.disputed), (0, 0, 3));
    assert!(done.through < 3, "it is compared again from there on: {done:?}");
    // The other one does not answer: nothing is believed either.
    world.tricks.lock().expect("whole").is_honest_silent = true;
    let done = process.payer.reconcile(true).await.expect("compared");
    assert_eq!((done.repaired, done.unknown, done.disputed), (0, 0, 3));
    all_honest(&world);
    let done = process.payer.reconcile(false).await.expect("compared");
    assert_eq!((done.disputed, done.through), (0, world.chain.finalized()));
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(pending).await.state, PayoutState::PendingRisk);
    is_paid_for_real(&world, approved).await;
}

async fn an_event_that_one_of_three_leaves_out_is_compared(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    world.drive(&mut process, 40).await;
    let other = world.restored().await;
    beside(&other, 2);
    other.tricks.lock().expect("whole").hides_logs = true;
    let done = other.process("two").payer.reconcile(false).await.expect("compared");
    assert_eq!((done.events, done.unknown), (1, 1));
}

async fn a_revert_that_one_of_three_hides_is_no_payment(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let mut process = world.process("one");
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("signed");
    let intent = world.payout(id).await.intent.expect("signed");
    let hash = world.store.attempts(intent).await.expect("read")[0].hash;
    // The cancel comes first: the transaction is reverted.
    cancel(&world, id).await;
    world.chain.mine();
    let block = world.chain.head().number();
    beside(&world, 1);
    tell_payment(&world, &world.request("invoice-1", 25), block);
    world.tricks.lock().expect("whole").receipts.insert(hash, (block, true));
    rounds(&world, &mut process, 12).await;
    let payout = world.payout(id).await;
    assert_eq!((payout.state, payout.finalized_at), (PayoutState::Submitted, None));
    assert!(reason(&world, id).await.contains("do not agree"), "{payout:#?}");
    beside(&world, 2);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Failed);
    assert!(world.told("payout.confirmed").await.is_empty());
    all_honest(&world);
    world.agrees().await;
}

async fn one_endpoint_that_says_cancelled_rejects_nothing(kind: Kind) {
    for honest in [1, 2] {
        let world = World::new(kind, |_| {}).await;
        let mut process = world.process("one");
        let ids = [world.approved("one", 5).await, world.approved("two", 6).await];
        let requests = [world.request("one", 5), world.request("two", 6)].map(|request| (request, CANCELLED));
        beside(&world, honest);
        tell_records(&world, &requests, 1);
        if honest == 1 {
            rounds(&world, &mut process, 3).await;
            for id in ids {
                assert_eq!(world.payout(id).await.state, PayoutState::Approved);
                assert!(reason(&world, id).await.contains("do not agree"));
            }
            all_honest(&world);
            world.clock.advance_ms(300_000);
        }
        world.drive(&mut process, 40).await;
        for id in ids {
            is_paid_for_real(&world, id).await;
        }
    }
}

/// One of a batch is cancelled, and the batch is reverted: the other one is signed again.
async fn one_endpoint_that_says_cancelled_fails_no_payout_that_is_signed_again(kind: Kind) {
    let world = World::new(kind, |options| options.batch = 2).await;
    let mut process = world.process("one");
    let ids = [world.approved("good", 5).await, world.approved("bad", 6).await];
    process.submitters[0].step().await.expect("signed");
    let first = world.payout(ids[0]).await.intent;
    cancel(&world, ids[1]).await;
    beside(&world, 2);
    tell_records(&world, &[(world.request("good", 5), CANCELLED)], 1);
    world.drive(&mut process, 60).await;
    assert_eq!(world.payout(ids[1]).await.state, PayoutState::Failed);
    assert_ne!(world.payout(ids[0]).await.intent, first);
    is_paid_for_real(&world, ids[0]).await;
}

async fn a_refusal_is_of_the_payout_that_two_name(kind: Kind) {
    let world = World::new(kind, |options| options.batch = 3).await;
    let mut process = world.process("one");
    let ids =
        [world.approved("zero", 5).await, world.approved("one", 6).await, world.approved("two", 7).await];
    world.act(0, world.vault.address, &denyCall { account: world.request("zero", 5).to });
    let named = world.request("two", 7);
    let refusal = RecipientDenied { requestId: named.request_id(), to: named.to }.abi_encode();
    beside(&world, 2);
    world.tricks.lock().expect("whole").refusal = Some(refusal.into());
    rounds(&world, &mut process, 3).await;
    assert_eq!(world.payout(ids[0]).await.state, PayoutState::Rejected);
    world.drive(&mut process, 40).await;
    for id in &ids[1..] {
        is_paid_for_real(&world, *id).await;
    }
}

async fn marked(world: &World, process: &Process) -> Vec<PayoutId> {
    let lost = lost_payments(&process.ledger, world.vault).await.expect("read");
    lost.into_iter().map(|payout| payout.id).collect()
}

/// A payout is CONFIRMED and final by an endpoint that was alone and lied.
async fn a_payment_that_was_made_up_is_reported_once_two_do_not_know_it(kind: Kind) {
    let mut world = World::new(kind, |_| {}).await;
    world.is_overseen = false;
    let mut process = world.process("one");
    let id = world.approved("invoice-1", 25).await;
    tell_payment(&world, &world.request("invoice-1", 25), 3);
    world.drive(&mut process, 10).await;
    assert!(world.payout(id).await.finalized_at.is_some() && world.sent.lock().expect("whole").is_empty());
    // With one honest endpoint nothing is known for certain; with two it is.
    beside(&world, 1);
    let mut recheck = Recheck::new(process.payer.clone());
    for _ in 0..3 {
        assert_eq!(recheck.step().await.expect("looked").gone, 0);
    }
    beside(&world, 2);
    let done = recheck.whole().await.expect("looked");
    assert_eq!((done.payments, done.lost, done.gone), (1, 1, 1));
    assert!(reason(&world, id).await.contains("its payment is gone"));
    assert_eq!(world.told("payout.payment_lost").await.len(), 1);
    assert_eq!(marked(&world, &world.process("two")).await, [id], "a process that starts reports it");
    assert_eq!(Recheck::new(process.payer.clone()).whole().await.expect("looked").gone, 1);
    LedgerCheck::new(process.ledger.clone()).step().await.expect("looked");
    assert_eq!(process.ledger.forgeries(), []);
}

/// A world with a payment that is final, and an endpoint whose vault does not know it.
async fn paid_and_denied(kind: Kind) -> (World, Process, PayoutId) {
    let world = World::new(kind, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    world.drive(&mut process, 40).await;
    tell_records(&world, &[(world.request("invoice-1", 25), 0)], 0);
    (world, process, id)
}

async fn one_of_two_calls_no_payment_gone_while_the_other_is_silent(kind: Kind) {
    let (world, process, id) = paid_and_denied(kind).await;
    {
        // It has other blocks, too.
        let mut tricks = world.tricks.lock().expect("whole");
        (tricks.honest, tricks.is_honest_silent, tricks.is_silent) = (1, true, true);
        tricks.others = vec![("fork", Some(B256::repeat_byte(0x55)))];
    }
    let mut recheck = Recheck::new(process.payer.clone());
    for is_silent in [true, true, true, false, false] {
        world.tricks.lock().expect("whole").is_honest_silent = is_silent;
        let done = recheck.step().await;
        assert!(done.is_err() || done.is_ok_and(|done| (done.suspected, done.gone) == (0, 0)));
    }
    assert!(!world.payout(id).await.is_payment_lost() && !world.is_logged("signer.halted").await);
}

/// Marks of before, by one endpoint's word.
async fn a_mark_that_was_wrong_is_taken_back_with_its_halt(kind: Kind) {
    let (mut world, _, id) = paid_and_denied(kind).await;
    world.is_overseen = false;
    let mut process = world.process("one");
    let mut recheck = Recheck::new(process.payer.clone());
    assert_eq!(recheck.whole().await.expect("looked").gone, 1);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    assert_eq!(marked(&world, &process).await, [id]);
    // Two endpoints have it, and one goes on lying.
    beside(&world, 2);
    let done = recheck.step().await.expect("looked");
    assert_eq!((done.moved, done.gone), (1, 0));
    assert!(!world.payout(id).await.is_payment_lost());
    assert!(marked(&world, &process).await.is_empty());
    let signers = world.store.list_signers().await.expect("read");
    assert_eq!(signers[0].halted, None);
    let next = world.approved("invoice-2", 10).await;
    world.drive(&mut process, 40).await;
    is_paid_for_real(&world, next).await;
    LedgerCheck::new(process.ledger.clone()).step().await.expect("looked");
    assert_eq!(process.ledger.forgeries(), []);
}
