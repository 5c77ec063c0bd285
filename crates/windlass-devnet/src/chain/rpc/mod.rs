//! The chain's JSON-RPC methods, one file per noun.
//!
//! Reads take the machine under the read lock, except those that run contracts:
//! they work on a snapshot. What changes the chain goes through [`Chain`]'s own
//! methods, so that RPC and embedding behave the same.

mod account;
mod block;
mod call;
mod dev;
mod estimate;
mod failure;
mod fee;
mod log;
mod net;
mod params;
mod receipt;
mod scene;
mod state;
mod transaction;

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use super::Chain;
use crate::node::{Announcement, Node, RpcError};
use params::Params;

pub(super) use estimate::{creation, estimate};
pub(super) use fee::SUGGESTED_TIP_WEI;
pub(super) use receipt::receipt_of;

/// The serialised result of a call, or its error.
type Answer = Result<Bytes, RpcError>;

impl Node for Chain {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Answer {
        let params = Params::new(params)?;
        self.change(method, &params)
            .or_else(|| self.execute(method, &params))
            .or_else(|| self.ask(method, &params))
            .unwrap_or_else(|| Err(RpcError::method_not_found(method)))
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.shared.announcements.subscribe()
    }
}

impl Chain {
    /// The methods that change the chain.
    fn change(&self, method: &str, params: &Params<'_>) -> Option<Answer> {
        Some(match method {
            "eth_sendRawTransaction" => transaction::send_raw(self, params),
            "windlass_mine" => dev::mine(self, params),
            "windlass_reorg" => dev::reorg(self, params),
            "windlass_setMining" => dev::set_mining(self, params),
            "windlass_dropTransaction" => dev::drop_transaction(self, params),
            _ => return None,
        })
    }

    /// The methods that run contracts and change nothing.
    fn execute(&self, method: &str, params: &Params<'_>) -> Option<Answer> {
        Some(match method {
            "eth_call" => call::call(self, params),
            "eth_estimateGas" => estimate::estimate_gas(self, params),
            _ => return None,
        })
    }

    /// The methods that only read.
    fn ask(&self, method: &str, params: &Params<'_>) -> Option<Answer> {
        let machine = self.read();
        Some(match method {
            "eth_chainId" => net::chain_id(&machine),
            "net_version" => net::version(&machine),
            "web3_clientVersion" => net::client_version(),
            "eth_syncing" => net::syncing(),
            "eth_accounts" => account::accounts(&machine),
            "eth_getBalance" => account::balance(&machine, params),
            "eth_getCode" => account::code(&machine, params),
            "eth_getStorageAt" => account::storage(&machine, params),
            "eth_getTransactionCount" => account::transaction_count(&machine, params),
            "eth_blockNumber" => block::number(&machine),
            "eth_getBlockByNumber" => block::by_number(&machine, params),
            "eth_getBlockByHash" => block::by_hash(&machine, params),
            "eth_getBlockReceipts" => receipt::of_block(&machine, params),
            "eth_getTransactionReceipt" => receipt::of_transaction(&machine, params),
            "eth_getTransactionByHash" => transaction::by_hash(&machine, params),
            "eth_getLogs" => log::get(&machine, params),
            "eth_gasPrice" => fee::gas_price(&machine),
            "eth_maxPriorityFeePerGas" => fee::max_priority(),
            "eth_feeHistory" => fee::history(&machine, params),
            _ => return None,
        })
    }
}

/// The serialised result.
fn ok<T: Serialize + ?Sized>(value: &T) -> Answer {
    Ok(to_bytes(value))
}

/// A result that is not there.
fn null() -> Answer {
    Ok(Bytes::from_static(b"null"))
}

/// Values of this crate and of the RPC types have string keys only, so writing them cannot fail.
pub(super) fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Bytes {
    serde_json::to_vec(value).expect("RPC values serialise").into()
}
