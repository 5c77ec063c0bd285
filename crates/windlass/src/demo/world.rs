//! The demo's chain: a devnet served over HTTP, with a fee collector on it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use serde::Deserialize;
use windlass_core::code::Code;
use windlass_core::payout::vault::event;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount, LogFilter, Mining};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};
use windlass_devnet::synthetic::FEES_COLLECTED_TOPIC;

use super::DemoOptions;
use super::treasury::Treasury;
use crate::failure::Failure;

/// The compiled contract, checked by `./test` against its source.
const FEE_COLLECTOR: &str = include_str!("../../../../contracts/artifacts/FeeCollector.json");

/// A chain, its contract and its server.
pub(super) struct World {
    /// The chain, from the inside.
    pub(super) chain: Chain,
    /// The fee collector.
    pub(super) contract: Address,
    /// The vault that pays fees out.
    pub(super) treasury: Arc<Treasury>,
    server: ServerHandle,
}

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

impl World {
    /// Starts the chain, puts the contract on it, and serves it.
    pub(super) async fn start(options: &DemoOptions) -> Result<Self, Failure> {
        let chain = Chain::new(ChainOptions { mining: Mining::Manual, ..ChainOptions::default() });
        let mut accounts = accounts(&chain)?;
        let deployer = accounts.swap_remove(0);
        let artifact: Artifact = serde_json::from_str(FEE_COLLECTOR).map_err(devnet_failed)?;
        let owner = deployer.address().into_word();
        let init_code: Bytes = [artifact.bytecode.as_ref(), owner.as_slice()].concat().into();
        let contract = chain.deploy(&deployer, init_code).map_err(devnet_failed)?;
        chain.mine();
        let payer = accounts.pop().ok_or_else(|| devnet_failed("the devnet has one account only"))?;
        let treasury = Arc::new(Treasury::found(&chain, &deployer, payer)?);
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port));
        let server =
            Server::start(Arc::new(chain.clone()), ServerOptions { addr, ..ServerOptions::default() })
                .await
                .map_err(|error| {
                    Failure::coded(Code::ListenFailed, error).hint("give another --port, or 0")
                })?;
        Ok(Self { chain, contract, treasury, server })
    }

    /// Where any client finds the chain.
    pub(super) fn http_url(&self) -> String {
        self.server.http_url()
    }

    /// The same, for subscriptions.
    pub(super) fn ws_url(&self) -> String {
        self.server.ws_url()
    }

    /// The events the demo is about, as the chain knows them from the inside.
    pub(super) fn fee_logs(&self) -> Vec<alloy_rpc_types_eth::Log> {
        self.chain.canonical_logs(&LogFilter::all().address(self.contract).topic([FEES_COLLECTED_TOPIC]))
    }

    /// What the vault has paid, as the chain knows it from the inside.
    pub(super) fn payout_logs(&self) -> Vec<alloy_rpc_types_eth::Log> {
        let vault = self.treasury.vault.address;
        self.chain.canonical_logs(&LogFilter::all().address(vault).topic([event::topics()[0]]))
    }

    /// Stops serving.
    pub(super) async fn stop(self) {
        self.server.stop().await;
    }
}

/// The chain's accounts, which there are.
pub(super) fn accounts(chain: &Chain) -> Result<Vec<DevAccount>, Failure> {
    let accounts = chain.accounts();
    if accounts.is_empty() { Err(devnet_failed("the devnet has no accounts")) } else { Ok(accounts) }
}

/// The devnet is ours: that it fails is unexpected.
pub(super) fn devnet_failed(error: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::DevnetFailed, error).hint("this is a fault of windlass; please report it")
}
