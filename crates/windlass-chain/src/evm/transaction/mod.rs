//! Calls, sending and following transactions.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `call` | a call as a parameter |
//! | `revert` | the shapes in which nodes tell a revert |
//! | `send` | what nodes say to a transaction, as a table |
//! | `receipt` | one transaction's receipt, read strictly |
//! | `fees` | what gas costs |
//! | `port` | an endpoint behind the core's port |

mod call;
mod fees;
mod port;
mod receipt;
mod revert;
mod send;

use alloy_primitives::{Address, B256, Bytes, keccak256};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionReceipt,
};
use windlass_core::reader::BlockTag;

use super::client::{EvmRpc, NO_PARAMS};
use super::error::RpcError;
use super::header::TagParam;
use super::hex::Hex;
use call::{CallParam, NonceParam};
use fees::{BaseFee, FeeHistory};
use revert::Revert;

impl EvmRpc {
    /// How a call would end at a block.
    pub async fn call_contract(&self, call: &Call, at: BlockTag) -> Result<CallOutcome, RpcError> {
        let params = (CallParam::from(call), TagParam(at));
        let answer = self.call_or::<Hex<Vec<u8>>, _>("eth_call", params, revert::read).await?;
        Ok(match answer {
            Ok(Hex(returned)) => CallOutcome::Returned(returned.into()),
            Err(Revert { data, message }) => CallOutcome::Reverted { data, message },
        })
    }

    /// How much gas a call would take now.
    pub async fn estimate_gas(&self, call: &Call) -> Result<GasEstimate, RpcError> {
        let params = (CallParam::from(call),);
        let answer = self.call_or::<Hex<u64>, _>("eth_estimateGas", params, revert::read).await?;
        Ok(match answer {
            Ok(Hex(gas)) => GasEstimate::Gas(gas),
            Err(Revert { data, message }) => GasEstimate::Reverted { data, message },
        })
    }

    /// Hands signed bytes over. An error says that there is no answer to be understood.
    pub async fn send_transaction(&self, raw: &Bytes) -> Result<SendAnswer, RpcError> {
        let method = "eth_sendRawTransaction";
        match self.call_or::<Hex<[u8; 32]>, _>(method, (raw,), |_, words| send::read(words)).await {
            Ok(Ok(Hex(hash))) if keccak256(raw) == hash => Ok(SendAnswer::Accepted),
            Ok(Ok(_)) => Err(self.malformed(method, &"it is another transaction's hash")),
            Ok(Err(answer)) => Ok(answer),
            Err(RpcError::Refused { message, .. }) => Ok(SendAnswer::Refused(message)),
            Err(error) => Err(error),
        }
    }

    /// A transaction's outcome; `None` when the node has none.
    pub async fn transaction_receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, RpcError> {
        let method = "eth_getTransactionReceipt";
        let Some(found) = self.call::<receipt::Wire>(method, (hash,)).await? else { return Ok(None) };
        found.read(hash).map_err(|reason| self.malformed(method, &reason))
    }

    /// How many transactions an account has sent.
    pub async fn nonce(&self, account: Address, at: NonceTag) -> Result<u64, RpcError> {
        let Hex(count) = self.required("eth_getTransactionCount", (account, NonceParam(at))).await?;
        Ok(count)
    }

    /// What gas costs now. What a node does not offer is found out in another way.
    pub async fn gas_fees(&self) -> Result<GasFees, RpcError> {
        let history = offered(self.call::<FeeHistory>("eth_feeHistory", fees::HISTORY).await)?;
        let base_fee = match history.as_ref().and_then(FeeHistory::base_fee) {
            Some(base_fee) => base_fee,
            None => self.base_fee().await?,
        };
        let tip = match history.as_ref().and_then(FeeHistory::tip) {
            Some(tip) => tip,
            None => self.tip(base_fee).await?,
        };
        Ok(GasFees::for_base_fee(base_fee, tip.max(fees::LEAST_TIP)))
    }

    /// The newest block's base fee; 0 on a chain that has none.
    async fn base_fee(&self) -> Result<u128, RpcError> {
        let params = (TagParam(BlockTag::Latest), false);
        let block: BaseFee = self.required("eth_getBlockByNumber", params).await?;
        Ok(block.base_fee_per_gas.map_or(0, |Hex(fee)| fee))
    }

    /// The tip that the node proposes, or what its price leaves beyond the base fee.
    async fn tip(&self, base_fee: u128) -> Result<u128, RpcError> {
        if let Some(Hex(tip)) = offered(self.call("eth_maxPriorityFeePerGas", NO_PARAMS).await)? {
            return Ok(tip);
        }
        let Hex(price) = self.required::<Hex<u128>>("eth_gasPrice", NO_PARAMS).await?;
        Ok(price.saturating_sub(base_fee))
    }
}

/// What a node refuses it does not offer.
fn offered<T>(answer: Result<Option<T>, RpcError>) -> Result<Option<T>, RpcError> {
    match answer {
        Err(RpcError::Refused { .. }) => Ok(None),
        answer => answer,
    }
}
