//! What follows from what the chain tells: a pure decision. It is held to its rules by
//! properties over whatever the chain could tell.

use windlass_core::payout::ledger::{Inclusion, Intent, IntentState, Payout};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::answer::{VaultRecord, VaultStatus};

use super::next::Next;
use crate::pay::payer::Sight;

/// What the chain tells of a transaction. Records and findings stand in the place of
/// each payout; there are none where nothing depends on them yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A form of it is in a block, and has done what it was to do.
    Mined { inclusion: Inclusion, records: Vec<VaultRecord> },
    /// A form of it is in a block, and was reverted.
    Reverted {
        inclusion: Inclusion,
        records: Vec<VaultRecord>,
        found: Vec<Option<Inclusion>>,
        /// With which error, where that is known.
        why: Option<String>,
        /// It ran out of gas, which says nothing of its payouts, and they may be tried with more.
        is_short_of_gas: bool,
    },
    /// No form of it is known, and its nonce is used up in a final block.
    NonceUsed { records: Vec<VaultRecord>, found: Vec<Option<Inclusion>> },
    /// No form of it is known, which by itself proves nothing.
    Missing {
        /// Another block stands where the one was that it was in.
        is_gone: bool,
        /// Its nonce is the account's next.
        is_next: bool,
    },
}

impl Evidence {
    /// Whether the vault's word would decide, and too few endpoints say the same of it.
    pub(super) const fn is_disputed(&self, heights: Heights) -> bool {
        match self {
            Self::Mined { inclusion, records } | Self::Reverted { inclusion, records, .. } => {
                records.is_empty() && inclusion.block.number <= heights.last_final
            }
            Self::NonceUsed { records, .. } => records.is_empty(),
            Self::Missing { .. } => false,
        }
    }
}

/// The heights that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heights {
    pub(super) last_final: u64,
    pub(super) last_confirmed: u64,
}

impl From<&Sight> for Heights {
    fn from(sight: &Sight) -> Self {
        Self { last_final: sight.last_final, last_confirmed: sight.last_confirmed }
    }
}

/// What follows for a transaction and its payouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    /// Open as long as it is followed.
    pub(super) state: IntentState,
    pub(super) inclusion: Option<Inclusion>,
    /// In the place of each payout.
    pub(super) nexts: Vec<Next>,
    /// Somebody else used its nonce.
    pub(super) is_displaced: bool,
    pub(super) is_to_be_sent: bool,
    /// Nothing of its account waits before it.
    pub(super) is_next: bool,
}

impl Decision {
    /// Nothing is known but what was.
    fn open(inclusion: Option<Inclusion>, nexts: Vec<Next>) -> Self {
        let state = IntentState::Open;
        Self { state, inclusion, nexts, is_displaced: false, is_to_be_sent: false, is_next: false }
    }

    fn ended(state: IntentState, inclusion: Option<Inclusion>, nexts: Vec<Next>) -> Self {
        Self { state, ..Self::open(inclusion, nexts) }
    }
}

/// Decides what follows.
pub(super) fn decide(heights: Heights, intent: &Intent, payouts: &[Payout], evidence: &Evidence) -> Decision {
    let same = || Decision::open(intent.inclusion, vec![Next::Same; payouts.len()]);
    match evidence {
        Evidence::Mined { inclusion, records } => mined(heights, payouts, *inclusion, records),
        Evidence::Reverted { inclusion, records, found, why, is_short_of_gas } => {
            let is_final = inclusion.block.number <= heights.last_final;
            if !is_final || records.len() != payouts.len() {
                let nexts = payouts.iter().map(|payout| gone(payout, Some(*inclusion))).collect();
                return Decision::open(Some(*inclusion), nexts);
            }
            let otherwise = if payouts.len() == 1 && !is_short_of_gas {
                let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                Next::Failed(format!("transaction {} was reverted{why}", inclusion.transaction))
            } else {
                Next::Again
            };
            let nexts = unpaid(heights, payouts, records, found, &otherwise);
            Decision::ended(IntentState::Reverted, Some(*inclusion), nexts)
        }
        // Without the vault's word nothing follows.
        Evidence::NonceUsed { records, .. } if records.len() != payouts.len() => same(),
        Evidence::NonceUsed { records, found } => {
            let is_displaced = !records.iter().all(|record| record.status == VaultStatus::Paid);
            let nexts = unpaid(heights, payouts, records, found, &Next::Again);
            Decision { is_displaced, ..Decision::ended(IntentState::Displaced, None, nexts) }
        }
        Evidence::Missing { is_gone, is_next } if *is_gone || intent.inclusion.is_none() => {
            let nexts = payouts.iter().map(|payout| gone(payout, None)).collect();
            Decision { is_to_be_sent: true, is_next: *is_next, ..Decision::open(None, nexts) }
        }
        // Its block is there, or cannot be seen now: it stays where it was.
        Evidence::Missing { .. } => same(),
    }
}

