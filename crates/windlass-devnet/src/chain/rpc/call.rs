//! `eth_call`: running a request on a scratch copy of a state.

use alloy_primitives::Bytes;
use alloy_rpc_types_eth::TransactionRequest;
use revm::context::result::ExecutionResult;

use super::failure::{halted, reverted};
use super::params::Params;
use super::scene::Scene;
use super::{Answer, ok};
use crate::chain::Chain;
use crate::node::RpcError;

pub(super) fn call(chain: &Chain, params: &Params<'_>) -> Answer {
    let request: TransactionRequest = params.get(0)?;
    if params.opt::<serde_json::Map<_, _>>(2)?.is_some_and(|overrides| !overrides.is_empty()) {
        return Err(RpcError::invalid_params("state overrides are not supported"));
    }
    let returned = Scene::with(chain, params.block_id(1)?, |scene| {
        let gas = request.gas.unwrap_or(scene.gas_cap).min(scene.gas_cap);
        let tx = scene.env(&request, gas)?;
        output(scene.run(tx.clone()).map_err(|refusal| scene.refused(&refusal, &tx))?)
    });
    ok(&returned?)
}

/// What a call returned, or why it failed.
fn output(result: ExecutionResult) -> Result<Bytes, RpcError> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { output, .. } => Err(reverted(&output)),
        ExecutionResult::Halt { reason, .. } => Err(halted(&reason)),
    }
}
