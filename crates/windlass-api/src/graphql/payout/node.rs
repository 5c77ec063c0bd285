//! A payout.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, Result};
use windlass_core::money::Amount;
use windlass_core::payout::ledger::{Approval, Payout, fees_of};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::AuditQuery;
use windlass_core::time::Timestamp;

use super::advice::PayoutAdvice;
use super::attempt::{PayoutApproval, PayoutAttempt};
use super::audit::{AuditNode, AuditPage};
use super::connection::{after, limit, rows};
use super::turn;
use crate::error::ApiError;
use crate::graphql::scalar::Long;
use crate::limits::{
    GRAPHQL_PAGE_COMPLEXITY, GRAPHQL_READ_COMPLEXITY, MAX_SHOWN_ATTEMPTS, MAX_SHOWN_INTENTS,
};
use crate::payouts::detail::{is_undecided, known};
use crate::payouts::{Pay, read};

/// Where a payout stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(remote = "PayoutState")]
pub(crate) enum PayoutStatus {
    /// Asked for; nobody has said yes.
    PendingRisk,
    /// Everybody who has to has said yes.
    Approved,
    /// A signed transaction for it is stored, and may be on its way.
    Submitted,
    /// It is in a block that is deep enough.
    Confirmed,
    /// Its transaction was reverted for good: nothing was paid.
    Failed,
    /// It was refused before anything was signed.
    Rejected,
}

/// A payout, as the API answers with it.
pub(crate) struct PayoutNode {
    payout: Payout,
    pay: Arc<Pay>,
}

impl PayoutNode {
    pub(super) fn new(pay: &Arc<Pay>, payout: Payout) -> Self {
        Self { payout, pay: Arc::clone(pay) }
    }

    /// Its reason, if it stands there.
    fn reason_of(&self, state: PayoutState) -> Option<&str> {
        self.payout.reason.as_deref().filter(|_| self.payout.state == state)
    }
}

/// A payout. Times are seconds since 1970.
#[Object(name = "PayoutRequest")]
impl PayoutNode {
    async fn id(&self) -> ID {
        ID(self.payout.id.to_string())
    }

    /// The id under which the vault knows it.
    async fn request_id(&self) -> String {
        self.payout.request.request_id().to_string()
    }

    /// Who gets it.
    async fn to(&self) -> String {
        self.payout.request.to.to_checksum(None)
    }

    /// What people call the token; its address where that is not known.
    async fn asset(&self) -> String {
        self.pay.asset(self.payout.request.token)
    }

    /// In base units of the token, decimal.
    async fn amount(&self) -> String {
        self.payout.request.amount.to_string()
    }

    /// In whole tokens, exact; nothing where the token's decimals are not known.
    async fn decimal_amount(&self) -> Option<String> {
        let token = self.pay.info.tokens.get(&self.payout.request.token)?.clone();
        Some(Amount { units: self.payout.request.amount, token }.decimal())
    }

    /// What it is for, in the words of whoever created it.
    async fn memo(&self) -> Option<&str> {
        self.payout.memo.as_ref().map(Memo::as_str)
    }

    /// The client's identifier for it in another system.
    async fn reference(&self) -> Option<&str> {
        self.payout.reference.as_ref().map(Reference::as_str)
    }

    async fn status(&self) -> PayoutStatus {
        self.payout.state.into()
    }

    /// Why it was rejected.
    async fn risk_reason(&self) -> Option<&str> {
        self.reason_of(PayoutState::Rejected)
    }

    /// The transaction that has paid it, or else the newest that is to.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + child_complexity")]
    async fn tx_hash(&self, context: &Context<'_>) -> Result<Option<String>> {
        let _turn = turn(context).await?;
        Ok(read::transaction(&*self.pay.ledger, &self.payout).await?)
    }

    async fn submitted_at(&self) -> Option<String> {
        self.payout.submitted_at.map(seconds)
    }

    async fn confirmed_at(&self) -> Option<String> {
        self.payout.confirmed_at.map(seconds)
    }

    /// Why it has failed.
    async fn failed_reason(&self) -> Option<&str> {
        self.reason_of(PayoutState::Failed)
    }

    async fn created_at(&self) -> String {
        seconds(self.payout.created_at)
    }

    async fn updated_at(&self) -> String {
        seconds(self.payout.updated_at)
    }

    /// Since when nothing can undo it.
    async fn finalized_at(&self) -> Option<String> {
        self.payout.finalized_at.map(seconds)
    }

