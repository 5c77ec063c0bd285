//! A real chain behind the transport.

use std::sync::Arc;

use windlass_devnet::chain::{Chain, ChainOptions, DevAccount, Mining};
use windlass_devnet::faults::Faults;
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

/// A chain and the server in front of it.
pub(super) struct Served {
    pub(super) chain: Chain,
    pub(super) accounts: Vec<DevAccount>,
    pub(super) server: ServerHandle,
    /// What goes wrong between the two; nothing unless told.
    pub(super) faults: Faults,
}

impl Served {
    /// Blocks are made as transactions come.
    pub(super) async fn auto() -> Self {
        Self::with(ChainOptions { mining: Mining::Auto, ..ChainOptions::deterministic() }).await
    }

    /// Blocks are made when asked for.
    pub(super) async fn manual() -> Self {
        Self::with(ChainOptions::deterministic()).await
    }

    async fn with(options: ChainOptions) -> Self {
        let chain = Chain::new(options);
        let faults = Faults::new(1, "".parse().unwrap());
        let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
        let server = Server::start(Arc::new(chain.clone()), options).await.unwrap();
        Self { accounts: chain.accounts(), chain, server, faults }
    }
}
