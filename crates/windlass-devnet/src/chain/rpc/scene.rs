//! Where requests are run: a state, and the rules for calls on it.
//!
//! Nothing here keeps the chain's lock while contracts run, so a request that uses
//! all its gas holds up neither blocks nor transactions.

use alloy_eips::BlockId;
use alloy_primitives::TxKind;
use alloy_rpc_types_eth::TransactionRequest;
use revm::context::TxEnv;
use revm::context::result::ExecutionResult;
use revm::context_interface::either::Either;

use super::failure::refused;
use super::state::At;
use crate::chain::Chain;
use crate::chain::evm::{Executor, Refusal, block_env, call_rules};
use crate::chain::snapshot::Snapshot;
use crate::node::RpcError;

/// How often a request is run at most, when reorgs keep taking its state away.
const MAX_RUNS: usize = 4;

/// A state to run requests on.
pub(super) struct Scene {
    pub(super) at: At<Snapshot>,
    /// The most gas a request may use.
    pub(super) gas_cap: u64,
    chain_id: u64,
}

impl Scene {
    /// Does something on a state; again on the new one if a reorg came between.
    pub(super) fn with<T>(
        chain: &Chain,
        id: BlockId,
        work: impl Fn(&Self) -> Result<T, RpcError>,
    ) -> Result<T, RpcError> {
        for _ in 0..MAX_RUNS {
            let scene = Self::new(chain, id)?;
            let outcome = work(&scene);
            if scene.at.source.is_intact() {
                return outcome;
            }
        }
        Err(RpcError::server("the chain was reorganised during the call"))
    }

    fn new(chain: &Chain, id: BlockId) -> Result<Self, RpcError> {
        let machine = chain.read();
        let at = At::apart(chain, &machine, id)?;
        let options = &machine.options;
        Ok(Self { at, gas_cap: options.call_gas_cap, chain_id: options.chain_id })
    }

    /// Runs a request once. A request that names no price is free: the base fee is
    /// zero for it, as in geth.
    pub(super) fn run(&self, tx: TxEnv) -> Result<ExecutionResult, Refusal> {
        let mut block = block_env(&self.at.header);
        if tx.gas_price == 0 {
            block.basefee = 0;
        }
        Executor::new(self.at.overlay(), call_rules(self.chain_id), block).execute(tx)
    }

    /// The words for a request that could not even begin.
    pub(super) fn refused(&self, refusal: &Refusal, tx: &TxEnv) -> RpcError {
        refused(refusal, tx, self.at.header.base_fee_per_gas.unwrap_or_default())
    }

    /// The request as the EVM takes it.
    pub(super) fn env(&self, request: &TransactionRequest, gas: u64) -> Result<TxEnv, RpcError> {
        let dynamic = request.max_fee_per_gas.is_some() || request.max_priority_fee_per_gas.is_some();
        if dynamic && request.gas_price.is_some() {
            return Err(RpcError::server(
                "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
            ));
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
            chain_id: Some(request.chain_id.unwrap_or(self.chain_id)),
            access_list: request.access_list.clone().unwrap_or_default(),
            gas_priority_fee: (tx_type >= 2).then(|| request.max_priority_fee_per_gas.unwrap_or_default()),
            blob_hashes: Vec::new(),
            max_fee_per_blob_gas: 0,
            authorization_list: authorizations.into_iter().map(Either::Left).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::super::{ChainOptions, ReorgOptions};
    use super::*;

    #[test]
    fn work_is_done_again_on_the_state_after_a_reorg() {
        let chain = Chain::new(ChainOptions::deterministic());
        chain.mine_many(2);
        let runs = Cell::new(0);
        let seen = Scene::with(&chain, BlockId::latest(), |scene| {
            if runs.replace(runs.get() + 1) == 0 {
                chain.reorg(1, &ReorgOptions::default()).unwrap();
            }
            Ok(scene.at.header.hash_slow())
        });
        assert_eq!((seen.unwrap(), runs.get()), (chain.head().hash(), 2));
    }

    #[test]
    fn reorgs_without_end_end_it() {
        let chain = Chain::new(ChainOptions::deterministic());
        chain.mine();
        let refused = Scene::with(&chain, BlockId::latest(), |_| {
            chain.reorg(1, &ReorgOptions::default()).unwrap();
            Ok(())
        });
        assert_eq!(refused.unwrap_err().message, "the chain was reorganised during the call");
    }
}
