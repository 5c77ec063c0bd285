//! Pools of devnets, over loopback.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::chain::{Address, BlockRef};
use windlass_core::error::RetryAdvice;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, LogFilter, LogSpan};
use windlass_devnet::chain::{Chain, ChainOptions};
use windlass_devnet::faults::Kind;
use windlass_devnet::node::Node;
use windlass_devnet::synthetic::{Density, SyntheticNode};

use crate::served::{Served, Twisted, all_its_logs, chain_id, pool_of, serve_node, synthetic};
use crate::server::{NOBODY, install_tls};

/// Longer than anything here takes; only a failing test waits for it.
const FAR_TOO_LONG: Duration = Duration::from_secs(60);

fn node() -> Arc<SyntheticNode> {
    synthetic(10_000, Density::PerBlock(1))
}

/// Fifty ranges, several at once; all must be answered.
async fn backfill(pool: &EvmPool) {
    let asked = (0..50).map(|at| async move {
        let range = BlockRange { from: at * 100 + 1, to: at * 100 + 100 };
        let logs = pool.logs(LogSpan::Range(range), &all_its_logs()).await.expect("logs");
        assert_eq!(logs.len(), 100);
    });
    join_all(asked).await;
}

/// Asks for ranges without end, whatever becomes of them.
async fn ask_for_history(pool: &EvmPool) {
    let range = LogSpan::Range(BlockRange { from: 1, to: 100 });
    loop {
        let _ = pool.logs(range, &all_its_logs()).await;
    }
}

#[tokio::test]
async fn a_storm_of_429_is_not_fed() {
    let served = serve_node(node(), "429=1:30s@eth_getCode").await;
    let pool = pool_of(&[&served], PoolOptions::default());
    for _ in 0..20 {
        let error = pool.code(Address::ZERO, BlockTag::Latest).await.expect_err("limited");
        assert_eq!(error.kind, ChainErrorKind::RateLimited);
        let RetryAdvice::After(pause) = error.retry else { panic!("{error:?}") };
        assert!(pause > Duration::from_secs(20), "{pause:?}");
    }
    assert_eq!(served.calls("eth_getCode"), 1);
    assert!(pool.status()[0].left_out_ms.is_some());
}

#[tokio::test]
async fn while_one_endpoint_storms_another_answers() {
    let (limited, good) = (serve_node(node(), "429=1:600s").await, serve_node(node(), "").await);
    let pool = pool_of(&[&limited, &good], PoolOptions::default());
    backfill(&pool).await;
    assert!(limited.all_calls() <= 1, "{}", limited.all_calls());
    assert_eq!(good.calls("eth_getLogs"), 50);
}

#[tokio::test]
async fn endpoints_that_are_dead_or_silent_are_done_without() {
    install_tls();
    let (silent, good) = (serve_node(node(), "timeout=1").await, serve_node(node(), "").await);
    let urls = [format!("http://{NOBODY}"), silent.server.http_url(), good.server.http_url()];
    let options = PoolOptions {
        hedge_after: Duration::from_millis(50),
        request_timeout: Duration::from_secs(5),
        ..PoolOptions::default()
    };
    let pool = EvmPool::new(&urls, chain_id(), options).expect("a pool");
    backfill(&pool).await;
    let status = pool.status();
    assert!(!status[0].healthy && !status[1].healthy && status[2].healthy, "{status:?}");
    assert!(silent.all_calls() <= 10);
}

#[tokio::test]
async fn what_one_never_answers_a_second_does() {
    let (silent, good) =
        (serve_node(node(), "timeout=1:120s@eth_getLogs").await, serve_node(node(), "").await);
    // On a busy machine it is late with its chain too, and left out for a moment.
    let options = PoolOptions {
        hedge_after: Duration::from_millis(50),
        hedge_percent: 100,
        first_pause: Duration::from_millis(5),
        longest_pause: Duration::from_millis(50),
        ..PoolOptions::default()
    };
    let pool = pool_of(&[&silent, &good], options);
    let was_asked = || silent.calls("eth_getLogs") > 0 && pool.status()[0].hedged > 0;
    let asking = async {
        while !was_asked() {
            let range = LogSpan::Range(BlockRange { from: 1, to: 100 });
            assert_eq!(pool.logs(range, &all_its_logs()).await.expect("logs").len(), 100);
        }
    };
    tokio::time::timeout(FAR_TOO_LONG, asking).await.expect("it was asked, and not waited for");
}

#[tokio::test]
async fn flaky_endpoints_together_are_a_good_one() {
    let flaky = "reset=0.1@eth_getLogs,503=0.1@eth_getLogs,truncate=0.1@eth_getLogs";
    let served = [serve_node(node(), flaky).await, serve_node(node(), "").await];
    let pool = pool_of(&[&served[0], &served[1]], PoolOptions::default());
    for _ in 0..4 {
        backfill(&pool).await;
    }
    assert!(served[0].faults.counts().total() > 0);
}

