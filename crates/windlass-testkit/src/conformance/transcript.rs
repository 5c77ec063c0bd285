//! One fixed script of two thousand steps, answered alike by every store.

use crate::harness::Harness;
use crate::script::{digest, fixed_script};

/// How many steps the script has.
const STEPS: usize = 2_000;
/// What stands for all of its calls and answers. It changes with the model, with
/// the script's steps and with what draws them, and then on purpose.
const DIGEST: &str = "c15946e50bb1d148";

pub async fn a_long_fixed_script_is_answered_alike_by_every_store(harness: &dyn Harness) {
    match fixed_script(harness, STEPS).await {
        Ok(lines) => assert_eq!(digest(&lines), DIGEST, "the model itself answers differently"),
        Err(difference) => panic!("{difference}"),
    }
}
