//! Random scripts on the model itself: they meet everything they claim to.

use windlass_testkit::model_store::ModelHarness;
use windlass_testkit::script::{
    Budget, JobScript, LeaseScript, OutboxScript, TableScript, WholeScript, check,
};

async fn fresh() -> ModelHarness {
    ModelHarness::default()
}

#[test]
fn lease_scripts_meet_everything() {
    check::<LeaseScript, _>(Budget::standard(), fresh);
}

#[test]
fn job_scripts_meet_everything() {
    check::<JobScript, _>(Budget::standard(), fresh);
}

#[test]
fn outbox_scripts_meet_everything() {
    check::<OutboxScript, _>(Budget::standard(), fresh);
}

#[test]
fn table_scripts_meet_everything() {
    check::<TableScript, _>(Budget::standard(), fresh);
}

#[test]
fn whole_scripts_meet_everything() {
    check::<WholeScript, _>(Budget::standard(), fresh);
}
