//! Whether an endpoint knows which blocks are final.

use windlass_chain::evm::RpcError;
use windlass_core::reader::BlockTag;

use super::chain::Probe;
use super::report::Finding;
use crate::collect::retry::retrying;
use crate::config::chain::Finality;
use crate::failure::Failure;

/// Looks for the block that the endpoint calls final; nothing is to be looked for where a depth decides.
pub(super) async fn examine(probe: &Probe, finality: Finality, head: u64) -> Option<Finding> {
    let (tag, name) = match finality {
        Finality::Finalized => (BlockTag::Finalized, "finalized"),
        Finality::Safe => (BlockTag::Safe, "safe"),
        Finality::Depth(_) => return None,
    };
    Some(match retrying(|| probe.rpc.header(tag)).await {
        Ok(Some(found)) => {
            let behind = head.saturating_sub(found.block.number);
            probe.ok(format_args!("its {name} block is {}, {behind} behind the head", found.block.number))
        }
        Ok(None) => probe.warning(
            format_args!("has no {name} block"),
            "nothing is final until it has one; a depth in `finality` does without",
        ),
        // An endpoint in trouble says nothing about the tag.
        Err(error) if !matches!(error, RpcError::Refused { .. }) => {
            probe.failed_for(&format!("its {name} block"), error)
        }
        Err(error) => {
            let failure = Failure::from(error);
            let message = format!("does not know the tag `{name}`: {}", failure.message);
            probe.failure(
                Failure { message, ..failure }.hint("set `finality` to a depth in blocks, such as 64"),
            )
        }
    })
}
