//! What the rules say of a payout now, with headroom.

use windlass_core::chain::U256;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::ledger::{BudgetKey, Payout};
use windlass_core::payout::risk::RiskFacts;
use windlass_core::payout::risk_report::RiskReport;
use windlass_core::payout::store::Payouts;
use windlass_core::time::Timestamp;

use super::{Desk, candidate};
use crate::pay::options::PayOptions;

impl Desk {
    /// What the rules say of a payout now.
    pub async fn report(&self, payout: &Payout) -> Result<RiskReport, DeskError> {
        let now = self.store.now().await?;
        Ok(risk_report(&*self.ledger, &self.options, payout, now).await?)
    }
}

/// What the rules say of a payout now. What the payout holds of the day itself is not counted as
/// used by others.
pub async fn risk_report(
    ledger: &dyn Payouts,
    options: &PayOptions,
    payout: &Payout,
    now: Timestamp,
) -> StoreResult<RiskReport> {
    let (request, day) = (&payout.request, UtcDay::of(now));
    let key = |to| BudgetKey { vault: request.vault, token: request.token, day, to };
    let budgets = ledger.budgets(&[key(None), key(Some(request.to))]).await?;
    let [total, of_recipient] = budgets.as_slice() else {
        return Err(StoreError::Other("two budgets were asked for".to_owned()));
    };
    let own = if payout.budget_day == Some(day) { request.amount } else { U256::ZERO };
    let facts = RiskFacts {
        now,
        day_total: total.total.saturating_sub(own),
        recipient_total: of_recipient.total.saturating_sub(own),
        is_known_recipient: !ledger.paid_to(request.vault, &[request.to]).await?.is_empty(),
    };
    Ok(options.rules.report(&candidate(payout), &facts))
}
