//! Methods of this chain alone: making blocks, reorgs and losses on demand.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{B256, U64};
use serde::Deserialize;
use serde_json::json;

use super::params::{Count, Params};
use super::{Answer, ok};
use crate::chain::{Block, Chain, MAX_BLOCKS_PER_CALL, Mining, ReorgError, ReorgOptions};
use crate::node::RpcError;

/// `windlass_mine(count = 1)`: the head's number afterwards.
pub(super) fn mine(chain: &Chain, params: &Params<'_>) -> Answer {
    let count = params.opt::<Count>(0)?.map_or(1, Count::get);
    if count > MAX_BLOCKS_PER_CALL {
        return Err(RpcError::invalid_params(format_args!("at most {MAX_BLOCKS_PER_CALL} blocks at a time")));
    }
    chain.mine_many(count);
    ok(&U64::from(chain.head().number()))
}

/// `windlass_reorg(depth, options = {})`: what was dropped and added.
pub(super) fn reorg(chain: &Chain, params: &Params<'_>) -> Answer {
    let options: ReorgOptions = params.opt(1)?.unwrap_or_default();
    let reorg = chain
        .reorg(params.get::<Count>(0)?.get(), &options)
        .map_err(|error| RpcError::server(with_source(&error)))?;
    let hashes = |blocks: &[Arc<Block>]| -> Vec<B256> { blocks.iter().map(|block| block.hash()).collect() };
    ok(&json!({
        "dropped": hashes(&reorg.dropped),
        "added": hashes(&reorg.added),
        "returned": reorg.returned,
        "vanished": reorg.vanished,
    }))
}

fn with_source(error: &ReorgError) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// How blocks are made, as the caller writes it: `"auto"`, `"manual"` or `{"intervalMs": 1000}`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Mode {
    Auto,
    Manual,
    IntervalMs(u64),
}

/// `windlass_setMining(mode)`.
pub(super) fn set_mining(chain: &Chain, params: &Params<'_>) -> Answer {
    chain.set_mining(match params.get(0)? {
        Mode::IntervalMs(0) => {
            return Err(RpcError::invalid_params("intervalMs must be at least 1"));
        }
        Mode::Auto => Mining::Auto,
        Mode::Manual => Mining::Manual,
        Mode::IntervalMs(ms) => Mining::Interval(Duration::from_millis(ms)),
    });
    ok(&true)
}

/// `windlass_dropTransaction(hash)`: whether it was in the pool.
pub(super) fn drop_transaction(chain: &Chain, params: &Params<'_>) -> Answer {
    ok(&chain.drop_transaction(params.get(0)?))
}
