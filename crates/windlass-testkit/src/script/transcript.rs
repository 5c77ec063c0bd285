//! One long fixed script whose every answer is pinned.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use sha2::{Digest, Sha256};

use super::compare::Pair;
use super::profile::{Machine, WholeScript};
use crate::harness::Harness;

/// Runs the fixed script of so many steps against a store and the model; returns
/// every call with its answer, as text.
pub async fn fixed_script(harness: &dyn Harness, steps: usize) -> Result<Vec<String>, String> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = Machine::<WholeScript>::sequential_strategy(steps..=steps);
    let (_, ops, _) = strategy.new_tree(&mut runner).map_err(|reason| reason.to_string())?.current();
    let mut pair = Pair::new(harness).await;
    pair.run(&ops, || {}).await?;
    Ok(pair.transcript)
}

/// A short text that stands for all the lines.
pub fn digest(lines: &[String]) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line);
        hash.update("\n");
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
