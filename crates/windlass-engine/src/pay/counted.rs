//! What is counted of paying. Everything that is done is an entry of the audit log, so the
//! entries that were committed are what is counted.

use metrics::counter;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::PayWrite;

use super::ledger::Ledger;

/// Entries of the audit log that this process has written, by action.
pub const ACTIONS_TOTAL: &str = "windlass_pay_actions_total";
/// What this process has claimed, by lane and outcome.
pub const CLAIMS_TOTAL: &str = "windlass_pay_claims_total";

/// Commits, and counts what was done once it is.
pub(super) async fn commit(ledger: &Ledger, commit: Commit) -> StoreResult<()> {
    let actions = actions(&commit);
    ledger.commit(commit).await?;
    actions.into_iter().for_each(|action| counter!(ACTIONS_TOTAL, "action" => action).increment(1));
    Ok(())
}

/// What a claim has brought.
pub(super) fn claimed(lane: &'static str, jobs: usize) {
    let outcome = if jobs == 0 { "nothing" } else { "taken" };
    counter!(CLAIMS_TOTAL, "lane" => lane, "outcome" => outcome).increment(1);
}

fn actions(commit: &Commit) -> Vec<String> {
    let entries = commit.writes.iter().filter_map(|write| match write {
        Write::Pay(PayWrite::Audit { entries, .. }) => Some(entries),
        _ => None,
    });
    entries.flatten().map(|entry| entry.action.clone()).collect()
}
