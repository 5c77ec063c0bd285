//! Transactions to all, and what payouts ask of one.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, advance};
use windlass_core::chain::{Address, Bytes};
use windlass_core::payout::submit::{Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain};
use windlass_core::reader::{BlockTag, ChainReader};

use super::fake::{CallEnd, Fake, Fault, hash};
use super::{pool, pool_with};
use crate::evm::pool::{EvmPool, PoolOptions};

const RAW: Bytes = Bytes::from_static(&[2, 1]);

async fn words(pool: &EvmPool) -> Vec<&'static str> {
    pool.send(&RAW).await.iter().map(SendAnswer::as_str).collect()
}

fn offered(fakes: &[Arc<Fake>]) -> Vec<u64> {
    fakes.iter().map(|fake| fake.offered.load(Ordering::Relaxed)).collect()
}

/// Whatever is asked first makes the endpoints name their chain.
async fn warm(pool: &EvmPool) {
    for _ in 0..20 {
        pool.code(Address::ZERO, BlockTag::Latest).await.expect("code");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_goes_to_all_at_once_and_to_none_twice() {
    let (pool, fakes) = pool(3);
    warm(&pool).await;
    fakes.iter().for_each(|fake| fake.manner().latency = Duration::from_secs(4));
    let start = Instant::now();
    assert_eq!(words(&pool).await, ["accepted"; 3]);
    assert_eq!(start.elapsed(), Duration::from_secs(4), "not one after the other");
    assert_eq!(offered(&fakes), [1, 1, 1]);
    assert!(pool.status().iter().all(|status| status.in_flight == 0));
}

#[tokio::test(start_paused = true)]
async fn each_is_waited_for_within_bounds_and_keeps_its_place() {
    let (pool, fakes) = pool(4);
    warm(&pool).await;
    fakes[0].manner().fault = Some(Fault::Silent);
    fakes[1].manner().fault = Some(Fault::Dead);
    fakes[3].manner().fault = Some(Fault::Limited(Duration::from_secs(1)));
    let start = Instant::now();
    assert_eq!(words(&pool).await, ["silent", "silent", "accepted", "silent"]);
    assert_eq!(start.elapsed(), PoolOptions::default().send_timeout);
    assert_eq!(offered(&fakes), [1, 1, 1, 1], "nothing is tried again, and nobody in another's place");
}

#[tokio::test(start_paused = true)]
async fn one_that_rests_gets_it_too_and_goes_on_resting() {
    let (pool, fakes) = pool(2);
    warm(&pool).await;
    fakes[0].manner().fault = Some(Fault::Limited(Duration::from_secs(60)));
    warm(&pool).await;
    let rest = || pool.status()[0].left_out_ms.expect("it rests");
    let before = rest();
    assert_eq!(words(&pool).await, ["silent", "accepted"], "it still wants fewer requests");
    assert!(rest() <= before, "which lengthens nothing");
    fakes[0].manner().fault = None;
    assert_eq!(words(&pool).await, ["accepted", "accepted"]);
    assert!(rest() <= before && rest() > 50_000, "nor does that shorten it");
    assert_eq!(offered(&fakes), [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn one_of_another_chain_gets_nothing() {
    let (pool, fakes) = pool(2);
    fakes[1].manner().chain = 5;
    for _ in 0..3 {
        let answers = pool.send(&RAW).await;
        let strange = SendAnswer::Withheld("http://b serves chain 5, not 137".to_owned());
        assert_eq!(answers, [SendAnswer::Accepted, strange]);
    }
    assert_eq!(offered(&fakes), [3, 0]);
    fakes[1].manner().chain = 137;
    assert_eq!(words(&pool).await, ["accepted"; 2], "it has been put right");
}

/// After a failure it may be another that answers there.
#[tokio::test(start_paused = true)]
async fn one_that_failed_names_its_chain_before_it_gets_another_transaction() {
    let (pool, fakes) = pool(1);
    warm(&pool).await;
    fakes[0].manner().fault = Some(Fault::Dead);
    assert_eq!(words(&pool).await, ["silent"]);
    fakes[0].manner().fault = None;
    fakes[0].manner().chain = 5;
    assert_eq!(words(&pool).await, ["withheld"]);
    assert_eq!(offered(&fakes), [1]);
}

#[tokio::test(start_paused = true)]
async fn sending_is_known_to_who_asks_next() {
    let (pool, fakes) = pool_with(2, PoolOptions { hedge_percent: 0, ..PoolOptions::default() });
    warm(&pool).await;
    fakes[0].manner().fault = Some(Fault::Dead);
    for _ in 0..3 {
        assert_eq!(words(&pool).await, ["silent", "accepted"]);
    }
    assert!(!pool.status()[0].healthy, "three failures in a row");
    advance(Duration::from_millis(10)).await;
    let before = fakes[0].asked();
    pool.balance(Address::ZERO, BlockTag::Latest).await.expect("the other's");
    assert_eq!(fakes[0].asked(), before);
}

#[tokio::test(start_paused = true)]
async fn a_receipt_that_one_does_not_have_is_asked_of_another() {
    let (pool, fakes) = pool(3);
    fakes[0].manner().head = 90;
    fakes[1].manner().head = 95;
    // Some of these questions begin with an endpoint that does not know.
    for number in [80, 92, 99, 99, 99, 99] {
        let found = pool.receipt(hash(number)).await.expect("an answer").expect("a receipt");
        assert_eq!(found.block.number, number);
    }
    assert_eq!(pool.receipt(hash(101)).await, Ok(None), "nobody has it");
}

#[tokio::test(start_paused = true)]
async fn why_a_call_reverts_is_asked_of_who_tells() {
    let (pool, fakes) = pool(3);
    let call = Call { from: Address::ZERO, to: Some(Address::ZERO), data: RAW };
    fakes.iter().for_each(|fake| fake.manner().call = CallEnd::RevertsSilently);
    let silent = pool.call(&call, BlockTag::Latest).await.expect("an outcome");
    assert!(matches!(silent, CallOutcome::Reverted { data, .. } if data.is_empty()), "nobody tells");
    fakes[2].manner().call = CallEnd::Reverts;
    for _ in 0..5 {
        let told = pool.call(&call, BlockTag::Latest).await.expect("an outcome");
        assert!(matches!(told, CallOutcome::Reverted { data, .. } if data.len() == 4));
        let told = pool.estimate_gas(&call).await.expect("an outcome");
        assert!(matches!(told, GasEstimate::Reverted { data, .. } if data.len() == 4));
    }
    assert!(pool.status().iter().all(|status| status.healthy), "a revert is an answer");
}

#[tokio::test(start_paused = true)]
async fn accounts_and_fees_are_answered_by_whoever_is_well() {
    let (pool, fakes) = pool(2);
    fakes[0].manner().fault = Some(Fault::Dead);
    assert_eq!(pool.nonce(Address::ZERO, NonceTag::Pending).await, Ok(100));
    assert_eq!(pool.gas_fees().await.expect("fees").max_fee, 3);
    assert!(pool.balance(Address::ZERO, BlockTag::Latest).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn calls_and_counts_of_each_are_told_apart() {
    let (pool, fakes) = pool(3);
    fakes[0].manner().call = CallEnd::Reverts;
    fakes[0].manner().head = 103;
    fakes[1].manner().fault = Some(Fault::Dead);
    let call = Call { from: Address::ZERO, to: Some(Address::ZERO), data: RAW };
    let told = pool.call_from_each(&call, BlockTag::Latest).await;
    let is_returned = |outcome: &CallOutcome| matches!(outcome, CallOutcome::Returned(_));
    let returned: Vec<_> = told.iter().map(|one| one.answer.as_ref().ok().map(is_returned)).collect();
    assert_eq!(returned, [Some(false), None, Some(true)]);
    let counts = pool.nonce_from_each(Address::ZERO, NonceTag::Block(BlockTag::Latest)).await;
    let counts: Vec<_> = counts.into_iter().map(|one| one.answer.ok()).collect();
    assert_eq!(counts, [Some(103), None, Some(100)]);
}
