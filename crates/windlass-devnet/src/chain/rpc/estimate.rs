//! `eth_estimateGas`: the least gas a request succeeds with, by bisection.

use alloy_eips::BlockId;
use alloy_primitives::{Address, Bytes, TxKind, U64, U256};
use alloy_rpc_types_eth::{TransactionInput, TransactionRequest};
use revm::context::TxEnv;
use revm::context::result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction};

use super::failure::{halted, reverted};
use super::params::Params;
use super::scene::Scene;
use super::{Answer, ok};
use crate::chain::Chain;
use crate::node::RpcError;

/// What a plain transfer uses.
const TRANSFER_GAS: u64 = 21_000;

/// What a call with value hands to the callee on top.
const CALL_STIPEND: u64 = 2_300;

pub(super) fn estimate_gas(chain: &Chain, params: &Params<'_>) -> Answer {
    ok(&U64::from(estimate_at(chain, &params.get(0)?, params.block_id(1)?)?))
}

/// The least gas a request succeeds with after the head.
pub(crate) fn estimate(chain: &Chain, request: &TransactionRequest) -> Result<u64, RpcError> {
    estimate_at(chain, request, BlockId::latest())
}

/// A request that creates a contract.
pub(crate) fn creation(from: Address, init_code: Bytes) -> TransactionRequest {
    TransactionRequest {
        from: Some(from),
        to: Some(TxKind::Create),
        input: TransactionInput::new(init_code),
        ..TransactionRequest::default()
    }
}

fn estimate_at(chain: &Chain, request: &TransactionRequest, id: BlockId) -> Result<u64, RpcError> {
    Scene::with(chain, id, |scene| {
        let named = request.gas.filter(|gas| *gas >= TRANSFER_GAS);
        let tx = scene.env(request, named.unwrap_or(scene.at.header.gas_limit).min(scene.gas_cap))?;
        Search { scene, ceiling: affordable(scene, &tx)?, tx }.least_gas()
    })
}

/// The ceiling, lowered to what the sender can pay for at the price it names.
fn affordable(scene: &Scene, tx: &TxEnv) -> Result<u64, RpcError> {
    if tx.gas_price == 0 {
        return Ok(tx.gas_limit);
    }
    let funds = scene.at.overlay().balance(tx.caller);
    let left =
        funds.checked_sub(tx.value).ok_or_else(|| RpcError::server("insufficient funds for transfer"))?;
    let allowance = left / U256::from(tx.gas_price);
    Ok(u64::try_from(allowance).unwrap_or(u64::MAX).min(tx.gas_limit))
}

struct Search<'a> {
    scene: &'a Scene,
    ceiling: u64,
    tx: TxEnv,
}

/// How a run with some gas ended.
enum Run {
    /// It succeeds and uses this much before the refund.
    Fits { spent: u64 },
    /// It ran out of gas, so more may help.
    TooLow,
    /// It fails for another reason.
    Fails(RpcError),
}

impl Search<'_> {
    fn least_gas(&self) -> Result<u64, RpcError> {
        if self.is_transfer() && matches!(self.run(TRANSFER_GAS), Run::Fits { .. }) {
            return Ok(TRANSFER_GAS);
        }
        let spent = match self.run(self.ceiling) {
            Run::Fits { spent } => spent,
            Run::TooLow => {
                return Err(RpcError::server(format!("gas required exceeds allowance ({})", self.ceiling)));
            }
            Run::Fails(error) => return Err(error),
        };
        // Less than what was spent can never do; a little more than that usually does.
        let (mut low, mut high) = (spent.saturating_sub(1), self.ceiling);
        let guess = (spent + CALL_STIPEND) * 64 / 63;
        if guess < high {
            (low, high) = self.narrow(low, high, guess);
        }
        while low + 1 < high {
            (low, high) = self.narrow(low, high, low + (high - low) / 2);
        }
        Ok(high)
    }

    /// A contract may fail in other ways than by gas when it sees too little, so any failure counts.
    fn narrow(&self, low: u64, high: u64, gas: u64) -> (u64, u64) {
        match self.run(gas) {
            Run::Fits { .. } => (low, gas),
            Run::TooLow | Run::Fails(_) => (gas, high),
        }
    }

    fn is_transfer(&self) -> bool {
        let TxKind::Call(to) = self.tx.kind else { return false };
        self.tx.data.is_empty() && self.scene.at.overlay().code(to).is_empty()
    }

    fn run(&self, gas: u64) -> Run {
        let tx = TxEnv { gas_limit: gas, ..self.tx.clone() };
        match self.scene.run(tx) {
            Ok(ExecutionResult::Success { gas, .. }) => Run::Fits { spent: gas.total_gas_spent() },
            Ok(ExecutionResult::Revert { output, .. }) => Run::Fails(reverted(&output)),
            Ok(ExecutionResult::Halt { reason: HaltReason::OutOfGas(_), .. }) => Run::TooLow,
            Ok(ExecutionResult::Halt { reason, .. }) => Run::Fails(halted(&reason)),
            Err(EVMError::Transaction(
                InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
                | InvalidTransaction::GasFloorMoreThanGasLimit { .. },
            )) => Run::TooLow,
            Err(refusal) => Run::Fails(self.scene.refused(&refusal, &self.tx)),
        }
    }
}
