//! Which state a call is about.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::{BlockId, BlockNumberOrTag};

use crate::chain::block::Block;
use crate::chain::machine::{Fill, Machine};
use crate::chain::state::{Changes, Overlay, View};
use crate::node::RpcError;

/// A state to read or to call on, with the header contracts see.
pub(super) struct At<'a> {
    view: View<'a>,
    changes: Changes,
    pub(super) header: Header,
}

impl<'a> At<'a> {
    /// The state after a block; after the draft of the next one for `pending`.
    pub(super) fn new(machine: &'a Machine, id: BlockId) -> Result<Self, RpcError> {
        if id == BlockId::Number(BlockNumberOrTag::Pending) {
            let (block, changes) = machine.draft(Fill::FromPool);
            return Ok(Self { view: machine.view(), changes, header: block.header });
        }
        let block = canonical(machine, id)?;
        let view = machine.view_at(block.number());
        Ok(Self { view, changes: Changes::default(), header: block.header.clone() })
    }

    /// A scratch copy that the EVM may write to.
    pub(super) fn overlay(&self) -> Overlay<'a> {
        Overlay::with_changes(self.view, self.changes.clone())
    }
}

/// The canonical block an id stands for; an orphan has no state any more.
fn canonical(machine: &Machine, id: BlockId) -> Result<&Arc<Block>, RpcError> {
    match id {
        BlockId::Number(tag) => {
            machine.ledger.block(machine.number_of(tag)).ok_or_else(|| RpcError::server("header not found"))
        }
        BlockId::Hash(hash) => machine.ledger.canonical(hash.block_hash).ok_or_else(|| {
            let known = machine.ledger.by_hash(hash.block_hash).is_some();
            RpcError::server(if known {
                "hash is not currently canonical"
            } else {
                "header for hash not found"
            })
        }),
    }
}
