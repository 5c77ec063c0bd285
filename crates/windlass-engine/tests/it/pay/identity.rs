//! A chain that was replaced by another of the same id: it is noticed before anything is signed, and
//! nothing is decided from what it says.

use alloy_primitives::B256;
use windlass_core::code::Code;
use windlass_core::payout::ledger::LedgerRow;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::audit_check;
use windlass_engine::pay::error::PayError;
use windlass_engine::pay::identity::AcceptError;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::ledger_check::LedgerCheck;
use windlass_engine::pay::reconcile::recheck::Recheck;
use windlass_engine::pay::submit::Submitted;

use super::world::{AUDIT_KEY, FINALITY, Process, World};
use crate::database::Kind;

/// A world with a payment that is final, and a process that has made it.
async fn paid(kind: Kind) -> (World, Process, PayoutId) {
    let world = World::new(kind, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    world.drive(&mut process, 40).await;
    assert!(world.payout(id).await.finalized_at.is_some());
    (world, process, id)
}

async fn reason(world: &World, id: PayoutId) -> String {
    world.payout(id).await.hold.expect("a reason").reason
}

fn is_other_chain<T>(done: Result<T, PayError>) -> bool {
    matches!(done, Err(error @ PayError::OtherChain(_)) if error.code() == Code::FinalityViolated)
}

async fn nothing_is_signed_on_a_chain_that_began_anew(kind: Kind) {
    let (world, mut process, first) = paid(kind).await;
    let sent_away = world.approved("invoice-2", 10).await;
    process.submitters[0].step().await.expect("signed");
    assert_eq!(world.payout(sent_away).await.state, PayoutState::Submitted);
    let waiting = world.approved("invoice-3", 10).await;
    let other = world.began_anew();
    // The first process is gone for a while.
    world.clock.advance_ms(31_000);
    let mut begun = other.process("two");
    assert_eq!(begun.submitters[0].step().await.expect("stepped"), Submitted::OtherChain);
    for done in [begun.tracker.step().await.map(drop), begun.payer.reconcile(false).await.map(drop)] {
        assert!(is_other_chain(done));
    }
    // Their jobs are given back, and every look ends alike.
    other.pass_time();
    assert!(is_other_chain(begun.tracker.step().await));
    let mut recheck = Recheck::new(begun.payer.clone());
    for _ in 0..2 {
        assert!(is_other_chain(recheck.step().await));
    }
    assert!(other.sent.lock().expect("whole").is_empty(), "nothing was signed or sent");
    assert!(!world.payout(first).await.is_payment_lost());
    for id in [sent_away, waiting] {
        let reason = reason(&other, id).await;
        assert!(reason.contains("serves another chain, or the chain began anew"), "{reason}");
    }
    assert!(begun.payer.accounts().other_chain().is_some());
    // The right endpoints again: all goes on, and says so.
    world.clock.advance_ms(61_000);
    world.drive(&mut process, 40).await;
    for id in [first, sent_away, waiting] {
        let payout = world.payout(id).await;
        assert_eq!((payout.state, payout.hold), (PayoutState::Confirmed, None));
    }
    world.agrees().await;
    LedgerCheck::new(process.ledger.clone()).step().await.expect("looked");
    assert_eq!(process.ledger.forgeries(), []);
}

#[tokio::test]
async fn nothing_is_signed_on_a_chain_that_began_anew_on_sqlite() {
    nothing_is_signed_on_a_chain_that_began_anew(Kind::Sqlite).await;
}

#[tokio::test]
async fn nothing_is_signed_on_a_chain_on_postgres_that_began_anew() {
    nothing_is_signed_on_a_chain_that_began_anew(Kind::Postgres).await;
}

/// Every block is replaced under a process that runs, and the chain is shorter than it was.
#[tokio::test]
async fn a_running_process_notices_that_the_chain_began_anew() {
    let (world, mut process, _) = paid(Kind::Sqlite).await;
    let waiting = world.approved("invoice-2", 10).await;
    let depth = world.chain.head().number();
    let reorg = ReorgOptions {
        return_to_pool: false,
        fill: false,
        allow_finalized: true,
        new_blocks: Some(3),
        ..ReorgOptions::default()
    };
    world.chain.reorg(depth, &reorg).expect("a reorg");
    let before = world.sent.lock().expect("whole").len();
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::OtherChain);
    assert_eq!(world.sent.lock().expect("whole").len(), before);
    let reason = reason(&world, waiting).await;
    assert!(reason.contains("began anew"), "{reason}");
}

