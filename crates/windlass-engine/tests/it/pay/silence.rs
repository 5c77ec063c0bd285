//! Endpoints that do not answer: payouts that wait for them say so once that has lasted, and go on by
//! themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::code::Code;
use windlass_core::payout::state::PayoutState;
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_engine::pay::chain_trouble::GRACE;

use super::direct::ChainHook;
use super::world::World;
use crate::database::Kind;

/// Whether the endpoints are silent.
#[derive(Default)]
struct Line(AtomicBool);

#[async_trait]
impl ChainHook for Line {
    async fn before(&self, _: &'static str) -> Result<(), ChainError> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(ChainError::new(ChainErrorKind::Unreachable, "connection refused")),
            false => Ok(()),
        }
    }

    async fn after(&self, _: &'static str) -> Result<(), ChainError> {
        Ok(())
    }
}

/// Lets the loops' own time pass; the store's is another.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn payouts_say_that_the_endpoints_do_not_answer(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let line = Arc::new(Line::default());
    let mut process = world.process_of("one", world.store.clone(), line.clone(), 1);
    let sent_away = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("signed");
    assert_eq!(world.payout(sent_away).await.state, PayoutState::Submitted);
    let waiting = world.approved("invoice-2", 10).await;

    line.0.store(true, Ordering::Relaxed);
    process.submitters[0].step().await.expect_err("no answer");
    process.tracker.step().await.expect_err("no answer");
    assert_eq!(process.payer.accounts().chain_trouble(), None, "it may pass");
    assert_eq!(world.entries("payout.held").await.len(), 0);
    pass(GRACE).await;
    world.clock.advance_ms(3_000);
    process.submitters[0].step().await.expect_err("no answer");
    process.tracker.step().await.expect_err("no answer");
    let trouble = process.payer.accounts().chain_trouble().expect("it lasts");
    assert_eq!(trouble.code, Code::RpcUnreachable);
    for id in [sent_away, waiting] {
        let reason = world.payout(id).await.hold.expect("a reason").reason;
        assert_eq!(reason, trouble.reason());
        assert!(reason.contains("do not answer: ") && reason.contains("connection refused"), "{reason}");
    }
    world.clock.advance_ms(20_000);
    world.steps(&mut process).await;
    assert_eq!(world.entries("payout.held").await.len(), 2, "nothing new is written");

    line.0.store(false, Ordering::Relaxed);
    world.clock.advance_ms(20_000);
    process.tracker.step().await.expect("looked");
    let payout = world.payout(sent_away).await;
    assert_eq!((payout.state, payout.hold), (PayoutState::Submitted, None), "it waits for its block alone");
    process.submitters[0].step().await.expect("signed");
    assert_eq!(process.payer.accounts().chain_trouble(), None);
    world.drive(&mut process, 40).await;
    for id in [sent_away, waiting] {
        let payout = world.payout(id).await;
        assert_eq!((payout.state, payout.hold), (PayoutState::Confirmed, None));
    }
    world.agrees().await;
}

#[tokio::test]
async fn payouts_say_that_the_endpoints_do_not_answer_on_sqlite() {
    payouts_say_that_the_endpoints_do_not_answer(Kind::Sqlite).await;
}

#[tokio::test]
async fn payouts_on_postgres_say_that_the_endpoints_do_not_answer() {
    payouts_say_that_the_endpoints_do_not_answer(Kind::Postgres).await;
}
