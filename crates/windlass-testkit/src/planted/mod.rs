//! Stores with one rule broken on purpose.
//!
//! A suite that has never failed has not shown that it can. Each fault here takes
//! away one thing the stores promise, around any real store, and the random
//! scripts must find it out. One of them is no fault: a store that goes away
//! before it answers, but keeps its promise, must be forgiven.

mod ports;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use windlass_core::commit::{Commit, Fence, Write, Written};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::JobTicket;
use windlass_core::lease::{Epoch, Lease};
use windlass_core::outbox::DeliveryHold;
use windlass_core::store::Store;

use crate::clock::ManualClock;
use crate::harness::Harness;
use crate::script::{Budget, Profile, search};

/// Every so many commits, a crash is staged.
const COMMITS_BETWEEN_CRASHES: u64 = 4;

/// How often a script that found a fault is made smaller.
const MAX_SHRINK_STEPS: u32 = 16;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Old epochs are taken for the current ones.
    FencingRemoved,
    /// A commit is two transactions; when the second fails, the first stays.
    CommitSplit,
    /// Now and then the store dies in the middle of a commit, and half of it stays.
    CommitTorn,
    /// No fault: now and then the store dies before or after a commit, not within.
    AnswersLost,
}

/// A harness whose stores have a fault.
pub struct PlantedHarness<H> {
    inner: H,
    fault: Fault,
    memory: Arc<Memory>,
}

impl<H: Harness> PlantedHarness<H> {
    /// Plants a fault into every store of a harness.
    pub fn new(inner: H, fault: Fault) -> Self {
        Self { inner, fault, memory: Arc::default() }
    }
}

#[async_trait]
impl<H: Harness> Harness for PlantedHarness<H> {
    async fn open(&self) -> Arc<dyn Store> {
        let (inner, fault, memory) = (self.inner.open().await, self.fault, self.memory.clone());
        Arc::new(Planted { inner, fault, memory })
    }

    fn clock(&self) -> Arc<ManualClock> {
        self.inner.clock()
    }

    fn durable(&self) -> bool {
        self.inner.durable()
    }
}

/// A store with a fault, for those who check more than the store.
pub fn plant(inner: Arc<dyn Store>, fault: Fault) -> Arc<dyn Store> {
    Arc::new(Planted { inner, fault, memory: Arc::default() })
}

/// Runs scripts against stores with a fault; returns the difference they found.
/// Panics when they found none: a suite that lets a fault pass is none.
pub fn expect_found<P: Profile, H: Harness>(
    budget: Budget,
    fault: Fault,
    fresh: impl AsyncFn() -> H,
) -> String {
    // The difference is what counts here, not how small its script can be made.
    let budget = Budget { max_shrink_steps: MAX_SHRINK_STEPS, ..budget };
    let planted = async || PlantedHarness::new(fresh().await, fault);
    match search::<P, _>(budget, planted) {
        Err(difference) => difference,
        Ok(_) => panic!("{} scripts passed in spite of {fault:?}", P::NAME),
    }
}

/// What the faulty handles of one database know together.
#[derive(Default)]
struct Memory {
    /// The last epoch of each lane that was handed out.
    epochs: Mutex<HashMap<i64, Epoch>>,
    commits: AtomicU64,
}

/// A store with a fault.
struct Planted {
    inner: Arc<dyn Store>,
    fault: Fault,
    memory: Arc<Memory>,
}

impl Planted {
    fn learn(&self, lane: i64, epoch: Epoch) {
        self.memory.epochs.lock().unwrap_or_else(PoisonError::into_inner).insert(lane, epoch);
    }

    fn current(&self, lane: i64, epoch: Epoch) -> Epoch {
        let epochs = self.memory.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        if self.fault == Fault::FencingRemoved { epochs.get(&lane).copied().unwrap_or(epoch) } else { epoch }
    }

    fn ticket(&self, ticket: JobTicket) -> JobTicket {
        JobTicket { epoch: self.current(ticket.job.lane, ticket.epoch), ..ticket }
    }

    fn tickets(&self, tickets: &[JobTicket]) -> Vec<JobTicket> {
        tickets.iter().map(|ticket| self.ticket(*ticket)).collect()
    }

    fn hold(&self, hold: DeliveryHold) -> DeliveryHold {
        DeliveryHold { epoch: self.current(hold.lane, hold.epoch), ..hold }
    }

    /// The lease as it is now, whoever holds it.
    async fn lease(&self, lease: &Lease) -> StoreResult<Lease> {
        if self.fault != Fault::FencingRemoved {
            return Ok(lease.clone());
        }
        let held = self.inner.list_leases().await?;
        Ok(held.into_iter().find(|held| held.name == lease.name).unwrap_or_else(|| lease.clone()))
    }

    async fn unfenced(&self, mut commit: Commit) -> StoreResult<Commit> {
        let held = self.inner.list_leases().await?;
        for fence in &mut commit.fences {
            match fence {
                Fence::Lease { name, epoch } => {
                    *epoch =
                        held.iter().find(|lease| lease.name == *name).map_or(*epoch, |lease| lease.epoch);
                }
                Fence::Job(ticket) => *ticket = self.ticket(*ticket),
            }
        }
        for write in &mut commit.writes {
            if let Write::CompleteJob(ticket) = write {
                *ticket = self.ticket(*ticket);
            }
        }
        Ok(commit)
    }

    async fn faulty_commit(&self, commit: Commit) -> StoreResult<Vec<Written>> {
        let number = self.memory.commits.fetch_add(1, Ordering::SeqCst) + 1;
        let dies = number.is_multiple_of(COMMITS_BETWEEN_CRASHES);
        match self.fault {
            Fault::FencingRemoved => self.inner.commit(self.unfenced(commit).await?).await,
            Fault::CommitSplit => self.in_two(commit, false).await,
            Fault::CommitTorn if dies => self.in_two(commit, true).await,
            Fault::AnswersLost if dies => {
                if number.is_multiple_of(2 * COMMITS_BETWEEN_CRASHES) {
                    self.inner.commit(commit).await?;
                }
                Err(gone())
            }
            Fault::CommitTorn | Fault::AnswersLost => self.inner.commit(commit).await,
        }
    }

    async fn in_two(&self, mut commit: Commit, dies: bool) -> StoreResult<Vec<Written>> {
        let rest = commit.writes.split_off(commit.writes.len().div_ceil(2));
        let durability = commit.durability;
        let mut written = self.inner.commit(commit).await?;
        if rest.is_empty() {
            return Ok(written);
        }
        if dies {
            return Err(gone());
        }
        written.extend(self.inner.commit(Commit { writes: rest, durability, ..Commit::default() }).await?);
        Ok(written)
    }
}

fn gone() -> StoreError {
    StoreError::Unreachable { place: "here".to_owned(), reason: "the store died".to_owned() }
}
