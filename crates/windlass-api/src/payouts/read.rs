//! Pages of payouts and of the log, and what belongs to one payout.

use windlass_core::error::StoreResult;
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::ledger::{Attempt, Intent, Payout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE, PayoutQuery, Payouts};

use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::limits::{MAX_SHOWN_ATTEMPTS, MAX_SHOWN_INTENTS};

/// A page, and whether others follow.
#[derive(Debug)]
pub(crate) struct PageOf<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) has_more: bool,
}

/// A page of payouts, in the order in which they were asked for.
pub(crate) async fn payouts(ledger: &dyn Payouts, query: PayoutQuery) -> StoreResult<PageOf<Payout>> {
    let limit = query.limit;
    let (asked, limit_len) = (with_one_more(limit), limit as usize);
    let mut rows = ledger.list_payouts(&PayoutQuery { limit: asked, ..query.clone() }).await?;
    // A store answers with no more than its own maximum: then the next one is asked for apart.
    let has_more = match rows.last() {
        Some(last) if rows.len() == limit_len && asked == limit => {
            let next = PayoutQuery { after: Some(last.id), limit: 1, ..query };
            !ledger.list_payouts(&next).await?.is_empty()
        }
        _ => rows.len() > limit_len,
    };
    rows.truncate(limit_len);
    Ok(PageOf { rows, has_more })
}

/// A page of the log, in order.
pub(crate) async fn audit(ledger: &dyn Payouts, query: AuditQuery) -> ApiResult<PageOf<AuditRow>> {
    let limit = query.limit;
    let (asked, limit_len) = (with_one_more(limit), limit as usize);
    let mut rows = ledger.audit_rows(&AuditQuery { limit: asked, ..query.clone() }).await?;
    let has_more = match rows.last() {
        Some(last) if rows.len() == limit_len && asked == limit => {
            let next = AuditQuery { after: last.seq, limit: 1, ..query };
            !ledger.audit_rows(&next).await?.is_empty()
        }
        _ => rows.len() > limit_len,
    };
    rows.truncate(limit_len);
    Ok(PageOf { rows, has_more })
}

fn with_one_more(limit: u32) -> u32 {
    limit.saturating_add(1).min(MAX_PAYOUT_PAGE)
}

/// A payout that has to be there.
pub(crate) async fn payout(ledger: &dyn Payouts, id: PayoutId) -> ApiResult<Payout> {
    let found = ledger.payouts(&[id]).await?.pop();
    found.ok_or_else(|| ApiError::new(ErrorCode::NotFound, "request not found"))
}

/// The newest transactions that were to pay a payout, each with the newest of its signed forms.
pub(crate) async fn intents(ledger: &dyn Payouts, id: PayoutId) -> ApiResult<Vec<(Intent, Vec<Attempt>)>> {
    Ok(with_attempts(ledger, ledger.intents_of(id).await?).await?)
}

/// The newest of a payout's transactions, each with the newest of its signed forms.
pub(crate) async fn with_attempts(
    ledger: &dyn Payouts,
    mut intents: Vec<Intent>,
) -> StoreResult<Vec<(Intent, Vec<Attempt>)>> {
    intents.sort_by_key(|intent| (intent.created_at, intent.id));
    let mut shown = Vec::new();
    for intent in intents.split_off(intents.len().saturating_sub(MAX_SHOWN_INTENTS)) {
        let mut attempts = ledger.attempts(intent.id).await?;
        let newest = attempts.split_off(attempts.len().saturating_sub(MAX_SHOWN_ATTEMPTS));
        shown.push((intent, newest));
    }
    Ok(shown)
}

/// The transaction that has paid a payout, or else the newest that is to.
pub(crate) async fn transaction(ledger: &dyn Payouts, payout: &Payout) -> ApiResult<Option<String>> {
    if let Some(inclusion) = payout.inclusion {
        return Ok(Some(inclusion.transaction.to_string()));
    }
    let Some(intent) = payout.intent else { return Ok(None) };
    let attempts = ledger.attempts(intent).await?;
    Ok(attempts.last().map(|attempt| attempt.hash.to_string()))
}
