//! Transactions that wait for a block.
//!
//! One transaction per sender and nonce. A transaction is *pending* when every
//! nonce from the account's on up to its own is there, *queued* otherwise; both
//! live in the same map, since only the account's nonce tells them apart. The
//! size is bounded by a limit, [`MAX_POOL_TRANSACTIONS`] at most.

mod admission;
mod best;
mod replacement;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_consensus::Transaction;
use alloy_primitives::map::{AddressMap, B256Map};
use alloy_primitives::{Address, B256};

pub(crate) use admission::Rules;
pub(crate) use best::Best;

use super::error::PoolError;
use super::state::View;
use super::tx::Tx;

/// How many transactions wait at most, pending and queued together, unless a chain is told less.
pub const MAX_POOL_TRANSACTIONS: usize = 65_536;

/// A transaction and when it came, which breaks ties between equal tips.
#[derive(Debug, Clone)]
struct Entry {
    tx: Arc<Tx>,
    arrival: u64,
}

/// The transactions that wait, by sender and nonce.
#[derive(Debug)]
pub(crate) struct Pool {
    limit: usize,
    senders: AddressMap<BTreeMap<u64, Entry>>,
    hashes: B256Map<(Address, u64)>,
    arrivals: u64,
}

impl Pool {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit: limit.min(MAX_POOL_TRANSACTIONS),
            senders: AddressMap::default(),
            hashes: B256Map::default(),
            arrivals: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn get(&self, hash: B256) -> Option<&Arc<Tx>> {
        let (sender, nonce) = self.hashes.get(&hash)?;
        Some(&self.senders.get(sender)?.get(nonce)?.tx)
    }

    /// Takes a transaction, or says in geth's words why not.
    pub(crate) fn add(&mut self, tx: Arc<Tx>, rules: &Rules, view: &View<'_>) -> Result<(), PoolError> {
        if self.hashes.contains_key(&tx.hash()) {
            return Err(PoolError::AlreadyKnown);
        }
        rules.check(&tx)?;
        self.check_funds(&tx, view)?;
        match self.at(tx.sender(), tx.signed().nonce()) {
            Some(old) if !replacement::replaces(old, &tx) => return Err(PoolError::ReplacementUnderpriced),
            None if self.room() == 0 => return Err(PoolError::Full),
            _ => {}
        }
        self.put(tx);
        Ok(())
    }

    /// Takes back a transaction that a reorg dropped, unchecked; false when the
    /// pool is full or something else has its place.
    pub(crate) fn put_back(&mut self, tx: Arc<Tx>) -> bool {
        let fits = self.room() > 0 && self.at(tx.sender(), tx.signed().nonce()).is_none();
        if fits {
            self.put(tx);
        }
        fits
    }

    /// How many more transactions fit.
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.len())
    }

    /// Takes a transaction out; later nonces of its sender become queued.
    pub(crate) fn remove(&mut self, hash: B256) -> Option<Arc<Tx>> {
        let (sender, nonce) = self.hashes.remove(&hash)?;
        let waiting = self.senders.get_mut(&sender)?;
        let entry = waiting.remove(&nonce)?;
        if waiting.is_empty() {
            self.senders.remove(&sender);
        }
        Some(entry.tx)
    }

    /// Forgets what the chain has overtaken: nonces below the senders' own.
    pub(crate) fn prune(&mut self, senders: impl IntoIterator<Item = Address>, view: &View<'_>) {
        for sender in senders {
            let Some(waiting) = self.senders.get_mut(&sender) else { continue };
            let kept = waiting.split_off(&view.nonce(sender));
            for entry in std::mem::replace(waiting, kept).into_values() {
                self.hashes.remove(&entry.tx.hash());
            }
            if waiting.is_empty() {
                self.senders.remove(&sender);
            }
        }
    }

    /// The nonce a sender's next transaction should have, counting what is pending.
    pub(crate) fn next_nonce(&self, sender: Address, view: &View<'_>) -> u64 {
        let nonce = view.nonce(sender);
        nonce + self.pending_of(sender, nonce).count() as u64
    }

    /// The pending transactions in the order a block should take them.
    pub(crate) fn best(&self, view: &View<'_>, base_fee: u64) -> Best {
        let lanes = self.senders.keys().filter_map(|sender| {
            let lane: Vec<_> = self.pending_of(*sender, view.nonce(*sender)).cloned().collect();
            (!lane.is_empty()).then_some((*sender, lane))
        });
        Best::new(lanes, base_fee)
    }

    fn pending_of(&self, sender: Address, nonce: u64) -> impl Iterator<Item = &Entry> {
        self.senders
            .get(&sender)
            .into_iter()
            .flat_map(move |waiting| waiting.range(nonce..))
            .zip(nonce..)
            .take_while(|((have, _), want)| *have == want)
            .map(|((_, entry), _)| entry)
    }

    fn at(&self, sender: Address, nonce: u64) -> Option<&Tx> {
        Some(&self.senders.get(&sender)?.get(&nonce)?.tx)
    }

    /// Puts a transaction in the place of whatever has its sender and nonce, unchecked.
    pub(crate) fn put(&mut self, tx: Arc<Tx>) {
        let (sender, nonce, hash) = (tx.sender(), tx.signed().nonce(), tx.hash());
        let entry = Entry { tx, arrival: self.arrivals };
        self.arrivals += 1;
        self.hashes.insert(hash, (sender, nonce));
        if let Some(old) = self.senders.entry(sender).or_default().insert(nonce, entry) {
            self.hashes.remove(&old.tx.hash());
        }
    }
}
