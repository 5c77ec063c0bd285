//! How much history an endpoint keeps: blocks for collecting, state for calls.

use windlass_chain::evm::RpcError;
use windlass_core::chain::Address;
use windlass_core::reader::BlockTag;

use super::chain::Probe;
use super::report::Finding;
use crate::collect::retry::retrying;

/// Depths at which state is asked for, when that of the first block is gone.
const DEPTHS: [u64; 4] = [1_000_000, 100_000, 10_000, 128];

/// Looks how far back blocks and state go.
pub(super) async fn examine(probe: &Probe, head: u64) -> Finding {
    match retrying(|| probe.rpc.header(BlockTag::Number(head.min(1)))).await {
        Ok(Some(_)) => {}
        Ok(None) => {
            return probe.warning(
                "does not have the first blocks",
                "history cannot be collected from a pruned node; name another endpoint as well",
            );
        }
        Err(error) => return probe.failed_for("its first blocks", error),
    }
    state(probe, head).await.unwrap_or_else(|error| probe.failed_for("the state of old blocks", error))
}

/// How far back state goes.
async fn state(probe: &Probe, head: u64) -> Result<Finding, RpcError> {
    if has_state(probe, 0).await? {
        return Ok(probe.ok("keeps all blocks and all state (archive)"));
    }
    for depth in DEPTHS.into_iter().filter(|depth| *depth < head) {
        if has_state(probe, head - depth).await? {
            return Ok(probe.ok(format_args!("keeps all blocks, and state for {depth} blocks at least")));
        }
    }
    Ok(probe.ok("keeps all blocks, and state for fewer than 128"))
}

/// Whether the endpoint has it. One that cannot be asked says nothing about that.
async fn has_state(probe: &Probe, block: u64) -> Result<bool, RpcError> {
    match probe.rpc.balance(Address::ZERO, BlockTag::Number(block)).await {
        Ok(_) => Ok(true),
        Err(RpcError::Refused { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
