//! The plan in force, the count of calls, and the draw.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::{
    counts::{Counters, Counts, Kind},
    fate::{Fate, Twist},
    limit,
    plan::Plan,
    rate::RateLimits,
};
use crate::{
    mix::mix,
    node::{CallRef, Node},
};

/// The devnet's own methods begin with this. No fault hits them, so that whoever
/// turned an endpoint bad can turn it good again.
const DEV_PREFIX: &str = "windlass_";

/// A cheap handle to the faults of one server; clones share everything.
#[derive(Debug, Clone)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    seed: u64,
    begun: Instant,
    calls: AtomicU64,
    in_force: RwLock<InForce>,
    counters: Counters,
}

/// A plan, and what its rate limits have counted since it came into force.
#[derive(Debug, Clone)]
struct InForce {
    plan: Arc<Plan>,
    rate_limits: Arc<RateLimits>,
}

impl InForce {
    fn new(plan: Plan, now_us: u64) -> Self {
        let rate_limits = Arc::new(RateLimits::new(&plan, now_us));
        Self { plan: Arc::new(plan), rate_limits }
    }
}

impl Faults {
    /// Faults drawn from a seed.
    pub fn new(seed: u64, plan: Plan) -> Self {
        let shared = Shared {
            seed,
            begun: Instant::now(),
            calls: AtomicU64::new(0),
            in_force: RwLock::new(InForce::new(plan, 0)),
            counters: Counters::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Puts another plan in force, from the next call on. The counting goes on; rate
    /// limits begin with their whole burst.
    pub fn set(&self, plan: Plan) {
        let in_force = InForce::new(plan, self.now_us());
        *self.shared.in_force.write().unwrap_or_else(PoisonError::into_inner) = in_force;
    }

    /// The plan in force.
    pub fn plan(&self) -> Arc<Plan> {
        self.in_force().plan
    }

    /// How often each kind of fault really happened.
    pub fn counts(&self) -> Counts {
        self.shared.counters.read()
    }

    /// Draws what becomes of the calls of one message; what is none gets no fault.
    pub(crate) fn draw(&self, node: &dyn Node, calls: &[Option<CallRef<'_>>]) -> Vec<Fate> {
        let InForce { plan, rate_limits } = self.in_force();
        let mut is_first = true;
        let draw = |call: &Option<CallRef<'_>>| match call {
            Some(call) if !call.method.starts_with(DEV_PREFIX) => {
                self.draw_one(&plan, node, *call, std::mem::take(&mut is_first))
            }
            _ => Fate::default(),
        };
        let mut fates: Vec<Fate> = calls.iter().map(draw).collect();
        rate_limits.apply(&mut fates, self.now_us(), self.wording());
        fates
    }

    pub(crate) fn happened(&self, kind: Kind) {
        self.shared.counters.add(kind);
    }

    pub(super) fn seed(&self) -> u64 {
        self.shared.seed
    }

    /// What the words are made from that stay the same for a whole run.
    pub(super) fn wording(&self) -> u64 {
        mix(self.shared.seed)
    }

    /// Takes the next number and draws what becomes of a call.
    fn draw_one(&self, plan: &Plan, node: &dyn Node, call: CallRef<'_>, is_first: bool) -> Fate {
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let mut fate = Fate::draw(plan, self.shared.seed, number, call.method, is_first);
        if fate.wire.is_none() && call.method == "eth_getLogs" {
            fate.wire = fate.twists.iter().find_map(|twist| match *twist {
                Twist::LogRange { refusal, blocks } => {
                    refusal.wire_fault().filter(|_| limit::is_beyond(node, blocks, call.params))
                }
                _ => None,
            });
            if fate.wire.is_some() {
                self.happened(Kind::LogLimit);
            }
        }
        fate
    }

    fn in_force(&self) -> InForce {
        self.shared.in_force.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.shared.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