fn mined(heights: Heights, payouts: &[Payout], inclusion: Inclusion, records: &[VaultRecord]) -> Decision {
    let number = inclusion.block.number;
    // A node that shows a receipt, and a vault that knows nothing of it, is not believed.
    let is_paid = records.len() == payouts.len()
        && !records.is_empty()
        && records.iter().all(|record| record.status == VaultStatus::Paid);
    let is_confirmed = is_paid && number <= heights.last_confirmed.max(heights.last_final);
    let is_final = is_paid && number <= heights.last_final;
    let next = |payout: &Payout| {
        let is_known = payout.inclusion == Some(inclusion);
        match payout.state {
            _ if payout.finalized_at.is_some() => Next::Same,
            PayoutState::Confirmed if is_confirmed && is_known && !is_final => Next::Same,
            PayoutState::Submitted | PayoutState::Confirmed if is_confirmed => {
                Next::Confirmed { inclusion, is_final }
            }
            // In another block than the one it was confirmed in, and that one is not deep enough.
            PayoutState::Confirmed if !is_known => Next::Reorganised(Some(inclusion)),
            PayoutState::Submitted if !is_known => Next::Seen(Some(inclusion)),
            _ => Next::Same,
        }
    };
    let state = if is_final { IntentState::Mined } else { IntentState::Open };
    Decision::ended(state, Some(inclusion), payouts.iter().map(next).collect())
}

/// It is not paid in a block that the chain has.
fn gone(payout: &Payout, inclusion: Option<Inclusion>) -> Next {
    match payout.state {
        PayoutState::Confirmed if payout.finalized_at.is_none() => Next::Reorganised(inclusion),
        PayoutState::Submitted if payout.inclusion != inclusion => Next::Seen(inclusion),
        _ => Next::Same,
    }
}

/// The transaction is over without having paid: what the vault says decides for each payout,
/// and only what it says for good ends one.
fn unpaid(
    heights: Heights,
    payouts: &[Payout],
    records: &[VaultRecord],
    found: &[Option<Inclusion>],
    otherwise: &Next,
) -> Vec<Next> {
    let next = |place: usize, payout: &Payout| {
        let record = records[place];
        let is_final = record.block <= heights.last_final;
        let found = found.get(place).copied().flatten();
        let found = found.filter(|found| found.block.number <= heights.last_final);
        match (record.status, found) {
            _ if payout.finalized_at.is_some() || payout.state.is_end() => Next::Same,
            (VaultStatus::Paid, Some(inclusion)) => Next::Found(inclusion),
            // Its event is not to be had now, or not final; the submitter asks again.
            (VaultStatus::Paid, None) => Next::Again,
            (VaultStatus::Cancelled, _) if is_final => {
                Next::Failed("the request was cancelled on the vault".to_owned())
            }
            // A cancel that may still go: the submitter waits until it cannot.
            (VaultStatus::Cancelled, _) => Next::Again,
            (VaultStatus::Unknown, _) => otherwise.clone(),
        }
    };
    payouts.iter().enumerate().map(|(place, payout)| next(place, payout)).collect()
}

#[cfg(test)]
mod tests;