    async fn idempotency_key(&self) -> &str {
        self.payout.request.key.as_str()
    }

    /// Why it waits, if it does.
    async fn hold_reason(&self) -> Option<&str> {
        self.payout.hold.as_ref().map(|hold| hold.reason.as_str())
    }

    /// Until when it waits at least, where that is known.
    async fn hold_until(&self) -> Option<String> {
        self.payout.hold.as_ref()?.until.map(seconds)
    }

    /// The payout that is tried again by this one.
    async fn retry_of(&self) -> Option<ID> {
        self.payout.retry_of.map(|id| ID(id.to_string()))
    }

    /// Who asked for it.
    async fn created_by(&self) -> &str {
        &self.payout.created_by
    }

    async fn chain(&self) -> Long {
        Long(self.payout.request.vault.chain.as_u64())
    }

    /// The vault that pays.
    async fn vault(&self) -> String {
        self.payout.request.vault.address.to_checksum(None)
    }

    /// The token's contract; the zero address for the chain's own coin.
    async fn token(&self) -> String {
        self.payout.request.token.to_checksum(None)
    }

    /// Who has approved it, by name.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + 5 * child_complexity")]
    async fn approvals(&self, context: &Context<'_>) -> Result<Option<Vec<PayoutApproval>>> {
        let _turn = turn(context).await?;
        let approvals = self.pay.ledger.approvals(&[self.payout.id]).await.map_err(ApiError::from)?;
        let approval =
            |approval: Approval| PayoutApproval { approver: approval.approver, at: seconds(approval.at) };
        Ok(Some(approvals.into_iter().map(approval).collect()))
    }

    /// How many have to approve it.
    async fn approvals_needed(&self) -> u32 {
        self.pay.desk.needed(&self.payout)
    }

    /// What the rules say of it now, with headroom, until it is signed.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + 6 * child_complexity")]
    async fn advice(&self, context: &Context<'_>) -> Result<Option<PayoutAdvice>> {
        if !is_undecided(&self.payout, &self.pay.info) {
            return Ok(None);
        }
        let _turn = turn(context).await?;
        let report = known(self.pay.desk.report(&self.payout).await).map_err(ApiError::from)?;
        Ok(report.map(PayoutAdvice::from))
    }

    /// What its transactions have cost so far, in wei of the chain's own coin: of a batch, its
    /// share. Nothing where no receipt has told.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + child_complexity")]
    async fn fee(&self, context: &Context<'_>) -> Result<Option<String>> {
        let _turn = turn(context).await?;
        let intents = self.pay.ledger.intents_of(self.payout.id).await.map_err(ApiError::from)?;
        Ok(fees_of(self.payout.id, &intents).map(|fee| fee.to_string()))
    }

    /// What was signed for it, the oldest first; of many, the newest.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + MAX_SHOWN_INTENTS * child_complexity")]
    async fn attempts(&self, context: &Context<'_>) -> Result<Option<Vec<PayoutAttempt>>> {
        let _turn = turn(context).await?;
        let intents = read::intents(&*self.pay.ledger, self.payout.id).await?;
        let mut attempts: Vec<PayoutAttempt> =
            intents.iter().flat_map(|(intent, attempts)| PayoutAttempt::all(intent, attempts)).collect();
        Ok(Some(attempts.split_off(attempts.len().saturating_sub(MAX_SHOWN_ATTEMPTS))))
    }

    /// What was done with it, the oldest first.
    #[graphql(complexity = "GRAPHQL_PAGE_COMPLEXITY + rows(first).saturating_mul(child_complexity)")]
    async fn audit_trail(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "1 to 100.", default = 20)] first: i32,
        #[graphql(name = "after", desc = "The cursor of the edge to go on behind.")] behind: Option<String>,
    ) -> Result<Option<AuditPage>> {
        let query = AuditQuery {
            subject: Some(self.payout.id.to_string()),
            after: behind.as_deref().map_or(Ok(0), |text| after("seq", text))?,
            limit: limit(first)?,
        };
        let _turn = turn(context).await?;
        let page = read::audit(&*self.pay.ledger, query).await?;
        Ok(Some(AuditNode::page(page, behind.is_some())?))
    }
}

/// Seconds since 1970, as text.
pub(super) fn seconds(at: Timestamp) -> String {
    at.as_ms().div_euclid(1_000).to_string()
}
