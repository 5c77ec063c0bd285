//! `eth_call`: running a request on a scratch copy of a state.

use alloy_consensus::Header;
use alloy_primitives::{Bytes, TxKind};
use alloy_rpc_types_eth::TransactionRequest;
use revm::context::TxEnv;
use revm::context::result::ExecutionResult;
use revm::context_interface::either::Either;

use super::failure::{halted, refused, reverted};
use super::params::Params;
use super::state::At;
use super::{Answer, ok};
use crate::chain::evm::{Executor, Refusal, block_env, call_rules};
use crate::chain::machine::Machine;
use crate::node::RpcError;

/// The most gas a call may use (geth's default cap).
pub(super) const MAX_CALL_GAS: u64 = 50_000_000;

pub(super) fn call(machine: &Machine, params: &Params<'_>) -> Answer {
    let request: TransactionRequest = params.get(0)?;
    if params.opt::<serde_json::Map<_, _>>(2)?.is_some_and(|overrides| !overrides.is_empty()) {
        return Err(RpcError::invalid_params("state overrides are not supported"));
    }
    let at = At::new(machine, params.block_id(1)?)?;
    let gas = request.gas.unwrap_or(MAX_CALL_GAS).min(MAX_CALL_GAS);
    let tx = call_env(machine, &request, gas)?;
    let result =
        run(machine, &at, tx.clone()).map_err(|refusal| refused(&refusal, &tx, base_fee(&at.header)))?;
    ok(&output(result)?)
}

/// What a call returned, or why it failed.
fn output(result: ExecutionResult) -> Result<Bytes, RpcError> {
    match result {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { output, .. } => Err(reverted(&output)),
        ExecutionResult::Halt { reason, .. } => Err(halted(&reason)),
    }
}

/// Runs a request once. A request that names no price is free: the base fee is
/// zero for it, as in geth.
pub(super) fn run(machine: &Machine, at: &At<'_>, tx: TxEnv) -> Result<ExecutionResult, Refusal> {
    let mut block = block_env(&at.header);
    if tx.gas_price == 0 {
        block.basefee = 0;
    }
    Executor::new(at.overlay(), call_rules(machine.options.chain_id), block).execute(tx)
}

pub(super) fn base_fee(header: &Header) -> u64 {
    header.base_fee_per_gas.unwrap_or_default()
}

/// The request as the EVM takes it.
pub(super) fn call_env(machine: &Machine, request: &TransactionRequest, gas: u64) -> Result<TxEnv, RpcError> {
    let dynamic = request.max_fee_per_gas.is_some() || request.max_priority_fee_per_gas.is_some();
    if dynamic && request.gas_price.is_some() {
        return Err(RpcError::server("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"));
    }
    if request.blob_versioned_hashes.is_some() || request.max_fee_per_blob_gas.is_some() {
        return Err(RpcError::server("transaction type not supported"));
    }
    let input = request.input.clone().try_into_unique_input().map_err(|_| {
        RpcError::server(r#"both "data" and "input" are set and not equal. Please use "input" to pass transaction call data"#)
    })?;
    let authorizations = request.authorization_list.clone().unwrap_or_default();
    let tx_type = match (authorizations.is_empty(), dynamic, request.access_list.is_some()) {
        (false, _, _) => 4,
        (true, true, _) => 2,
        (true, false, true) => 1,
        (true, false, false) => 0,
    };
    Ok(TxEnv {
        tx_type,
        caller: request.from.unwrap_or_default(),
        gas_limit: gas,
        gas_price: request.gas_price.or(request.max_fee_per_gas).unwrap_or_default(),
        kind: request.to.unwrap_or(TxKind::Create),
        value: request.value.unwrap_or_default(),
        data: input.unwrap_or_default(),
        nonce: request.nonce.unwrap_or_default(),
        chain_id: Some(request.chain_id.unwrap_or(machine.options.chain_id)),
        access_list: request.access_list.clone().unwrap_or_default(),
        gas_priority_fee: (tx_type >= 2).then(|| request.max_priority_fee_per_gas.unwrap_or_default()),
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: authorizations.into_iter().map(Either::Left).collect(),
    })
}
