//! What can be asked about payouts.

use async_graphql::{Context, ID, Object, Result};
use windlass_core::payout::memo::Reference;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::{AuditQuery, PayoutQuery};

use super::admit;
use super::audit::{AuditEnd, AuditNode, AuditPage};
use super::connection::{Page, after, connection, cursor, limit, rows};
use super::node::{PayoutNode, PayoutStatus};
use super::totals::DailyTotals;
use crate::access::Verb;
use crate::error::ApiError;
use crate::limits::{GRAPHQL_PAGE_COMPLEXITY, GRAPHQL_READ_COMPLEXITY, GRAPHQL_SUM_COMPLEXITY};
use crate::payouts::asked::invalid_field;
use crate::payouts::{read, totals};

/// Questions about payouts.
#[derive(Debug, Default)]
pub(crate) struct PayoutQueries;

#[Object]
impl PayoutQueries {
    /// `ok`, whoever asks.
    async fn health(&self) -> &str {
        "ok"
    }

    /// A payout; nothing where there is none of this id.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + child_complexity")]
    async fn payout_request(&self, context: &Context<'_>, id: ID) -> Result<Option<PayoutNode>> {
        let admitted = admit(context, Verb::Read).await?;
        let Ok(id) = id.parse::<PayoutId>() else { return Ok(None) };
        let found = admitted.pay.ledger.payouts(&[id]).await.map_err(ApiError::from)?.pop();
        Ok(found.map(|payout| PayoutNode::new(&admitted.pay, payout)))
    }

    /// Payouts in the order in which they were asked for.
    #[graphql(complexity = "GRAPHQL_PAGE_COMPLEXITY + rows(first).saturating_mul(child_complexity)")]
    async fn payout_requests(
        &self,
        context: &Context<'_>,
        status: Option<PayoutStatus>,
        #[graphql(desc = "Those with this external reference.")] reference: Option<String>,
        #[graphql(desc = "1 to 100.")] first: i32,
        #[graphql(name = "after", desc = "The cursor of the edge to go on behind.")] behind: Option<String>,
    ) -> Result<Page<PayoutNode>> {
        let admitted = admit(context, Verb::Read).await?;
        let reference = reference.map(Reference::new).transpose();
        let query = PayoutQuery {
            state: status.map(Into::into),
            reference: reference.map_err(|error| invalid_field("reference", error))?,
            after: behind.as_deref().map(|text| after("id", text)).transpose()?,
            limit: limit(first)?,
            ..PayoutQuery::default()
        };
        let page = read::payouts(&*admitted.pay.ledger, query).await.map_err(ApiError::from)?;
        let node = |payout| PayoutNode::new(&admitted.pay, payout);
        connection(page, behind.is_some(), |payout| Ok((cursor("id", payout.id), node(payout))))
    }

    /// What a day holds of each token, and what is left of its limit.
    #[graphql(complexity = "GRAPHQL_SUM_COMPLEXITY + child_complexity")]
    async fn daily_totals(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "A date in UTC, by default today.")] day: Option<String>,
    ) -> Result<DailyTotals> {
        let admitted = admit(context, Verb::Read).await?;
        Ok(totals::read(&admitted.pay, day.as_deref()).await?.into())
    }

    /// Everything that was done, the oldest first.
    #[graphql(complexity = "GRAPHQL_PAGE_COMPLEXITY + rows(first).saturating_mul(child_complexity)")]
    async fn audit_log(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "1 to 100.")] first: i32,
        #[graphql(name = "after", desc = "The cursor of the edge to go on behind.")] behind: Option<String>,
    ) -> Result<AuditPage> {
        let admitted = admit(context, Verb::Read).await?;
        let query = AuditQuery {
            subject: None,
            after: behind.as_deref().map_or(Ok(0), |text| after("seq", text))?,
            limit: limit(first)?,
        };
        AuditNode::page(read::audit(&*admitted.pay.ledger, query).await?, behind.is_some())
    }

    /// The end of the log, to be kept elsewhere.
    #[graphql(complexity = "GRAPHQL_READ_COMPLEXITY + child_complexity")]
    async fn audit_head(&self, context: &Context<'_>) -> Result<AuditEnd> {
        let admitted = admit(context, Verb::Read).await?;
        Ok(admitted.pay.ledger.audit_head().await.map_err(ApiError::from)?.into())
    }
}
