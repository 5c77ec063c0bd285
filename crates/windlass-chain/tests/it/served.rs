//! Chains of the devnet on loopback ports, behind faults.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use windlass_chain::evm::{EvmPool, EvmReader, EvmRpc, PoolOptions};
use windlass_core::chain::ChainId;
use windlass_core::reader::LogFilter;
use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::node::{Announcement, Node, RpcError};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};
use windlass_devnet::synthetic::{Density, SyntheticNode, SyntheticOptions};

use crate::server::install_tls;

/// A server with its faults.
pub(crate) struct Served {
    pub(crate) server: ServerHandle,
    pub(crate) faults: Faults,
}

pub(crate) fn chain_id() -> ChainId {
    ChainId::new(31_337).expect("an id")
}

/// Serves a node behind a plan, on any port.
pub(crate) async fn serve_node(node: Arc<dyn Node>, plan: &str) -> Served {
    serve_seeded(node, plan, 1).await
}

/// The same, with another seed.
pub(crate) async fn serve_seeded(node: Arc<dyn Node>, plan: &str, seed: u64) -> Served {
    install_tls();
    let faults = Faults::new(seed, plan.parse::<Plan>().expect("a plan"));
    let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
    Served { server: Server::start(node, options).await.expect("a server"), faults }
}

impl Served {
    pub(crate) fn reader(&self) -> EvmReader {
        EvmReader::new(EvmRpc::new(&self.server.http_url()).expect("a client"), chain_id())
    }

    /// How often a method was called.
    pub(crate) fn calls(&self, method: &str) -> u64 {
        self.server.requests().get(method).copied().unwrap_or(0)
    }

    /// How often anything was called.
    pub(crate) fn all_calls(&self) -> u64 {
        self.server.requests().values().sum()
    }
}

/// A pool of servers.
pub(crate) fn pool_of(served: &[&Served], options: PoolOptions) -> EvmPool {
    let urls: Vec<String> = served.iter().map(|served| served.server.http_url()).collect();
    EvmPool::new(&urls, chain_id(), options).expect("a pool")
}

/// A chain whose logs are known.
pub(crate) fn synthetic(blocks: u64, density: Density) -> Arc<SyntheticNode> {
    Arc::new(SyntheticNode::new(SyntheticOptions {
        blocks,
        density,
        result_limit: 100_000,
        ..SyntheticOptions::default()
    }))
}

/// What its contract emits.
pub(crate) fn all_its_logs() -> LogFilter {
    LogFilter { addresses: vec![SyntheticOptions::default().contract], topics: vec![] }
}

type Twist = dyn Fn(&str, Result<Value, RpcError>) -> Result<Value, RpcError> + Send + Sync;

/// A node whose answers are changed on their way out.
pub(crate) struct Twisted {
    node: Arc<dyn Node>,
    twist: Box<Twist>,
}

impl Twisted {
    pub(crate) fn new(
        node: Arc<dyn Node>,
        twist: impl Fn(&str, Result<Value, RpcError>) -> Result<Value, RpcError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { node, twist: Box::new(twist) })
    }

    /// Changes the result of one method.
    pub(crate) fn result_of(
        node: Arc<dyn Node>,
        method: &'static str,
        change: impl Fn(&mut Value) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::new(node, move |called, answer| {
            let mut value = answer?;
            if called == method {
                change(&mut value);
            }
            Ok(value)
        })
    }
}

impl Node for Twisted {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let answer = self.node.call(method, params);
        let answer = answer.map(|bytes| serde_json::from_slice(&bytes).expect("json"));
        (self.twist)(method, answer).map(|value| Bytes::from(value.to_string()))
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.node.announcements()
    }
}
