//! Which state a call is about.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::{BlockId, BlockNumberOrTag};

use crate::chain::Chain;
use crate::chain::block::Block;
use crate::chain::machine::{Fill, Machine};
use crate::chain::snapshot::Snapshot;
use crate::chain::state::{Changes, Overlay, Source, View};
use crate::node::RpcError;

/// A state to read or to call on, with the header contracts see.
pub(super) struct At<S> {
    pub(super) source: S,
    changes: Changes,
    pub(super) header: Header,
}

impl<'a> At<View<'a>> {
    /// The state after a block; after the draft of the next one for `pending`.
    pub(super) fn new(machine: &'a Machine, id: BlockId) -> Result<Self, RpcError> {
        if id == BlockId::Number(BlockNumberOrTag::Pending) {
            let (block, changes) = machine.draft(Fill::FromPool);
            return Ok(Self { source: machine.view(), changes, header: block.header });
        }
        let block = canonical(machine, id)?;
        let source = machine.view_at(block.number());
        Ok(Self { source, changes: Changes::default(), header: block.header.clone() })
    }
}

impl At<Snapshot> {
    /// The same state for work that takes long, without the lock.
    pub(super) fn apart(chain: &Chain, machine: &Machine, id: BlockId) -> Result<Self, RpcError> {
        let At { source: View { block, .. }, changes, header } = At::new(machine, id)?;
        Ok(Self { source: Snapshot::new(chain, machine, block), changes, header })
    }
}

impl<S: Source + Clone> At<S> {
    /// A scratch copy that the EVM may write to.
    pub(super) fn overlay(&self) -> Overlay<S> {
        Overlay::with_changes(self.source.clone(), self.changes.clone())
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