/// The operator says that it was on purpose: what is gone is found, and sent again.
#[tokio::test]
async fn a_chain_that_an_operator_accepts_is_paid_on() {
    let (world, process, first) = paid(Kind::Sqlite).await;
    assert!(matches!(process.payer.accept_chain().await, Err(AcceptError::Same)));
    let waiting = world.approved("invoice-2", 10).await;
    let mut other = world.began_anew();
    other.is_overseen = false;
    let mut begun = other.process("two");
    assert_eq!(begun.submitters[0].step().await.expect("stepped"), Submitted::OtherChain);
    let preview = begun.payer.preview_accept_chain().await.expect("a chain");
    assert_eq!(begun.payer.accept_chain().await.expect("accepted"), preview);
    assert_ne!(preview.was, preview.now);
    assert_eq!(other.entries("chain.accepted").await.len(), 1);
    // The new chain says that a payment is gone once it has another block at its height.
    other.chain.mine_many(60);
    let mut recheck = Recheck::new(begun.payer.clone());
    assert_eq!(recheck.step().await.expect("looked").suspected, 1);
    assert_eq!(recheck.step().await.expect("looked").lost, 1);
    begun.payer.resend(first).await.expect("sent again");
    other.resume(other.chain.accounts()[1].address()).await.expect("resumed");
    other.clock.advance_ms(61_000);
    other.drive(&mut begun, 40).await;
    for id in [first, waiting] {
        assert_eq!(other.payout(id).await.state, PayoutState::Confirmed);
    }
    other.agrees().await;
    let store = other.store.clone();
    let named = audit_check::follow(&store, &AUDIT_KEY, None).await.expect("read").expect("whole");
    let compared = audit_check::compare(&store, &AUDIT_KEY, named).await.expect("read");
    assert_eq!(compared.forgeries, []);
}

/// One endpoint of three that lies, or serves another chain, is left out and stops nothing; one that
/// is alone stops paying for as long as it says so.
#[tokio::test]
async fn an_endpoint_that_lies_alone_neither_stops_paying_nor_is_believed() {
    let (world, _, _) = paid(Kind::Sqlite).await;
    let lie = Some(B256::repeat_byte(0x66));
    world.tricks.lock().expect("whole").others = vec![("liar", lie)];
    world.tricks.lock().expect("whole").honest = 1;
    let waiting = world.approved("invoice-2", 10).await;
    let mut process = world.process("two");
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(waiting).await.state, PayoutState::Confirmed);
    assert!(world.tricks.lock().expect("whole").reported.contains(&"liar".to_owned()));
    // The other one does not answer: nobody has the block, and nothing is signed until one has.
    world.tricks.lock().expect("whole").honest = 0;
    world.tricks.lock().expect("whole").is_silent = true;
    let waiting = world.approved("invoice-3", 10).await;
    let mut process = world.process("three");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::OtherChain);
    world.tricks.lock().expect("whole").is_silent = false;
    world.tricks.lock().expect("whole").honest = 1;
    world.clock.advance_ms(61_000);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(waiting).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

/// Nodes that keep no old headers have the first block; where they have none, nothing is known, and
/// paying goes on.
#[tokio::test]
async fn endpoints_without_old_blocks_stop_nothing() {
    let (world, _, _) = paid(Kind::Sqlite).await;
    let identity = identity(&world).await.expect("learned");
    let numbers: Vec<u64> = identity.blocks.iter().map(|block| block.number).collect();
    assert!(numbers.len() == 2 && numbers[0] > 0 && numbers[1] == 0, "{numbers:?}");
    world.tricks.lock().expect("whole").pruned = 0..world.chain.head().number();
    let waiting = world.approved("invoice-2", 10).await;
    let mut process = world.process("two");
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(waiting).await.state, PayoutState::Confirmed);
    // The first block is enough to see that it is another chain.
    let other = world.began_anew();
    other.tricks.lock().expect("whole").pruned = 1..1_000;
    other.chain.mine_many(60);
    other.approved("invoice-3", 10).await;
    let mut process = other.process("three");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::OtherChain);
}

/// While two endpoints contradict each other nothing is learned, and nothing is final either.
#[tokio::test]
async fn blocks_are_learned_only_where_endpoints_agree() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    world.tricks.lock().expect("whole").others = vec![("liar", Some(B256::repeat_byte(0x66)))];
    let id = world.approved("invoice-1", 10).await;
    let mut process = world.process("one");
    for _ in 0..20 {
        world.round(&mut process).await;
    }
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Approved, "no account begins without a final block");
    let reason = payout.hold.expect("a reason").reason;
    assert!(reason.contains("do not agree about the finalized block") && reason.contains("liar"), "{reason}");
    assert_eq!(identity(&world).await, None);
    // The liar alone answers.
    world.tricks.lock().expect("whole").is_silent = true;
    world.clock.advance_ms(31_000);
    process.payer.check_chain().await.expect("the chain");
    assert_eq!(identity(&world).await, None);
    world.tricks.lock().expect("whole").is_silent = false;
    world.tricks.lock().expect("whole").others.clear();
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.hold, None);
    world.clock.advance_ms(31_000);
    process.payer.check_chain().await.expect("the chain");
    let learned = identity(&world).await.expect("learned");
    assert!(AUDIT_KEY.is_authentic(&learned));
    assert_eq!(
        (learned.version(), learned.blocks[0].number <= world.chain.head().number() - FINALITY),
        (1, true)
    );
    // Two processes at once learn it once.
    process.payer.check_chain().await.expect("the chain");
    world.process("two").payer.check_chain().await.expect("the chain");
    assert_eq!(world.entries("chain.learned").await.len(), 1);
}

async fn identity(world: &World) -> Option<windlass_core::payout::ledger::ChainIdentity> {
    let ledger = Ledger::new(world.store.clone(), AUDIT_KEY);
    ledger.chain_identity(world.vault).await.expect("read")
}
