//! The state as it was after one block.

use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;

use super::{AccountState, World};
use crate::chain::ledger::Ledger;

/// The world after `block`, with the canonical hashes up to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) world: &'a World,
    pub(crate) ledger: &'a Ledger,
    pub(crate) block: u64,
}

/// Where a state is read from.
pub(crate) trait Source {
    /// The account, if there is one.
    fn account(&self, address: Address) -> Option<AccountState>;

    /// A storage slot; zero if it was never written.
    fn slot(&self, address: Address, key: U256) -> U256;

    /// Code by its hash; empty when there is none.
    fn code(&self, hash: B256) -> Bytecode;

    /// The hash of a canonical block, as the BLOCKHASH opcode asks for it.
    fn block_hash(&self, number: u64) -> B256;
}

impl View<'_> {
    /// The next nonce of the account.
    pub(crate) fn nonce(&self, address: Address) -> u64 {
        self.account(address).map_or(0, |account| account.nonce)
    }

    /// The balance of the account.
    pub(crate) fn balance(&self, address: Address) -> U256 {
        self.account(address).map_or(U256::ZERO, |account| account.balance)
    }
}

impl Source for View<'_> {
    fn account(&self, address: Address) -> Option<AccountState> {
        self.world.account(self.block, address)
    }

    fn slot(&self, address: Address, key: U256) -> U256 {
        self.world.slot(self.block, address, key)
    }

    fn code(&self, hash: B256) -> Bytecode {
        self.world.code(hash)
    }

    fn block_hash(&self, number: u64) -> B256 {
        self.ledger.block(number).map_or(B256::ZERO, |block| block.hash())
    }
}