#[tokio::test]
async fn a_lagging_endpoint_does_not_hide_what_another_has() {
    let chain = Chain::new(ChainOptions::deterministic());
    chain.mine_many(20);
    let (lagging, good) = (
        serve_node(Arc::new(chain.clone()), "lag=1of1:5").await,
        serve_node(Arc::new(chain.clone()), "").await,
    );
    let pool = pool_of(&[&lagging, &good], PoolOptions::default());
    for _ in 0..10 {
        let block = chain.mine();
        let header = pool.header(BlockTag::Number(block.number())).await.expect("an answer");
        assert_eq!(header.expect("a header").block.hash, block.hash());
        let header = pool.header(BlockTag::Hash(block.hash())).await.expect("an answer");
        assert!(header.is_some());
        pool.logs(
            LogSpan::Block(BlockRef { number: block.number(), hash: block.hash() }),
            &LogFilter::default(),
        )
        .await
        .expect("known");
    }
    assert!(lagging.faults.counts().get(Kind::Lag) > 0, "it was asked, and did not know");
    assert_eq!(pool.header(BlockTag::Number(99)).await, Ok(None));
}

#[tokio::test]
async fn an_endpoint_of_another_chain_is_left_out_and_named() {
    let (other, good) = (serve_node(node(), "chainid=5").await, serve_node(node(), "").await);
    let pool = pool_of(&[&other, &good], PoolOptions::default());
    backfill(&pool).await;
    assert_eq!(other.calls("eth_getLogs"), 0);
    let words = format!("{} serves chain 5, not 31337", other.server.http_url());
    assert_eq!(pool.status()[0].trouble.as_deref(), Some(words.as_str()));
    let alone = pool_of(&[&other], PoolOptions::default());
    let error = alone.chain_id().await.expect_err("the wrong chain");
    assert_eq!((error.kind, error.message), (ChainErrorKind::Refused, words));
    assert_eq!(pool_of(&[&good], PoolOptions::default()).chain_id().await, Ok(chain_id()));
}

#[tokio::test]
async fn a_range_that_one_refuses_goes_to_another() {
    let (small, large) = (serve_node(node(), "logs=quicknode:50").await, serve_node(node(), "").await);
    let pool = pool_of(&[&small, &large], PoolOptions::default());
    backfill(&pool).await;
    let refused = small.faults.counts().get(Kind::LogLimit);
    assert!(refused <= 8, "{refused}: after the first it is known");
    backfill(&pool).await;
    assert_eq!(small.faults.counts().get(Kind::LogLimit), refused);
    assert!(pool.range_size(&all_its_logs()) > 50);
    let learned = &pool.status()[0].learned;
    assert!(refused == 0 || learned[0].refused_blocks == Some(51), "{learned:?}");
}

#[tokio::test]
async fn nonsense_from_one_is_made_good_by_another() {
    let twisted = Twisted::result_of(node(), "eth_getLogs", |logs| {
        if let Some(first) = logs.as_array_mut().and_then(|logs| logs.first_mut()) {
            first["removed"] = true.into();
        }
    });
    let (strange, good) = (serve_node(twisted, "").await, serve_node(node(), "").await);
    let pool = pool_of(&[&strange, &good], PoolOptions::default());
    backfill(&pool).await;
    assert!(pool.status()[0].errors > 0);
    assert!(strange.calls("eth_getLogs") <= 36, "{}", strange.calls("eth_getLogs"));
}

#[tokio::test]
async fn two_endpoints_of_one_host_are_told_apart() {
    install_tls();
    let served: Served = serve_node(node() as Arc<dyn Node>, "").await;
    let urls = [served.server.http_url(), served.server.http_url()];
    let pool = EvmPool::new(&urls, chain_id(), PoolOptions::default()).expect("a pool");
    let places: Vec<String> = pool.status().into_iter().map(|status| status.place).collect();
    assert_eq!(places, [urls[0].clone(), format!("{}#2", urls[0])]);
    assert!(EvmPool::new::<&str>(&[], chain_id(), PoolOptions::default()).is_err());
    assert!(EvmPool::new(&["http:key"], chain_id(), PoolOptions::default()).is_err());
}

/// A token bucket that says nothing of when to come back, in three manners: work goes on at
/// its rate, few requests are refused, and it is called a rate limit.
#[tokio::test]
async fn a_rate_limit_is_learned_and_work_goes_on_at_that_rate() {
    for plan in ["rate=40", "rate=40/retry", "rate=40/words"] {
        let served = serve_node(node(), plan).await;
        let pool = pool_of(&[&served], PoolOptions::default());
        let mut answered = 0_u64;
        while answered < 120 {
            match pool.header(BlockTag::Number(1)).await {
                Ok(found) => answered += u64::from(found.is_some()),
                Err(error) => {
                    let kind = error.kind;
                    assert!(
                        matches!(kind, ChainErrorKind::RateLimited | ChainErrorKind::Refused),
                        "{plan}: {error}"
                    );
                    tokio::task::yield_now().await;
                }
            }
        }
        let status = &pool.status()[0];
        let refused = status.limited + status.errors;
        assert!(refused < answered, "{plan}: {refused} refused, {answered} answered");
        let note = status.note().unwrap_or_default();
        assert!(plan.ends_with("words") || note.contains("is rate limiting"), "{plan}: {note}");
    }
}

