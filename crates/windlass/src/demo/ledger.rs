//! What was asked for, against what the vault has paid as the chain knows it from the inside.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use alloy_primitives::B256;
use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::store::Store;

use super::world::World;
use crate::failure::Failure;

/// Between two blocks, once the traffic is over.
const BLOCK_PAUSE: Duration = Duration::from_millis(50);

/// The count of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ledger {
    /// Payouts that were asked for.
    pub(super) requested: u64,
    /// Of them, those that the vault has paid.
    pub(super) paid: u64,
    /// Payments beyond the first of a request, and those that nobody asked for.
    pub(super) double_paid: u64,
}

impl Ledger {
    /// Compares the two, request by request.
    pub(super) async fn of(world: &World, store: &dyn Store) -> Result<Self, Failure> {
        let mut requested = BTreeSet::new();
        let mut after = None;
        while let Some(page) = page(store, after).await? {
            after = page.last().map(|payout| payout.id);
            requested.extend(page.iter().map(|payout| payout.request.request_id()));
        }
        let payments = world.payout_logs();
        let ids = payments.iter().filter_map(|log| log.topics().get(1).copied());
        let paid: BTreeSet<B256> = ids.filter(|id| requested.contains(id)).collect();
        let count = |number: usize| number as u64;
        Ok(Self {
            requested: count(requested.len()),
            paid: count(paid.len()),
            double_paid: count(payments.len() - paid.len()),
        })
    }
}

/// Lets the chain go on until every fee on it was paid out for good.
pub(super) async fn settle(world: &World, store: &dyn Store, limit: Duration) -> Result<(), Failure> {
    let begun = Instant::now();
    let fees = world.fee_logs().len();
    while begun.elapsed() < limit {
        if is_settled(store, fees).await? {
            return Ok(());
        }
        world.chain.mine();
        tokio::time::sleep(BLOCK_PAUSE).await;
    }
    Err(Failure::coded(Code::VaultDiffers, "payouts did not become final in time")
        .hint("run it again with the same --seed and report it"))
}

async fn is_settled(store: &dyn Store, fees: usize) -> Result<bool, Failure> {
    let (mut after, mut settled) = (None, 0);
    while let Some(page) = page(store, after).await? {
        after = page.last().map(|payout| payout.id);
        if !page.iter().all(|payout| payout.state.is_end() || payout.finalized_at.is_some()) {
            return Ok(false);
        }
        settled += page.len();
    }
    Ok(settled >= fees)
}

async fn page(store: &dyn Store, after: Option<PayoutId>) -> Result<Option<Vec<Payout>>, Failure> {
    let query = PayoutQuery { after, limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
    Ok(Some(store.list_payouts(&query).await?).filter(|page| !page.is_empty()))
}
