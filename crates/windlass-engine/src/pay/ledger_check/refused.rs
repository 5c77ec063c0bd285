//! Rows that were refused, looked at again: one that was put right since is used again, and no longer
//! reported, also where nothing else reads it.

use std::collections::BTreeSet;

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{IntentId, RowId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};

use super::passing;
use crate::pay::ledger::Ledger;

/// So many refused rows are looked at again in a check, of each kind.
const MAX_ROWS: usize = 10 * MAX_PAYOUT_PAGE as usize;

/// Looks at what was refused.
pub(super) async fn look_again(ledger: &Ledger) -> StoreResult<()> {
    let (mut payouts, mut approved) = (BTreeSet::<PayoutId>::new(), BTreeSet::<PayoutId>::new());
    let (mut intents, mut signed) = (BTreeSet::<IntentId>::new(), BTreeSet::<IntentId>::new());
    let mut sums = BTreeSet::new();
    for forgery in ledger.forgeries() {
        match forgery.row {
            RowId::Payout(id) => payouts.insert(id),
            RowId::Approval { payout, .. } => approved.insert(payout),
            RowId::Intent(id) => intents.insert(id),
            RowId::Attempt { intent, .. } => signed.insert(intent),
            RowId::Budget(key) => sums.insert(key),
            // All of them are looked at in each check.
            RowId::Signer { .. } | RowId::ApiKey(_) | RowId::ChainIdentity(_) | RowId::Unreadable { .. } => {
                false
            }
        };
    }
    let page = MAX_PAYOUT_PAGE as usize;
    for ids in chunks(payouts, page) {
        ledger.check_payouts(&ids).await?;
    }
    for ids in chunks(approved, page) {
        ledger.approvals(&ids).await?;
    }
    for keys in chunks(sums, page) {
        // One that is refused does not keep the others from being looked at.
        for key in keys {
            passing(ledger.budgets(&[key]).await)?;
        }
    }
    for id in intents.into_iter().take(MAX_ROWS) {
        passing(ledger.intent(id).await)?;
    }
    for id in signed.into_iter().take(MAX_ROWS) {
        passing(ledger.attempts(id).await)?;
    }
    Ok(())
}

fn chunks<T: Copy>(rows: BTreeSet<T>, page: usize) -> Vec<Vec<T>> {
    let rows: Vec<T> = rows.into_iter().take(MAX_ROWS).collect();
    rows.chunks(page).map(<[T]>::to_vec).collect()
}
