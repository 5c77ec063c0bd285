//! Jobs that are missing: a payout or a transaction that waits for work which nobody will do.
//!
//! A payout's job is written in the commit that makes it APPROVED, and every look at a transaction
//! writes the next one. So a row that is open before the jobs were listed and is open as it was
//! afterwards, and has no job between, has lost it: somebody deleted it from the database. Jobs
//! decide nothing by themselves, and one too many is taken away by whoever claims it.
//!
//! A lane that was altered so that its jobs are not due for hours, or never, cannot be put right one
//! by one: its queue is dropped, and every job of it made anew.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobFilter, MAX_LISTED_JOBS, NO_PAYLOAD, NewJob};
use windlass_core::name::{LaneKey, NameError, Queue};
use windlass_core::payout::ledger::{IntentId, IntentState, Payout};
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};

use super::ledger::Ledger;
use super::names::PayNames;

/// No job of a payout is put off as long: what is held is looked at after at most four hours.
const LATEST: Duration = Duration::from_secs(5 * 3_600);

/// What is open, as verified rows say.
#[derive(Debug, Default)]
pub(super) struct OpenWork {
    /// Payouts that are approved or on their way.
    pub(super) payouts: Vec<Payout>,
    /// Transactions that are followed.
    pub(super) intents: BTreeSet<IntentId>,
}

/// Makes the jobs anew that open work has lost; how many.
pub(super) async fn restore(ledger: &Ledger, open: OpenWork) -> StoreResult<usize> {
    let mut by_vault: BTreeMap<VaultRef, OpenWork> = BTreeMap::new();
    for payout in open.payouts {
        let work = by_vault.entry(payout.request.vault).or_default();
        // The transaction of a payout says which vault follows it.
        let intent = payout.intent.filter(|intent| open.intents.contains(intent));
        work.intents.extend(intent);
        work.payouts.push(payout);
    }
    let mut restored = 0;
    for (vault, work) in by_vault {
        let names = PayNames::new(vault).map_err(unnamed)?;
        restored += submit_jobs(ledger, &names, &work).await? + track_jobs(ledger, &names, &work).await?;
    }
    Ok(restored)
}

/// An approved payout, and one whose transaction has ended without paying it, is to be signed.
async fn submit_jobs(ledger: &Ledger, names: &PayNames, work: &OpenWork) -> StoreResult<usize> {
    let is_waiting = |payout: &&Payout| match payout.state {
        PayoutState::Approved => true,
        PayoutState::Submitted => payout.intent.is_some_and(|intent| !work.intents.contains(&intent)),
        _ => false,
    };
    let waiting: Vec<&Payout> = work.payouts.iter().filter(is_waiting).collect();
    if waiting.is_empty() {
        return Ok(0);
    }
    let known = lanes(ledger, &names.submit).await?;
    let mut lost = Vec::new();
    for payout in waiting {
        let lane = PayNames::payout_lane(payout.id).map_err(unnamed)?;
        if !known.contains(&lane) {
            lost.push((lane, payout));
        }
    }
    let mut jobs = Vec::new();
    for part in lost.chunks(MAX_PAYOUT_PAGE as usize) {
        let ids: Vec<_> = part.iter().map(|(_, payout)| payout.id).collect();
        let now = ledger.check_payouts(&ids).await?.rows;
        let is_same =
            |payout: &Payout| now.iter().any(|row| (row.id, row.version) == (payout.id, payout.version));
        let same = part.iter().filter(|(_, payout)| is_same(payout));
        jobs.extend(same.map(|(lane, _)| NewJob::new(names.submit.clone(), lane.clone(), "{}")));
    }
    enqueue(ledger, jobs).await
}

/// A transaction that is open is to be followed.
async fn track_jobs(ledger: &Ledger, names: &PayNames, work: &OpenWork) -> StoreResult<usize> {
    if work.intents.is_empty() {
        return Ok(0);
    }
    let known = lanes(ledger, &names.track).await?;
    let mut jobs = Vec::new();
    for intent in &work.intents {
        let lane = PayNames::intent_lane(*intent).map_err(unnamed)?;
        if !known.contains(&lane) {
            let is_open = match ledger.intent(*intent).await {
                Ok(row) => row.is_some_and(|row| row.state == IntentState::Open),
                // It was refused, which is reported.
                Err(StoreError::Forged(_)) => false,
                Err(error) => return Err(error),
            };
            if is_open {
                jobs.push(NewJob::new(names.track.clone(), lane, "{}"));
            }
        }
    }
    enqueue(ledger, jobs).await
}

async fn enqueue(ledger: &Ledger, jobs: Vec<NewJob>) -> StoreResult<usize> {
    if jobs.is_empty() {
        return Ok(0);
    }
    let count = jobs.len();
    tracing::warn!(queue = %jobs[0].queue, count, "open payouts had no job any more: somebody deleted it; it is made again");
    ledger.store().enqueue_jobs(jobs).await?;
    Ok(count)
}

/// The lanes of a queue that have a job. None where one was altered: then the queue was dropped.
async fn lanes(ledger: &Ledger, queue: &Queue) -> StoreResult<BTreeSet<LaneKey>> {
    let latest = ledger.store().now().await?.after(LATEST);
    let mut lanes = BTreeSet::new();
    let mut filter = JobFilter { queue: Some(queue.clone()), limit: MAX_LISTED_JOBS, ..JobFilter::default() };
    loop {
        let jobs = ledger.store().list_jobs(&filter).await?;
        filter.after = jobs.last().map(|job| job.id);
        if let Some(late) = jobs.iter().find(|job| job.at > latest) {
            tracing::error!(
                job = %late.id,
                %queue,
                "a job or its lane was altered in the database, so that it is not done for hours or never; \
                 all jobs of its queue are made anew"
            );
            ledger.store().commit(Commit::of(vec![Write::DropQueue(queue.clone())])).await?;
            return Ok(BTreeSet::new());
        }
        let is_last = jobs.len() < MAX_LISTED_JOBS as usize;
        // One that was deleted is listed without what it said.
        lanes.extend(jobs.into_iter().filter(|job| job.payload != NO_PAYLOAD).map(|job| job.key));
        if is_last {
            return Ok(lanes);
        }
    }
}

fn unnamed(error: NameError) -> StoreError {
    StoreError::Invalid(error.to_string())
}
