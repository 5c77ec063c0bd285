//! Approving payouts: binding, with the day's budget held in the same commit.

use serde_json::json;
use windlass_core::commit::Write;
use windlass_core::job::NewJob;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Approval, PayWrite, Payout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::state::PayoutState;

use super::{Desk, DeskError, decide};
use crate::pay::names::PayNames;
use crate::pay::page::Page;

/// What an approval has brought about.
#[derive(Debug, Clone)]
pub struct Approved {
    /// The payout, as it stands now: approved, rejected by the rules, or waiting for more approvers.
    pub payout: Payout,
    /// How many have approved it.
    pub approvals: u32,
    /// How many have to.
    pub needed: u32,
}

impl Desk {
    /// Says yes to a payout. The last yes that it takes asks the rules: what they refuse
    /// is rejected, the rest holds its part of the day's budget from now on. Saying yes
    /// again changes nothing.
    pub async fn approve(&self, id: PayoutId, approver: &str) -> Result<Approved, DeskError> {
        decide!(self.try_approve(id, approver))
    }

    async fn try_approve(&self, id: PayoutId, approver: &str) -> Result<Approved, DeskError> {
        let payout = self.find(id).await?;
        if payout.created_by == approver {
            return Err(DeskError::OwnPayout);
        }
        let needed = self.options.approvals.needed(payout.request.token, payout.request.amount);
        let given = self.store.approvals(id).await?;
        let approvals = u32::try_from(given.len()).unwrap_or(u32::MAX);
        let is_repeated = given.iter().any(|approval| approval.approver == approver);
        if payout.state != PayoutState::PendingRisk {
            // Whoever has approved it is told how it stands, not that it is too late.
            let told = Approved { payout: payout.clone(), approvals, needed };
            return if is_repeated { Ok(told) } else { Err(DeskError::NotPending(payout.state)) };
        }
        if is_repeated && approvals < needed {
            return Ok(Approved { payout, approvals, needed });
        }
        let now = self.store.now().await?;
        let mut page = Page::new(&self.clerk(approver));
        let approvals = if is_repeated {
            approvals
        } else {
            let approval = Approval { payout: id, approver: approver.to_owned(), at: now };
            page.write_last(Write::Pay(PayWrite::Approvals(vec![approval])));
            approvals + 1
        };
        page.note("payout.approval", id, json!({"approvals": approvals, "needed": needed}));
        let after =
            if approvals < needed { payout.touched(now) } else { self.decided(&mut page, &payout).await? };
        page.payout(Some(&payout), after.clone());
        self.store.commit(page.into_commit()).await?;
        Ok(Approved { payout: after, approvals, needed })
    }

    /// Approved with its budget, or rejected by the rules.
    async fn decided(&self, page: &mut Page, payout: &Payout) -> Result<Payout, DeskError> {
        let now = self.store.now().await?;
        let day = UtcDay::of(now);
        let budgets = self.budgets(&payout.request, day).await?;
        let verdict = self.verdict(payout, &budgets, now).await?;
        if let RiskVerdict::Refused(reason) = verdict {
            return Ok(payout.rejected(reason.to_string(), now)?);
        }
        budgets.into_iter().for_each(|budget| page.budget(budget.with(payout.request.amount)));
        let mut job = NewJob::new(self.names.submit.clone(), PayNames::payout_lane(payout.id)?, "{}");
        let mut approved = payout.approved(day, now)?;
        if let RiskVerdict::Waits { until } = verdict {
            job.not_before = Some(until);
            approved.hold = Some(windlass_core::payout::ledger::Hold {
                reason: "first payment to this recipient".to_owned(),
                until: Some(until),
            });
        }
        page.job(job);
        Ok(approved)
    }
}
