//! Refuses an `eth_getLogs` that asks for more than a provider allows.
//!
//! Where a provider suggests a range, the range is computed from the true logs and
//! is served when asked for. One block is never too many.

use bytes::Bytes;
use serde_json::{Value, json, value::RawValue};

use super::{
    provider::{Counted, Excess, Provider},
    request::{self, Height},
};
use crate::node::{Node, RpcError};

/// The range of blocks that a filter asks for.
#[derive(Debug, Clone, Copy)]
struct Range {
    from: u64,
    to: u64,
}

/// The refusal, if the call goes beyond the limit. A call that the node itself
/// refuses is left to the node.
pub(super) fn refusal(
    node: &dyn Node,
    provider: Provider,
    limit: u64,
    params: Option<&RawValue>,
) -> Option<RpcError> {
    try_refusal(node, provider, limit, params).ok().flatten()
}

/// Whether the call asks for more blocks than this.
pub(super) fn is_beyond(node: &dyn Node, blocks: u64, params: Option<&RawValue>) -> bool {
    let filter = request::values(params).and_then(|list| list.into_iter().next());
    let range = filter.and_then(|filter| range(node, &filter).ok().flatten());
    range.is_some_and(|range| range.to - range.from >= blocks)
}

fn try_refusal(
    node: &dyn Node,
    provider: Provider,
    limit: u64,
    params: Option<&RawValue>,
) -> Result<Option<RpcError>, RpcError> {
    let Some(filter) = request::values(params).and_then(|list| list.into_iter().next()) else {
        return Ok(None);
    };
    let Some(range) = range(node, &filter)? else { return Ok(None) };
    let works_to = match provider.counts() {
        Counted::Blocks => range.from.saturating_add(limit - 1),
        Counted::Distance => range.from.saturating_add(limit),
        Counted::Results => last_that_fits(node, &filter, range, provider, limit)?,
    };
    if works_to >= range.to {
        return Ok(None);
    }
    let excess = Excess { limit, from: range.from, to: range.to, works_to };
    Ok(Some(provider.refusal(excess)))
}

/// What the filter asks for; nothing if by hash, or for the node itself to refuse.
fn range(node: &dyn Node, filter: &Value) -> Result<Option<Range>, RpcError> {
    if filter.get("blockHash").is_some_and(|hash| !hash.is_null()) {
        return Ok(None);
    }
    let ends = Height::read(filter.get("fromBlock")).zip(Height::read(filter.get("toBlock")));
    let Some((from, to)) = ends else { return Ok(None) };
    let head = request::head(node)?;
    let range = Range { from: from.resolve(node, head, 0)?, to: to.resolve(node, head, 0)? };
    Ok((range.from <= range.to).then_some(range))
}

/// The last block up to which the results stay within the limit.
fn last_that_fits(
    node: &dyn Node,
    filter: &Value,
    range: Range,
    provider: Provider,
    limit: u64,
) -> Result<u64, RpcError> {
    let exempt_to = range.from.saturating_add(provider.exempt_blocks(limit) - 1);
    if exempt_to >= range.to {
        return Ok(range.to);
    }
    let answer = logs(node, filter)?;
    let blocks = request::blocks_of_logs(&answer)?;
    let first_beyond = usize::try_from(limit).ok().and_then(|limit| blocks.get(limit));
    Ok(first_beyond.map_or(range.to, |block| block.saturating_sub(1).max(exempt_to)))
}

fn logs(node: &dyn Node, filter: &Value) -> Result<Bytes, RpcError> {
    request::ask(node, "eth_getLogs", &json!([filter]))
}
