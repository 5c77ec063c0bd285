//! The scripts find out every planted fault, and forgive what is none.

use windlass_testkit::model_store::ModelHarness;
use windlass_testkit::planted::{Fault, PlantedHarness, expect_found};
use windlass_testkit::script::{
    Budget, JobScript, LeaseScript, OutboxScript, Profile, TableScript, WholeScript, search,
};

fn found<P: Profile>(fault: Fault) -> String {
    expect_found::<P, _>(Budget::standard(), fault, async || ModelHarness::default())
}

fn assert_mentions(text: &str, words: &[&str]) {
    assert!(words.iter().any(|word| text.contains(word)), "none of {words:?} in {text}");
    assert!(text.contains("seed") && text.contains("the script:"), "it cannot be repeated: {text}");
}

#[test]
fn lease_scripts_find_missing_fencing() {
    let text = found::<LeaseScript>(Fault::FencingRemoved);
    assert_mentions(&text, &["the model answers Refused(\"fenced", "the model answers Flag(false)"]);
}

#[test]
fn job_scripts_find_missing_fencing() {
    let text = found::<JobScript>(Fault::FencingRemoved);
    assert_mentions(&text, &["the model answers"]);
}

#[test]
fn outbox_scripts_find_missing_fencing() {
    let text = found::<OutboxScript>(Fault::FencingRemoved);
    assert_mentions(&text, &["the model answers Refused(\"fenced"]);
}

#[test]
fn lease_scripts_find_a_commit_in_two() {
    found::<LeaseScript>(Fault::CommitSplit);
}

#[test]
fn job_scripts_find_a_commit_in_two() {
    found::<JobScript>(Fault::CommitSplit);
}

#[test]
fn outbox_scripts_find_a_commit_in_two() {
    found::<OutboxScript>(Fault::CommitSplit);
}

#[test]
fn table_scripts_find_a_commit_in_two() {
    found::<TableScript>(Fault::CommitSplit);
}

#[test]
fn table_scripts_find_a_commit_torn_by_a_crash() {
    assert_mentions(&found::<TableScript>(Fault::CommitTorn), &["half a call was carried out"]);
}

#[test]
fn lease_scripts_find_a_commit_torn_by_a_crash() {
    assert_mentions(&found::<LeaseScript>(Fault::CommitTorn), &["half a call was carried out"]);
}

#[test]
fn job_scripts_find_a_commit_torn_by_a_crash() {
    assert_mentions(&found::<JobScript>(Fault::CommitTorn), &["half a call was carried out"]);
}

#[test]
fn outbox_scripts_find_a_commit_torn_by_a_crash() {
    assert_mentions(&found::<OutboxScript>(Fault::CommitTorn), &["half a call was carried out"]);
}

#[test]
fn an_answer_that_is_lost_whole_is_forgiven() {
    let fresh = async || PlantedHarness::new(ModelHarness::default(), Fault::AnswersLost);
    let tally = search::<WholeScript, _>(Budget::standard(), fresh).expect("no promise was broken");
    for kind in ["answer lost, call carried out", "answer lost, call not carried out"] {
        assert!(tally.count(kind) > 0, "{kind} never happened");
    }
}
