//! `eth_getLogs`, with geth's ranges and refusals.

use alloy_eips::BlockNumberOrTag;
use alloy_rpc_types_eth::Log;

use super::params::Params;
use super::{Answer, ok};
use crate::chain::block::Block;
use crate::chain::machine::Machine;
use crate::chain::options::FutureRange;
use crate::filter::{FilterBlooms, LogFilter, MAX_FILTER_ALTERNATIVES, MAX_TOPICS};
use crate::node::RpcError;

pub(super) fn get(machine: &Machine, params: &Params<'_>) -> Answer {
    let filter: LogFilter = params.get(0)?;
    check_size(&filter)?;
    let blooms = filter.blooms();
    let mut found = Vec::new();
    if let Some(hash) = filter.block_hash {
        if filter.from_block.is_some() || filter.to_block.is_some() {
            return Err(invalid(
                "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
            ));
        }
        let block = machine.ledger.by_hash(hash).ok_or_else(|| RpcError::server("unknown block"))?;
        collect(block, &filter, &blooms, &mut found);
    } else {
        let (from, to) = range(machine, &filter)?;
        for block in machine.ledger.range(from, to) {
            collect(block, &filter, &blooms, &mut found);
        }
    }
    ok(&found)
}

fn collect(block: &Block, filter: &LogFilter, blooms: &FilterBlooms, found: &mut Vec<Log>) {
    if !blooms.may_match(&block.header.logs_bloom) {
        return;
    }
    for index in 0..block.outcomes.len() {
        let wanted = block.raw_logs(index).filter(|(_, raw)| filter.matches(raw));
        found.extend(wanted.map(|(log_index, raw)| block.place(index, log_index, raw)));
    }
}

/// The range's two ends. A range that is only inverted once its tags are
/// resolved is empty, one that was asked for in numbers is an error.
fn range(machine: &Machine, filter: &LogFilter) -> Result<(u64, u64), RpcError> {
    let (from, to) = (filter.from_block.unwrap_or_default(), filter.to_block.unwrap_or_default());
    if from == BlockNumberOrTag::Pending || to == BlockNumberOrTag::Pending {
        return Err(RpcError::server("pending logs are not supported"));
    }
    if let (BlockNumberOrTag::Number(from), BlockNumberOrTag::Number(to)) = (from, to)
        && from > to
    {
        return Err(invalid("invalid block range params"));
    }
    let (from, to) = (machine.number_of(from), machine.number_of(to));
    if to > machine.ledger.head().number() && machine.options.future_range == FutureRange::Refuse {
        return Err(invalid("block range extends beyond current head block"));
    }
    Ok((from, to))
}

fn check_size(filter: &LogFilter) -> Result<(), RpcError> {
    if filter.topics.len() > MAX_TOPICS {
        return Err(invalid("exceed max topics"));
    }
    let widest = filter.topics.iter().map(Vec::len).chain([filter.address.len()]).max().unwrap_or_default();
    if widest > MAX_FILTER_ALTERNATIVES {
        return Err(invalid("exceed max addresses or topics per search position"));
    }
    Ok(())
}

fn invalid(words: &str) -> RpcError {
    RpcError::new(-32602, words)
}
