//! What becomes of a payout, and the rows that say so.

use serde_json::json;
use windlass_core::job::NewJob;
use windlass_core::payout::ledger::{IllegalMove, Inclusion, Payout};
use windlass_core::payout::state::PayoutState;
use windlass_core::time::Timestamp;

use crate::pay::desk::budgets;
use crate::pay::error::PayError;
use crate::pay::names::PayNames;
use crate::pay::page::Page;
use crate::pay::payer::Payer;

/// What becomes of a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing new.
    Same,
    /// It is in a block that is not deep enough, or no longer in one.
    Seen(Option<Inclusion>),
    /// Its block is deep enough, and perhaps final.
    Confirmed { inclusion: Inclusion, is_final: bool },
    /// Its block is gone.
    Reorganised(Option<Inclusion>),
    /// The vault has paid it in another transaction, for good.
    Found(Inclusion),
    /// It was not paid, and will not be.
    Failed(String),
    /// Its transaction is over without payment; another one has to be made.
    Again,
}

impl Next {
    /// A payout's rows from here on, itself the first. One that was found paid is written
    /// as a whole elsewhere.
    pub(super) fn rows(&self, payout: &Payout, now: Timestamp) -> Result<Vec<Payout>, IllegalMove> {
        let mut rows = vec![payout.clone()];
        let is_confirmed = payout.state == PayoutState::Confirmed;
        match self {
            Self::Seen(inclusion) => rows.push(payout.seen(*inclusion, now)),
            Self::Confirmed { inclusion, is_final } => {
                let mut last = payout.clone();
                if !is_confirmed {
                    last = last.confirmed(*inclusion, now)?;
                    rows.push(last.clone());
                } else if last.inclusion != Some(*inclusion) {
                    last = last.seen(Some(*inclusion), now);
                    rows.push(last.clone());
                }
                rows.extend(is_final.then(|| last.finalized(now)));
            }
            Self::Reorganised(inclusion) => {
                let back = payout.reorganised(now)?;
                let seen = inclusion.map(|inclusion| back.seen(Some(inclusion), now));
                rows.push(back);
                rows.extend(seen);
            }
            Self::Failed(reason) if is_confirmed => {
                let back = payout.reorganised(now)?;
                rows.push(back.clone());
                rows.push(back.failed(reason.clone(), now)?);
            }
            Self::Failed(reason) => rows.push(payout.failed(reason.clone(), now)?),
            Self::Again if is_confirmed => rows.push(payout.reorganised(now)?),
            Self::Again if payout.inclusion.is_some() => rows.push(payout.seen(None, now)),
            Self::Same | Self::Found(_) | Self::Again => {}
        }
        Ok(rows)
    }

    /// Writes it, with all that belongs to it.
    pub(super) async fn write(
        &self,
        payer: &Payer,
        page: &mut Page,
        payout: &Payout,
        now: Timestamp,
    ) -> Result<(), PayError> {
        match self {
            Self::Found(inclusion) => page.found_paid(payout, *inclusion, now)?,
            Self::Reorganised(_) => {
                page.note("payout.reorganised", payout.id, json!({"was": payout.inclusion}));
            }
            Self::Failed(_) => free(payer, page, payout).await?,
            Self::Again => {
                let lane = PayNames::payout_lane(payout.id)?;
                page.note("payout.again", payout.id, json!({"after": payout.intent}));
                page.job(NewJob::new(payer.names.submit.clone(), lane, "{}"));
            }
            Self::Same | Self::Seen(_) | Self::Confirmed { .. } => {}
        }
        for pair in self.rows(payout, now)?.windows(2) {
            page.payout(Some(&pair[0]), pair[1].clone());
        }
        Ok(())
    }
}

/// Gives back what a day holds for a payout that will not be made.
async fn free(payer: &Payer, page: &mut Page, payout: &Payout) -> Result<(), PayError> {
    let Some(day) = payout.budget_day else { return Ok(()) };
    for budget in budgets(&payer.ledger, &payout.request, day).await? {
        let budget = page.planned(budget);
        page.budget(budget.without(payout.request.amount));
    }
    Ok(())
}