/// A batch of more calls than the bucket holds is always refused: shorter ones are sent, and what
/// was read is kept. History is asked for all the while, at distance and with refusals.
#[tokio::test]
async fn headers_pass_a_rate_limit_that_is_smaller_than_a_batch() {
    let served = serve_node(node(), "latency=20ms..60ms,429=0.02:none,rate=30:10").await;
    let pool = pool_of(&[&served], PoolOptions::default());
    pool.header(BlockTag::Latest).await.expect("an answer");
    let numbers: Vec<u64> = (9_900..10_000).collect();
    let headers = tokio::time::timeout(FAR_TOO_LONG, pool.headers(&numbers));
    let headers = tokio::select! {
        headers = headers => headers.expect("in time").expect("headers"),
        _ = join_all((0..4).map(|_| ask_for_history(&pool))) => unreachable!("history has no end"),
    };
    let found: Vec<u64> = headers.into_iter().flatten().map(|header| header.block.number).collect();
    assert_eq!(found, numbers);
}

/// The headers of logs without times are many more calls than their question: they are asked for
/// at the endpoint's rate, and the logs are kept meanwhile.
#[tokio::test]
async fn times_of_logs_pass_a_rate_limit() {
    let served = serve_node(node(), "latency=20ms..60ms,reset=0.05,rate=60:20,nologtime=1").await;
    let pool = pool_of(&[&served], PoolOptions::default());
    let range = LogSpan::Range(BlockRange { from: 1, to: 150 });
    let asked = tokio::time::timeout(FAR_TOO_LONG, async {
        loop {
            if let Ok(logs) = pool.logs(range, &all_its_logs()).await {
                return logs;
            }
        }
    });
    let logs = asked.await.expect("in time");
    assert_eq!(logs.len(), 150);
    let asked = served.calls("eth_getLogs");
    assert!(asked <= 5, "{asked}: what was read is kept while its headers are asked for");
    let good = serve_node(node(), "").await;
    let times = pool_of(&[&good], PoolOptions::default()).logs(range, &all_its_logs()).await.expect("logs");
    assert_eq!(logs, times);
}

/// Every endpoint's logs get their times from itself; one whose connections break now and then is
/// heard all the same, and not asked for its logs again.
#[tokio::test]
async fn times_of_each_endpoints_logs_are_its_own() {
    let good = serve_node(node(), "latency=20ms..60ms").await;
    let flaky =
        serve_node(node(), "latency=20ms..60ms,rate=100:20,reset=0.01@eth_getBlockByHash,nologtime=1").await;
    let pool = pool_of(&[&good, &flaky], PoolOptions::default());
    let span = LogSpan::Range(BlockRange { from: 1, to: 150 });
    let filter = all_its_logs();
    let asked = tokio::time::timeout(FAR_TOO_LONG, pool.logs_from_each(span, &filter));
    let [of_good, of_flaky] = <[_; 2]>::try_from(asked.await.expect("in time")).expect("two");
    assert_eq!(of_good.answer.expect("logs"), of_flaky.answer.expect("logs"));
    assert_eq!((flaky.calls("eth_getLogs"), good.calls("eth_getBlockByHash")), (1, 0));
    assert!(flaky.calls("eth_getBlockByHash") >= 150);
}

/// One of two has the header and no logs of it yet: the other's are taken, and it is named.
#[tokio::test]
async fn an_endpoint_without_the_logs_that_a_bloom_has_is_set_aside_for_logs() {
    let (bad, good) = (serve_node(node(), "lie=empty").await, serve_node(node(), "").await);
    for order in [[&bad, &good], [&good, &bad]] {
        let before = bad.calls("eth_getLogs");
        let pool = pool_of(&order, PoolOptions::default());
        for number in 1..=20 {
            let header = pool.header(BlockTag::Number(number)).await.expect("an answer").expect("a block");
            let logs = pool.block_logs(&header, &all_its_logs()).await.expect("logs");
            assert_eq!(logs.len() as u64, 1, "block {number}");
        }
        let (notes, asked) = (pool.endpoint_notes(), bad.calls("eth_getLogs") - before);
        let is_named = notes.iter().any(|note| note.contains("is not asked about logs"));
        assert_eq!(is_named, asked > 0, "{asked} questions, {notes:?}");
    }
    assert!(bad.calls("eth_getLogs") > 0, "it was asked in one of the two orders");
    // What it lacks by hash it is asked for by number.
    assert!(bad.calls("eth_getLogs") <= 8, "{}", bad.calls("eth_getLogs"));
}
