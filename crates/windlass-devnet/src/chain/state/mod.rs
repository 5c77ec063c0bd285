//! The world state: every account and slot at every height of the canonical chain.
//!
//! A block is executed on an [`Overlay`] over a [`View`] of its parent; what
//! changed comes back as [`Changes`] and is recorded under the block's number.
//! Memory grows with what blocks change, not with how many blocks there are.
//!
//! Storage is never wiped: since Cancun only a contract created in the same
//! transaction can vanish, and such a contract has no earlier storage.

mod overlay;
mod versions;
mod view;

use alloy_primitives::map::{AddressMap, B256Map, HashMap};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use revm::bytecode::Bytecode;

pub(crate) use overlay::Overlay;
use versions::Versions;
pub(crate) use view::{Source, View};

/// What the state holds about one account, its storage apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AccountState {
    pub(crate) balance: U256,
    pub(crate) nonce: u64,
    pub(crate) code_hash: B256,
}

impl AccountState {
    /// An account that owns `balance` and nothing else.
    pub(crate) fn funded(balance: U256) -> Self {
        Self { balance, nonce: 0, code_hash: KECCAK256_EMPTY }
    }
}

/// What one block writes: the values after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    pub(crate) accounts: AddressMap<Option<AccountState>>,
    pub(crate) slots: HashMap<(Address, U256), U256>,
    pub(crate) codes: B256Map<Bytecode>,
}

/// Which keys one block wrote, so that they can be found again to be undone.
#[derive(Debug, Default)]
struct Touched {
    accounts: Vec<Address>,
    slots: Vec<(Address, U256)>,
}

/// The state at every height from genesis to the head.
#[derive(Debug, Default)]
pub(crate) struct World {
    accounts: AddressMap<Versions<Option<AccountState>>>,
    slots: HashMap<(Address, U256), Versions<U256>>,
    /// Code is content-addressed: a reorg may leave some behind, which does no harm.
    codes: B256Map<Bytecode>,
    touched: Vec<Touched>,
}

impl World {
    /// Records what the next block changed; the first call records genesis.
    pub(crate) fn push(&mut self, changes: Changes) {
        let block = self.touched.len() as u64;
        let mut touched = Touched::default();
        for (address, account) in changes.accounts {
            if self.account(block, address) != account {
                self.accounts.entry(address).or_default().set(block, account);
                touched.accounts.push(address);
            }
        }
        for (key, value) in changes.slots {
            if self.slot(block, key.0, key.1) != value {
                self.slots.entry(key).or_default().set(block, value);
                touched.slots.push(key);
            }
        }
        self.codes.extend(changes.codes);
        self.touched.push(touched);
    }

    /// Goes back to the state after `block`.
    pub(crate) fn rewind(&mut self, block: u64) {
        for touched in self.touched.drain(block as usize + 1..) {
            for address in touched.accounts {
                if self.accounts.get_mut(&address).is_some_and(|versions| versions.rewind(block)) {
                    self.accounts.remove(&address);
                }
            }
            for key in touched.slots {
                if self.slots.get_mut(&key).is_some_and(|versions| versions.rewind(block)) {
                    self.slots.remove(&key);
                }
            }
        }
    }

    /// The account after `block`.
    pub(crate) fn account(&self, block: u64, address: Address) -> Option<AccountState> {
        self.accounts.get(&address).and_then(|versions| versions.at(block).copied()).flatten()
    }

    /// The slot after `block`.
    pub(crate) fn slot(&self, block: u64, address: Address, key: U256) -> U256 {
        self.slots.get(&(address, key)).and_then(|versions| versions.at(block).copied()).unwrap_or_default()
    }

    /// Code by its hash; empty when there is none.
    pub(crate) fn code(&self, hash: B256) -> Bytecode {
        self.codes.get(&hash).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance_change(address: Address, wei: u64) -> Changes {
        let mut changes = Changes::default();
        changes.accounts.insert(address, Some(AccountState::funded(U256::from(wei))));
        changes
    }

    #[test]
    fn a_rewind_restores_every_height_below_it() {
        let who = Address::repeat_byte(1);
        let mut world = World::default();
        world.push(balance_change(who, 10));
        world.push(Changes::default());
        let mut third = balance_change(who, 30);
        third.slots.insert((who, U256::ONE), U256::from(7));
        world.push(third);
        assert_eq!(world.account(2, who), Some(AccountState::funded(U256::from(30))));
        assert_eq!(world.slot(2, who, U256::ONE), U256::from(7));
        assert_eq!(world.account(1, who), Some(AccountState::funded(U256::from(10))));

        world.rewind(1);
        assert_eq!(world.account(9, who), Some(AccountState::funded(U256::from(10))));
        assert_eq!(world.slot(9, who, U256::ONE), U256::ZERO);
        assert!(world.slots.is_empty(), "a slot born above the fork leaves nothing behind");
    }

    #[test]
    fn a_write_of_the_same_value_costs_no_version() {
        let who = Address::repeat_byte(1);
        let mut world = World::default();
        world.push(balance_change(who, 10));
        world.push(balance_change(who, 10));
        assert!(world.touched[1].accounts.is_empty());
    }
}
