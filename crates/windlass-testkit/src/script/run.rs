//! Running many random scripts, and what they met.

use std::cell::RefCell;
use std::fmt;
use std::io::Write as _;
use std::sync::atomic::Ordering;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;

use super::compare::Pair;
use super::op::Op;
use super::profile::{Machine, Profile};
use crate::harness::Harness;
use crate::model::Tally;

/// Sets the seed, as a number.
pub const SEED_VARIABLE: &str = "WINDLASS_SEED";
/// Set to `1`: many more scripts, from a new seed each time.
pub const SOAK_VARIABLE: &str = "WINDLASS_SOAK";
/// How many times more scripts a soak runs.
const SOAK_FACTOR: u32 = 20;
/// The seed when none is asked for: the same trouble every day.
const DEFAULT_SEED: u64 = 0x57_49_4e_44;
/// A failing script is made smaller at most this often, unless told.
const MAX_SHRINK_STEPS: u32 = 300;
/// How many scripts meet everything with some to spare.
const STANDARD_SCRIPTS: u32 = 25;
/// How long they are at most.
const STANDARD_STEPS: usize = 300;
/// A script has at least this many steps.
const MIN_STEPS: usize = 20;

/// How much to try.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// How many scripts, each on a fresh database.
    pub scripts: u32,
    /// The most steps of a script.
    pub max_steps: usize,
    /// What all randomness comes from.
    pub seed: u64,
    /// A failing script is made smaller at most this often.
    pub max_shrink_steps: u32,
}

/// What a run met.
#[derive(Debug)]
pub struct Report {
    /// Which profile.
    pub name: &'static str,
    /// What was tried.
    pub budget: Budget,
    /// How often what happened.
    pub tally: Tally,
}

impl Budget {
    /// What a profile needs to meet everything it must, on any store.
    pub fn standard() -> Self {
        Self::new(STANDARD_SCRIPTS, STANDARD_STEPS)
    }

    /// So many scripts of up to so many steps; more under [`SOAK_VARIABLE`], and
    /// from the seed in [`SEED_VARIABLE`] if there is one.
    pub fn new(scripts: u32, max_steps: usize) -> Self {
        let is_soak = std::env::var(SOAK_VARIABLE).is_ok_and(|value| value == "1");
        let asked = std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok());
        let drawn = if is_soak { fresh_seed() } else { DEFAULT_SEED };
        let scripts = if is_soak { scripts.saturating_mul(SOAK_FACTOR) } else { scripts };
        let seed = asked.unwrap_or(drawn);
        Self { scripts, max_steps, seed, max_shrink_steps: MAX_SHRINK_STEPS }
    }
}

fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("a seed")
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Budget { scripts, max_steps, seed, .. } = self.budget;
        writeln!(f, "{}: {scripts} scripts of up to {max_steps} steps from seed {seed}", self.name)?;
        self.tally.fmt(f)
    }
}

/// Runs scripts of a profile against fresh databases. An error names the seed, the
/// smallest script found, and the difference; or what never happened.
pub fn run<P: Profile, H: Harness>(budget: Budget, fresh: impl AsyncFn() -> H) -> Result<Report, String> {
    let tally = search::<P, H>(budget, fresh)?;
    let report = Report { name: P::NAME, budget, tally };
    let missing = report.tally.missing(P::MUST_HAPPEN);
    if missing.is_empty() { Ok(report) } else { Err(format!("never happened: {missing:?}\n{report}")) }
}

/// The same, but asks only for the first difference, not for what was met.
pub fn search<P: Profile, H: Harness>(budget: Budget, fresh: impl AsyncFn() -> H) -> Result<Tally, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let tally = RefCell::new(Tally::default());
    let strategy = Machine::<P>::sequential_strategy(MIN_STEPS..=budget.max_steps);
    let outcome = runner(budget).run(&strategy, |(_, ops, seen)| {
        runtime.block_on(async {
            let harness = fresh().await;
            let mut pair = Pair::new(&harness).await;
            let count = || {
                seen.iter().for_each(|seen| {
                    seen.fetch_add(1, Ordering::SeqCst);
                });
            };
            let result = pair.run(&ops, count).await;
            tally.borrow_mut().add(&pair.world.model.tally);
            result.map_err(TestCaseError::fail)
        })
    });
    match outcome {
        Ok(()) => Ok(tally.into_inner()),
        Err(TestError::Fail(reason, (_, ops, _))) => Err(failure(P::NAME, budget.seed, &reason, &ops)),
        Err(TestError::Abort(reason)) => Err(format!("{}: given up: {reason}", P::NAME)),
    }
}

fn runner(budget: Budget) -> TestRunner {
    let config = Config {
        cases: budget.scripts,
        failure_persistence: None,
        max_shrink_iters: budget.max_shrink_steps,
        ..Config::default()
    };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&budget.seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

fn failure(name: &str, seed: u64, reason: &impl fmt::Display, ops: &[Op]) -> String {
    let steps: Vec<String> =
        ops.iter().enumerate().map(|(number, op)| format!("  {number}: {op:?}\n")).collect();
    format!("{name}, seed {seed} (set {SEED_VARIABLE} to repeat): {reason}\nthe script:\n{}", steps.concat())
}

/// Runs scripts as a test does: prints what they met, panics on a difference.
pub fn check<P: Profile, H: Harness>(budget: Budget, fresh: impl AsyncFn() -> H) {
    match run::<P, H>(budget, fresh) {
        Ok(report) => {
            let written = write!(std::io::stdout(), "{report}");
            assert!(written.is_ok(), "the report cannot be printed");
        }
        Err(difference) => panic!("{difference}"),
    }
}
