//! Rows that nothing is about to be done with, a part of them at each check: payouts at their end, and
//! transactions and sums that the log does not name as open.
//!
//! The newest payouts are looked at in each check, and all others in turn. So the work of a check is
//! bounded, whatever a table holds, and a round takes as many checks as the table has parts.

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{BudgetKey, IntentId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};

use crate::pay::ledger::Ledger;

/// So many pages of payouts are looked at in a check, besides the newest page: 20,000 payouts.
const PAYOUT_PAGES: usize = 20;
/// So many pages of transactions, and of sums.
const OTHER_PAGES: usize = 5;

/// How far the tables were looked at; none at the beginning of a round.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    payout: Option<PayoutId>,
    intent: Option<IntentId>,
    budget: Option<BudgetKey>,
}

impl Rounds {
    /// Looks at the next parts. What is wrong is reported by the ledger.
    pub(super) async fn step(&mut self, ledger: &Ledger) -> StoreResult<()> {
        let newest = PayoutQuery { newest_first: true, limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
        ledger.check_page(&newest).await?;
        self.payouts(ledger).await?;
        self.intents(ledger).await?;
        self.budgets(ledger).await
    }

    async fn payouts(&mut self, ledger: &Ledger) -> StoreResult<()> {
        for _ in 0..PAYOUT_PAGES {
            let query = PayoutQuery { after: self.payout, limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
            self.payout = ledger.check_page(&query).await?.last(false);
            if self.payout.is_none() {
                break;
            }
        }
        Ok(())
    }

    async fn intents(&mut self, ledger: &Ledger) -> StoreResult<()> {
        for _ in 0..OTHER_PAGES {
            let page = ledger.check_intents(self.intent, MAX_PAYOUT_PAGE).await?;
            self.intent = page.rows.iter().chain(&page.refused).map(|row| row.id).max();
            if self.intent.is_none() {
                break;
            }
        }
        Ok(())
    }

    async fn budgets(&mut self, ledger: &Ledger) -> StoreResult<()> {
        for _ in 0..OTHER_PAGES {
            let page = ledger.check_budgets(self.budget, MAX_PAYOUT_PAGE).await?;
            self.budget = page.rows.iter().chain(&page.refused).map(|row| row.key).max();
            if self.budget.is_none() {
                break;
            }
        }
        Ok(())
    }
}
