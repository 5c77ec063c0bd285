//! What the transactions of one block have written so far, over its parent's state.

use std::convert::Infallible;

use alloy_primitives::map::AddressMap;
use alloy_primitives::{Address, B256, U256};
use revm::bytecode::Bytecode;
use revm::state::{Account, AccountInfo};
use revm::{Database, DatabaseCommit};

use super::{AccountState, Changes, Source};

/// The EVM's database while a block is built: reads fall through to the parent.
#[derive(Debug)]
pub(crate) struct Overlay<S> {
    base: S,
    changes: Changes,
}

impl<S: Source> Overlay<S> {
    pub(crate) fn new(base: S) -> Self {
        Self::with_changes(base, Changes::default())
    }

    /// The parent's state with some changes already written.
    pub(crate) fn with_changes(base: S, changes: Changes) -> Self {
        Self { base, changes }
    }

    /// What was written, to be recorded under the block's number.
    pub(crate) fn into_changes(self) -> Changes {
        self.changes
    }

    /// The nonce after what was written so far.
    pub(crate) fn nonce(&self, address: Address) -> u64 {
        self.account(address).map_or(0, |account| account.nonce)
    }

    /// The balance after what was written so far.
    pub(crate) fn balance(&self, address: Address) -> U256 {
        self.account(address).map_or(U256::ZERO, |account| account.balance)
    }

    /// The code after what was written so far.
    pub(crate) fn code(&self, address: Address) -> Bytecode {
        self.account(address).map_or_else(Bytecode::default, |account| self.code_of(account.code_hash))
    }

    /// The slot after what was written so far.
    pub(crate) fn slot(&self, address: Address, key: U256) -> U256 {
        match self.changes.slots.get(&(address, key)) {
            Some(value) => *value,
            None => self.base.slot(address, key),
        }
    }

    fn account(&self, address: Address) -> Option<AccountState> {
        match self.changes.accounts.get(&address) {
            Some(account) => *account,
            None => self.base.account(address),
        }
    }

    fn code_of(&self, hash: B256) -> Bytecode {
        self.changes.codes.get(&hash).cloned().unwrap_or_else(|| self.base.code(hash))
    }

    fn commit_account(&mut self, address: Address, account: Account) {
        if !account.is_touched() {
            return;
        }
        // A touched account that is empty does not exist (EIP-161).
        if account.is_selfdestructed() || account.is_empty() {
            self.changes.accounts.insert(address, None);
            return;
        }
        let AccountInfo { balance, nonce, code_hash, code, .. } = account.info;
        if let Some(code) = code.filter(|code| !code.is_empty()) {
            self.changes.codes.insert(code_hash, code);
        }
        self.changes.accounts.insert(address, Some(AccountState { balance, nonce, code_hash }));
        for (key, slot) in account.storage {
            if slot.is_changed() {
                self.changes.slots.insert((address, key), slot.present_value());
            }
        }
    }
}

impl<S: Source> Database for Overlay<S> {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(self.account(address).map(|account| AccountInfo {
            balance: account.balance,
            nonce: account.nonce,
            code_hash: account.code_hash,
            account_id: None,
            code: None,
        }))
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, Infallible> {
        Ok(self.code_of(code_hash))
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Infallible> {
        Ok(self.slot(address, key))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        Ok(self.base.block_hash(number))
    }
}

impl<S: Source> DatabaseCommit for Overlay<S> {
    fn commit(&mut self, changes: AddressMap<Account>) {
        for (address, account) in changes {
            self.commit_account(address, account);
        }
    }
}
