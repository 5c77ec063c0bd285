//! Rows that are replaced or removed whatever the rules say.

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::ledger::{ReplacedRow, RowId};

use super::Ledger;

impl Ledger {
    pub(super) fn replace(&mut self, row: &ReplacedRow) {
        match row.clone() {
            ReplacedRow::Payout(row) => {
                self.payouts.retain(|id, other| *id == row.id || other.request.key != row.request.key);
                self.payouts.insert(row.id, row);
            }
            ReplacedRow::Approval(row) => {
                self.approvals.insert((row.payout, row.approver.clone()), row);
            }
            ReplacedRow::Budget(row) => {
                self.budgets.insert(row.key, row);
            }
            ReplacedRow::Intent(row, attempts) => {
                self.remove(&RowId::Intent(row.id));
                self.attempts.extend(attempts.into_iter().map(|one| ((row.id, one.number), one)));
                self.intents.insert(row.id, row);
            }
            ReplacedRow::Signer(row) => {
                self.signers.insert((row.chain, row.address), row);
            }
            ReplacedRow::ApiKey(row) => {
                self.keys.insert(row.name.clone(), row);
            }
        }
    }

    /// Refuses to remove a payout that a transaction pays.
    pub(super) fn checked_remove(&mut self, row: &RowId) -> StoreResult<()> {
        if let RowId::Payout(id) = row
            && self.intents.values().any(|intent| intent.payouts.contains(id))
        {
            return Err(StoreError::Forbidden("a transaction pays it".to_owned()));
        }
        self.remove(row);
        Ok(())
    }

    fn remove(&mut self, row: &RowId) {
        match row {
            RowId::Payout(id) => {
                self.payouts.remove(id);
                self.approvals.retain(|(payout, _), _| payout != id);
            }
            RowId::Approval { payout, approver } => {
                self.approvals.remove(&(*payout, approver.clone()));
            }
            RowId::Budget(key) => {
                self.budgets.remove(key);
            }
            RowId::Intent(id) => {
                self.intents.remove(id);
                self.attempts.retain(|(intent, _), _| intent != id);
            }
            RowId::Signer { chain, address } => {
                self.signers.remove(&(*chain, *address));
            }
            RowId::ApiKey(name) => {
                self.keys.remove(name);
            }
            RowId::Attempt { intent, number } => {
                self.attempts.remove(&(*intent, *number));
            }
            // Every row of the model can be read.
            RowId::Unreadable { .. } | RowId::ChainIdentity(_) => {}
        }
    }
}
