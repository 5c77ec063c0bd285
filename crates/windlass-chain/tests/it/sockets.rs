//! WebSockets: heads that are announced, and calls.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;
use windlass_chain::evm::{EvmHeads, EvmPool, EvmReader, EvmRpc, HeadsOptions, PoolOptions, RpcError};
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, LogSpan};
use windlass_devnet::chain::{Chain, ChainOptions};
use windlass_devnet::synthetic::Density;

use crate::front::Front;
use crate::served::{Served, all_its_logs, chain_id, serve_node, synthetic};

/// Longer than anything here takes; only a failing test waits for it.
const FAR_TOO_LONG: Duration = Duration::from_secs(30);

fn quick() -> HeadsOptions {
    HeadsOptions {
        first_pause: Duration::from_millis(5),
        longest_pause: Duration::from_millis(50),
        ..HeadsOptions::default()
    }
}

fn listen(urls: &[String]) -> EvmHeads {
    EvmHeads::start(urls, chain_id(), quick()).expect("listening")
}

/// Makes blocks until one of them is announced: how long a subscription takes is not known.
async fn until_heard(chain: &Chain, heads: &mut watch::Receiver<Option<u64>>) -> u64 {
    let before = *heads.borrow_and_update();
    let heard = async {
        loop {
            chain.mine();
            let changed = timeout(Duration::from_millis(20), heads.changed()).await;
            let now = *heads.borrow_and_update();
            if changed.is_ok() && now > before {
                return now.expect("a head");
            }
        }
    };
    timeout(FAR_TOO_LONG, heard).await.expect("a head is announced")
}

async fn until(mut condition: impl FnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(5));
    let holds = async {
        while !condition() {
            look.tick().await;
        }
    };
    timeout(FAR_TOO_LONG, holds).await.expect("it holds at last");
}

#[tokio::test]
async fn heads_arrive_and_survive_a_restart() {
    let chain = Chain::new(ChainOptions::deterministic());
    let served = serve_node(Arc::new(chain.clone()), "").await;
    let front = Front::of(&served).await;
    let heads = listen(&[front.ws_url()]);
    let mut receiver = heads.receiver();
    assert_eq!(*receiver.borrow(), None);
    let first = until_heard(&chain, &mut receiver).await;
    assert!(first <= chain.head().number());
    let next = chain.mine().number();
    let heard = timeout(FAR_TOO_LONG, receiver.wait_for(|head| *head == Some(next))).await;
    heard.expect("in time").expect("it listens");

    front.stop(served).await;
    chain.mine();
    let again = serve_node(Arc::new(chain.clone()), "").await;
    front.pass_to(&again);
    assert!(until_heard(&chain, &mut receiver).await > next);
}

#[tokio::test]
async fn one_of_two_is_enough() {
    let chain = Chain::new(ChainOptions::deterministic());
    let good = serve_node(Arc::new(chain.clone()), "").await;
    let bad = serve_node(Arc::new(chain.clone()), "reset=1").await;
    let heads = listen(&[bad.server.ws_url(), good.server.ws_url()]);
    assert_eq!(heads.endpoints(), 2);
    until_heard(&chain, &mut heads.receiver()).await;
}

#[tokio::test]
async fn only_websockets_are_listened_to() {
    let heads = EvmHeads::start(&["http://127.0.0.1:1"], chain_id(), quick()).expect("nothing to do");
    assert_eq!(heads.endpoints(), 0);
    assert!(matches!(EvmHeads::start(&["ws:key"], chain_id(), quick()), Err(RpcError::Url { .. })));
}

#[tokio::test]
async fn heads_of_another_chain_are_not_announced() {
    let chain = Chain::new(ChainOptions::deterministic());
    let served = serve_node(Arc::new(chain.clone()), "chainid=5").await;
    let heads = listen(&[served.server.ws_url()]);
    until(|| {
        chain.mine();
        served.calls("eth_chainId") >= 3
    })
    .await;
    assert_eq!(*heads.receiver().borrow(), None);
}

/// Accepts sockets and then forgets about them: it answers no ping.
async fn silent_server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let addr = listener.local_addr().expect("an address");
    let accepted = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&accepted);
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(tokio_tungstenite::accept_async(stream).await);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (addr, accepted)
}

