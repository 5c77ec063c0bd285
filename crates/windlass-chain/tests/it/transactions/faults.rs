//! Transactions to endpoints in trouble, and through one that lags or lies.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::payout::submit::{NonceTag, SendAnswer, TransactionChain};
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_devnet::chain::{Chain, ChainOptions};

use super::payer::{Payer, plenty};
use crate::served::{Served, Twisted, chain_id, pool_of, serve_node};
use crate::server::{NOBODY, install_tls};

const SEND: &str = "eth_sendRawTransaction";

fn chain() -> Chain {
    Chain::new(ChainOptions::deterministic())
}

/// A server of a chain of its own.
async fn served(plan: &str) -> (Chain, Served) {
    let chain = chain();
    (chain.clone(), serve_node(Arc::new(chain), plan).await)
}

fn words(answers: &[SendAnswer]) -> Vec<&'static str> {
    answers.iter().map(SendAnswer::as_str).collect()
}

#[tokio::test]
async fn trouble_with_some_does_not_keep_it_from_the_others() {
    let plans = ["timeout=1", "reset=1", "429=1:30s", "503=1", "ratelimit=1", "truncate=1", ""];
    let plans = plans.map(|plan| if plan.is_empty() { String::new() } else { format!("{plan}@{SEND}") });
    let mut all = Vec::new();
    for plan in &plans {
        all.push(served(plan).await);
    }
    let pool = {
        let servers: Vec<&Served> = all.iter().map(|(_, served)| served).collect();
        let options = PoolOptions { send_timeout: Duration::from_millis(500), ..PoolOptions::default() };
        pool_of(&servers, options)
    };
    let sent = Payer::new(1).small(0, plenty());
    let answers = pool.send(&sent.raw).await;
    assert_eq!(words(&answers), ["silent", "silent", "silent", "silent", "silent", "silent", "accepted"]);
    for (place, (_, served)) in all.iter().enumerate() {
        assert_eq!(served.calls(SEND), 1, "{}: once and not again", plans[place]);
    }
    assert!(all[6].0.is_pooled(sent.hash));
    assert!(all[5].0.is_pooled(sent.hash), "silence is not a no: that answer was lost on its way back");
}

#[tokio::test]
async fn one_that_is_not_there_and_one_of_another_chain_change_nothing() {
    install_tls();
    let (_, good) = served("").await;
    let (elsewhere, strange) = served("chainid=5").await;
    let urls = [format!("http://{NOBODY}"), strange.server.http_url(), good.server.http_url()];
    let pool = EvmPool::new(&urls, chain_id(), PoolOptions::default()).expect("a pool");
    let sent = Payer::new(1).small(0, plenty());
    assert_eq!(words(&pool.send(&sent.raw).await), ["silent", "withheld", "accepted"]);
    assert_eq!((strange.calls(SEND), elsewhere.is_pooled(sent.hash)), (0, false));
    assert_eq!(words(&pool.send(&sent.raw).await), ["silent", "withheld", "known"]);
}

#[tokio::test]
async fn an_endpoint_that_rests_gets_it_all_the_same() {
    let (resting, limited) = served("429=1:600s@eth_getCode").await;
    let (_, good) = served("").await;
    let pool = pool_of(&[&limited, &good], PoolOptions::default());
    while pool.status()[0].left_out_ms.is_none() {
        pool.code(Payer::new(1).address(), BlockTag::Latest).await.expect("the other answers");
    }
    let sent = Payer::new(1).small(0, plenty());
    assert_eq!(words(&pool.send(&sent.raw).await), ["accepted", "accepted"]);
    assert!(resting.is_pooled(sent.hash) && pool.status()[0].left_out_ms.is_some());
}

/// One chain, asked through a node that has not seen its newest blocks.
#[tokio::test]
async fn a_receipt_that_a_lagging_node_does_not_have_is_found_at_another() {
    let chain = chain();
    let node = || Arc::new(chain.clone());
    let (behind, up) = (serve_node(node(), "lag=1of1:3").await, serve_node(node(), "").await);
    let sent = Payer::new(1).small(0, plenty());
    chain.send_raw(&sent.raw).expect("taken");
    chain.mine();
    assert_eq!(behind.reader().receipt(sent.hash).await, Ok(None), "a missing receipt proves nothing");
    let pool = pool_of(&[&behind, &up], PoolOptions::default());
    for _ in 0..5 {
        let receipt = pool.receipt(sent.hash).await.expect("an answer").expect("the other has it");
        assert_eq!(receipt.block.number, 1);
    }
    let at = NonceTag::Block(BlockTag::Number(1));
    for _ in 0..5 {
        assert_eq!(pool.nonce(Payer::new(1).address(), at).await, Ok(1), "by who has the block");
    }
}

#[tokio::test]
async fn anothers_receipt_is_not_passed_off() {
    let (chain, _) = served("").await;
    let (sent, other) = (Payer::new(1).small(0, plenty()), Payer::new(2).small(0, plenty()));
    chain.send_raw(&sent.raw).expect("taken");
    chain.send_raw(&other.raw).expect("taken");
    chain.mine();
    let change = move |receipt: &mut Value| receipt["transactionHash"] = serde_json::json!(other.hash);
    let twisted = Twisted::result_of(Arc::new(chain.clone()), "eth_getTransactionReceipt", change);
    let lying = serve_node(twisted, "").await;
    assert!(lying.reader().receipt(sent.hash).await.is_err());
    let honest = serve_node(Arc::new(chain), "").await;
    let pool = pool_of(&[&lying, &honest], PoolOptions::default());
    let receipt = pool.receipt(sent.hash).await.expect("an answer").expect("the honest one's");
    assert_eq!(receipt.hash, sent.hash);
}

/// Endpoints that fail now and then: between them everything is answered.
#[tokio::test]
async fn flaky_endpoints_together_answer_what_payouts_ask() {
    let chain = chain();
    let plan = "reset=0.2,truncate=0.1,503=0.1";
    let (one, two) =
        (serve_node(Arc::new(chain.clone()), plan).await, serve_node(Arc::new(chain.clone()), "").await);
    let pool = pool_of(
        &[&one, &two],
        PoolOptions { first_pause: Duration::from_millis(1), ..PoolOptions::default() },
    );
    let payer = Payer::new(1);
    for nonce in 0..20 {
        assert_eq!(pool.nonce(payer.address(), NonceTag::Block(BlockTag::Latest)).await, Ok(nonce));
        let fees = pool.gas_fees().await.expect("fees");
        let sent = payer.small(nonce, fees);
        let answers = pool.send(&sent.raw).await;
        assert!(answers.iter().any(SendAnswer::is_there), "{answers:?}");
        chain.mine();
        assert!(pool.receipt(sent.hash).await.expect("an answer").is_some_and(|receipt| receipt.is_success));
    }
}
