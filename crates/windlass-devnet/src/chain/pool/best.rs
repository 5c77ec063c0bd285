//! The order in which a block takes pending transactions: by effective tip,
//! earlier ones first among equals, each sender's in the order of its nonces.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use alloy_primitives::Address;
use alloy_primitives::map::AddressMap;

use super::Entry;
use crate::chain::tx::Tx;

/// A snapshot of what is pending, taken from the best on.
#[derive(Debug, Default)]
pub(crate) struct Best {
    base_fee: u64,
    /// What each sender offers after its transaction in `heads`.
    lanes: AddressMap<VecDeque<Entry>>,
    heads: BinaryHeap<Candidate>,
    parked: Vec<Candidate>,
}

/// The next transaction of one sender; the greatest is taken first.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) tx: Arc<Tx>,
    rank: (u128, Reverse<u64>),
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl Best {
    /// Ranks the lanes' first transactions at this base fee.
    pub(super) fn new(lanes: impl IntoIterator<Item = (Address, Vec<Entry>)>, base_fee: u64) -> Self {
        let mut best = Self { base_fee, ..Self::default() };
        for (sender, lane) in lanes {
            best.lanes.insert(sender, lane.into());
            best.advance(sender);
        }
        best
    }

    /// The best transaction left; its sender's next one waits for [`advance`](Self::advance).
    pub(crate) fn pop(&mut self) -> Option<Candidate> {
        self.heads.pop()
    }

    /// Offers a sender's next transaction, unless its fee cap is below the base fee:
    /// then the sender is out, since nonces cannot be skipped.
    pub(crate) fn advance(&mut self, sender: Address) {
        let Some(entry) = self.lanes.get_mut(&sender).and_then(VecDeque::pop_front) else { return };
        if let Some(tip) = entry.tx.effective_tip(self.base_fee) {
            self.heads.push(Candidate { rank: (tip, Reverse(entry.arrival)), tx: entry.tx });
        }
    }

    /// Sets a transaction aside that may be possible later.
    pub(crate) fn park(&mut self, candidate: Candidate) {
        self.parked.push(candidate);
    }

    /// Offers again what was set aside; false when nothing was.
    pub(crate) fn unpark(&mut self) -> bool {
        let any = !self.parked.is_empty();
        self.heads.extend(self.parked.drain(..));
        any
    }
}