#[tokio::test]
async fn a_socket_that_fell_silent_is_replaced() {
    let (addr, accepted) = silent_server().await;
    let options = HeadsOptions { ping_after: Duration::from_millis(10), ..quick() };
    let _heads = EvmHeads::start(&[format!("ws://{addr}")], chain_id(), options).expect("listening");
    until(|| accepted.load(Ordering::Relaxed) >= 3).await;
}

fn over_socket(served: &Served) -> EvmReader {
    EvmReader::new(EvmRpc::new(&served.server.ws_url()).expect("a client"), chain_id())
}

#[tokio::test]
async fn calls_go_over_a_socket_many_at_once() {
    let node = synthetic(10_000, Density::PerBlock(10));
    let served = serve_node(node, "latency=1ms..5ms").await;
    let reader = over_socket(&served);
    assert_eq!(reader.chain_id().await, Ok(chain_id()));
    let asked = (1..=100).map(|number| {
        let reader = &reader;
        async move {
            let header = reader.header(BlockTag::Number(number)).await.expect("an answer");
            assert_eq!(header.map(|header| header.block.number), Some(number));
        }
    });
    join_all(asked).await;
    let numbers: Vec<u64> = (0..500).collect();
    let headers = reader.headers(&numbers).await.expect("headers");
    assert!(
        headers
            .iter()
            .zip(numbers)
            .all(|(header, number)| { header.as_ref().is_some_and(|header| header.block.number == number) })
    );
    let range = LogSpan::Range(BlockRange { from: 1, to: 1_000 });
    assert_eq!(reader.logs(range, &all_its_logs()).await.expect("logs").len(), 10_000);
    assert_eq!(served.server.open_connections(), 1);
}

#[tokio::test]
async fn trouble_over_a_socket_is_told_like_any_other() {
    let served = serve_node(synthetic(100, Density::PerBlock(1)), "429=1@eth_chainId,logs=infura:7").await;
    let reader = over_socket(&served);
    assert_eq!(reader.chain_id().await.expect_err("limited").kind, ChainErrorKind::RateLimited);
    let range = LogSpan::Range(BlockRange { from: 1, to: 50 });
    let error = reader.logs(range, &all_its_logs()).await.expect_err("too large");
    assert!(matches!(error.kind, ChainErrorKind::RangeTooLarge { suggested: Some(_) }), "{error}");
    served.faults.set("reset=1".parse().expect("a plan"));
    assert_eq!(reader.chain_id().await.expect_err("reset").kind, ChainErrorKind::Unreachable);
    served.faults.set("timeout=1".parse().expect("a plan"));
    let impatient =
        EvmRpc::with_timeout(&served.server.ws_url(), Duration::from_millis(50)).expect("a client");
    assert!(matches!(impatient.chain_id().await, Err(RpcError::Timeout { .. })));
    served.faults.set("".parse().expect("a plan"));
    assert_eq!(reader.chain_id().await, Ok(chain_id()), "a new socket is opened");
}

#[tokio::test]
async fn a_pool_with_nothing_but_sockets_works_and_survives_a_restart() {
    let node = synthetic(100, Density::PerBlock(1));
    let served = serve_node(Arc::<_>::clone(&node) as Arc<_>, "").await;
    let front = Front::of(&served).await;
    let options = PoolOptions { first_pause: Duration::from_millis(5), ..PoolOptions::default() };
    let pool = EvmPool::new(&[front.ws_url()], chain_id(), options).expect("a pool");
    let head = |pool: EvmPool| async move { pool.header(BlockTag::Latest).await };
    assert!(head(pool.clone()).await.expect("an answer").is_some());
    front.stop(served).await;
    assert!(head(pool.clone()).await.is_err());
    let again = serve_node(node, "").await;
    front.pass_to(&again);
    let back = async {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        while head(pool.clone()).await.is_err() {
            look.tick().await;
        }
    };
    timeout(FAR_TOO_LONG, back).await.expect("it is back");
    assert!(again.calls("eth_chainId") > 0, "the chain is made sure of again");
}

#[tokio::test]
async fn where_there_is_http_questions_go_over_it() {
    let served = serve_node(synthetic(100, Density::PerBlock(1)), "").await;
    let urls = [served.server.ws_url(), served.server.http_url()];
    let pool = EvmPool::new(&urls, chain_id(), PoolOptions::default()).expect("a pool");
    let places: Vec<String> = pool.status().into_iter().map(|status| status.place).collect();
    assert_eq!(places, [served.server.http_url()]);
}
