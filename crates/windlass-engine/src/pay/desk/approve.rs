//! Approving payouts: binding, with the day's budget held in the same commit.

use serde_json::json;
use windlass_core::chain::B256;
use windlass_core::commit::Write;
use windlass_core::job::NewJob;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::desk::{Approved, DeskError, Prospect};
use windlass_core::payout::ledger::{Approval, PayWrite, Payout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::state::PayoutState;

use super::{Desk, decide};
use crate::pay::approvals::Approvals;
use crate::pay::counted;
use crate::pay::names::PayNames;
use crate::pay::page::Page;

/// How a payout stands for an approver.
struct Standing {
    payout: Payout,
    /// How many have approved it.
    approvals: u32,
    needed: u32,
    /// Whether the approver has, too.
    is_repeated: bool,
}

impl Standing {
    /// Whether the approver has approved it before, and saying yes again decides nothing.
    fn changes_nothing(&self) -> bool {
        self.is_repeated && (self.approvals < self.needed || self.payout.state != PayoutState::PendingRisk)
    }
}

/// A payout after an approval.
struct Given {
    payout: Payout,
    approvals: u32,
    needed: u32,
}

impl Desk {
    /// Says yes to a payout. The last yes that it takes asks the rules: what they refuse
    /// is rejected, the rest holds its part of the day's budget from now on. Saying yes
    /// again changes nothing.
    pub async fn approve(&self, id: PayoutId, approver: &str) -> Result<Approved, DeskError> {
        let Given { payout, approvals, needed } = decide!(self.try_approve(id, approver))?;
        let report = self.report(&payout).await;
        let report =
            report.inspect_err(|error| tracing::warn!(payout = %id, %error, "the headroom is not known"));
        let report = report.ok();
        Ok(Approved { payout, approvals, needed, report })
    }

    /// What saying yes would bring about.
    pub async fn preview_approve(&self, id: PayoutId, approver: &str) -> Result<Prospect, DeskError> {
        let standing = self.standing(id, approver).await?;
        if !standing.changes_nothing() {
            self.known_token(standing.payout.request.token)?;
        }
        let Standing { payout, approvals, needed, is_repeated } = standing;
        let report = self.report(&payout).await?;
        let approvals = approvals + u32::from(!is_repeated);
        Ok(Prospect { payout, approvals, needed, is_repeated, report })
    }

    /// How a payout stands for an approver, if they may approve it.
    async fn standing(&self, id: PayoutId, approver: &str) -> Result<Standing, DeskError> {
        let payout = self.find(id).await?;
        if payout.created_by == approver {
            return Err(DeskError::OwnPayout);
        }
        let needed = self.options.approvals.needed(payout.request.token, payout.request.amount);
        let given = Approvals::of(&self.ledger, &[id]).await?;
        let approvals = given.count(&payout, &self.options).len();
        let is_repeated = given.is_by(id, approver);
        // More may be needed by now, or some no longer count.
        let is_short = payout.state == PayoutState::Approved && approvals < needed;
        // Whoever has approved it is told how it stands, not that it is too late.
        if payout.state != PayoutState::PendingRisk && !is_short && !is_repeated {
            return Err(DeskError::NotPending(payout.state));
        }
        Ok(Standing { payout, approvals, needed, is_repeated })
    }

    async fn try_approve(&self, id: PayoutId, approver: &str) -> Result<Given, DeskError> {
        let standing = self.standing(id, approver).await?;
        let changes_nothing = standing.changes_nothing();
        let Standing { payout, approvals, needed, is_repeated } = standing;
        if changes_nothing {
            return Ok(Given { payout, approvals, needed });
        }
        let is_pending = payout.state == PayoutState::PendingRisk;
        // What was taken out of the configuration has no limits any more, and is not paid.
        self.known_token(payout.request.token)?;
        let now = self.store.now().await?;
        let mut page = Page::new(&self.clerk(approver));
        let approvals = if is_repeated {
            approvals
        } else {
            let mac = B256::ZERO;
            let approval = Approval { payout: id, approver: approver.to_owned(), at: now, mac };
            page.write_last(Write::Pay(PayWrite::Approvals(vec![approval])));
            approvals + 1
        };
        page.note("payout.approval", id, json!({"approvals": approvals, "needed": needed}));
        let is_decided = is_pending && approvals >= needed;
        let after = if is_decided { self.decided(&mut page, &payout).await? } else { payout.touched(now) };
        page.payout(Some(&payout), after.clone());
        counted::commit(&self.ledger, page.into_commit()).await?;
        Ok(Given { payout: after, approvals, needed })
    }

    /// Approved with its budget, or rejected by the rules.
    async fn decided(&self, page: &mut Page, payout: &Payout) -> Result<Payout, DeskError> {
        let now = self.store.now().await?;
        let day = UtcDay::of(now);
        let facts = self.facts(&[payout], now).await?;
        let verdict = facts.verdict(&self.options.rules, payout);
        if let RiskVerdict::Refused(reason) = verdict {
            let reason = self.options.refusal(reason, &payout.request, &facts.of(payout));
            return Ok(payout.rejected(reason, now)?);
        }
        let held = facts.budgets_of(payout).map(|budget| budget.with(payout.request.amount));
        held.into_iter().for_each(|budget| page.budget(budget));
        let job = NewJob::new(self.names.submit.clone(), PayNames::payout_lane(payout.id)?, "{}");
        let mut approved = payout.approved(day, now)?;
        if let RiskVerdict::Waits { until } = verdict {
            approved.hold = Some(windlass_core::payout::ledger::Hold {
                reason: "first payment to this recipient".to_owned(),
                until: Some(until),
            });
        }
        page.job(job);
        Ok(approved)
    }
}
