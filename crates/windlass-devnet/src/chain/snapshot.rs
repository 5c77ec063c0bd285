//! A state to execute on without keeping the chain waiting.
//!
//! The world keeps every height, so the state after a block only changes when a
//! reorg drops that block. A snapshot therefore holds no lock: each read takes
//! it for a moment, and whoever used the snapshot asks at the end whether the
//! block is still there.

use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;

use super::Chain;
use super::machine::Machine;
use super::state::{AccountState, Source};

/// The state after one block of the canonical chain.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    chain: Chain,
    block: u64,
    hash: B256,
}

impl Snapshot {
    /// The state after `block`, as `machine`, which is that of `chain`, has it.
    pub(crate) fn new(chain: &Chain, machine: &Machine, block: u64) -> Self {
        let hash = machine.view_at(block).block_hash(block);
        Self { chain: chain.clone(), block, hash }
    }

    /// Whether everything read so far was of one state: no reorg dropped the block.
    pub(crate) fn is_intact(&self) -> bool {
        self.block_hash(self.block) == self.hash
    }
}

impl Source for Snapshot {
    fn account(&self, address: Address) -> Option<AccountState> {
        self.chain.read().view_at(self.block).account(address)
    }

    fn slot(&self, address: Address, key: U256) -> U256 {
        self.chain.read().view_at(self.block).slot(address, key)
    }

    fn code(&self, hash: B256) -> Bytecode {
        self.chain.read().view_at(self.block).code(hash)
    }

    fn block_hash(&self, number: u64) -> B256 {
        self.chain.read().view_at(self.block).block_hash(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChainOptions, ReorgOptions};
    use super::*;

    /// With a lock held, the blocks could not be made: this would hang.
    #[test]
    fn the_chain_grows_under_a_snapshot_and_only_a_reorg_breaks_it() {
        let chain = Chain::new(ChainOptions::deterministic());
        chain.mine_many(3);
        let snapshot = Snapshot::new(&chain, &chain.read(), 2);
        let owner = chain.accounts()[0].address();
        let before = snapshot.account(owner);
        chain.mine_many(2);
        assert!(before.is_some());
        assert_eq!(snapshot.account(owner), before);
        chain.reorg(3, &ReorgOptions::default()).unwrap();
        assert!(snapshot.is_intact(), "block 2 is still there");
        chain.reorg(chain.head().number() - 1, &ReorgOptions::default()).unwrap();
        assert!(!snapshot.is_intact());
    }
}
