//! Rejecting and cancelling payouts that nothing was signed for.

use windlass_core::payout::desk::DeskError;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;

use super::{Desk, decide};
use crate::pay::counted;
use crate::pay::page::Page;

impl Desk {
    /// Ends a payout that nothing was signed for; its budget is free again. Ending it
    /// once more changes nothing.
    pub async fn reject(&self, id: PayoutId, by: &str, reason: &str) -> Result<Payout, DeskError> {
        decide!(self.try_reject(id, by, reason))
    }

    /// A payout that nothing was signed for, or that was ended before.
    pub(super) async fn rejectable(&self, id: PayoutId) -> Result<Payout, DeskError> {
        let payout = self.find(id).await?;
        match payout.state {
            PayoutState::PendingRisk | PayoutState::Approved | PayoutState::Rejected => Ok(payout),
            state => Err(DeskError::NotRejectable(state)),
        }
    }

    async fn try_reject(&self, id: PayoutId, by: &str, reason: &str) -> Result<Payout, DeskError> {
        let payout = self.rejectable(id).await?;
        if payout.state == PayoutState::Rejected {
            return Ok(payout);
        }
        let now = self.store.now().await?;
        let mut page = Page::new(&self.clerk(by));
        if let Some(day) = payout.budget_day {
            let budgets = self.budgets(&payout.request, day).await?;
            budgets.into_iter().for_each(|budget| page.budget(budget.without(payout.request.amount)));
        }
        let rejected = payout.rejected(reason, now)?;
        page.payout(Some(&payout), rejected.clone());
        counted::commit(&self.ledger, page.into_commit()).await?;
        Ok(rejected)
    }
}
