//! The plan in force, the count of calls, and the draw.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use super::{
    counts::{Counters, Counts, Kind},
    fate::Fate,
    plan::Plan,
};

/// A cheap handle to the faults of one server; clones share everything.
#[derive(Debug, Clone)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    seed: u64,
    calls: AtomicU64,
    plan: RwLock<Arc<Plan>>,
    counters: Counters,
}

impl Faults {
    /// Faults drawn from a seed.
    pub fn new(seed: u64, plan: Plan) -> Self {
        let plan = RwLock::new(Arc::new(plan));
        let shared = Shared { seed, calls: AtomicU64::new(0), plan, counters: Counters::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Puts another plan in force, from the next call on. The counting goes on.
    pub fn set(&self, plan: Plan) {
        *self.shared.plan.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(plan);
    }

    /// The plan in force.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.shared.plan.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// How often each kind of fault really happened.
    pub fn counts(&self) -> Counts {
        self.shared.counters.read()
    }

    /// Takes the next number and draws what becomes of a call of this method.
    pub(crate) fn draw(&self, method: &str) -> Fate {
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        Fate::draw(&self.plan(), self.shared.seed, number, method)
    }

    pub(crate) fn happened(&self, kind: Kind) {
        self.shared.counters.add(kind);
    }
}
