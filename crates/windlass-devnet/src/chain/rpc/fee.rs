//! What gas costs.

use std::sync::Arc;

use alloy_consensus::Transaction;
use alloy_eips::BlockNumberOrTag;
use alloy_eips::eip1559::BaseFeeParams;
use alloy_primitives::U256;
use alloy_rpc_types_eth::FeeHistory;

use super::params::{Count, Params};
use super::{Answer, ok};
use crate::chain::block::Block;
use crate::chain::machine::Machine;
use crate::node::RpcError;

/// The tip this chain suggests: there is no market to learn one from.
pub(crate) const SUGGESTED_TIP_WEI: u128 = 1_000_000_000;

/// The most blocks of one fee history (geth's limit).
const MAX_FEE_HISTORY_BLOCKS: u64 = 1_024;

/// The most percentiles of one fee history (geth's limit).
const MAX_REWARD_PERCENTILES: usize = 100;

pub(super) fn max_priority() -> Answer {
    ok(&U256::from(SUGGESTED_TIP_WEI))
}

pub(super) fn gas_price(machine: &Machine) -> Answer {
    ok(&U256::from(SUGGESTED_TIP_WEI + u128::from(machine.ledger.head().base_fee())))
}

pub(super) fn history(machine: &Machine, params: &Params<'_>) -> Answer {
    let count = params.get::<Count>(0)?.get();
    let newest = machine.number_of(params.get::<BlockNumberOrTag>(1)?);
    let percentiles: Option<Vec<f64>> = params.opt(2)?;
    check_percentiles(percentiles.as_deref().unwrap_or_default())?;
    let head = machine.ledger.head().number();
    if newest > head {
        return Err(RpcError::server(format!("request beyond head block: requested {newest}, head {head}")));
    }
    let count = count.min(MAX_FEE_HISTORY_BLOCKS).min(newest + 1);
    if count == 0 {
        return ok(&FeeHistory::default());
    }
    ok(&fees_of(machine.ledger.range(newest + 1 - count, newest), percentiles))
}

fn check_percentiles(percentiles: &[f64]) -> Result<(), RpcError> {
    if percentiles.len() > MAX_REWARD_PERCENTILES {
        return Err(RpcError::server("invalid reward percentile: over the query limit 100"));
    }
    if let Some(wrong) = percentiles.iter().find(|p| !(0.0..=100.0).contains(*p)) {
        return Err(RpcError::server(format!("invalid reward percentile: {wrong}")));
    }
    if !percentiles.is_sorted() {
        return Err(RpcError::server("invalid reward percentile: not in ascending order"));
    }
    Ok(())
}

fn fees_of(blocks: &[Arc<Block>], percentiles: Option<Vec<f64>>) -> FeeHistory {
    let mut history = FeeHistory {
        oldest_block: blocks.first().map_or(0, |block| block.number()),
        reward: percentiles.as_ref().map(|_| Vec::new()),
        ..FeeHistory::default()
    };
    for block in blocks {
        history.base_fee_per_gas.push(block.base_fee().into());
        history.gas_used_ratio.push(block.header.gas_used as f64 / block.header.gas_limit as f64);
        history.base_fee_per_blob_gas.push(1);
        history.blob_gas_used_ratio.push(0.0);
        if let (Some(rewards), Some(percentiles)) = (&mut history.reward, &percentiles) {
            rewards.push(rewards_of(block, percentiles));
        }
    }
    let next = blocks.last().and_then(|last| last.header.next_block_base_fee(BaseFeeParams::ethereum()));
    history.base_fee_per_gas.push(next.unwrap_or_default().into());
    history.base_fee_per_blob_gas.push(1);
    history
}

/// The tips at each percentile of the block's gas, cheapest first.
fn rewards_of(block: &Block, percentiles: &[f64]) -> Vec<u128> {
    let base_fee = block.base_fee();
    let mut tips: Vec<(u128, u64)> = block
        .transactions
        .iter()
        .zip(&block.outcomes)
        .map(|(tx, outcome)| {
            (tx.signed().effective_tip_per_gas(base_fee).unwrap_or_default(), outcome.gas_used)
        })
        .collect();
    tips.sort_unstable();
    let at = |percentile: &f64| {
        let threshold = (block.header.gas_used as f64 * percentile / 100.0) as u64;
        let mut sum = 0;
        let reached = tips.iter().find(|(_, gas)| {
            sum += gas;
            sum >= threshold
        });
        reached.or(tips.last()).map_or(0, |(tip, _)| *tip)
    };
    percentiles.iter().map(at).collect()
}
