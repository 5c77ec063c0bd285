//! What is done at the desk, for JSON and GraphQL alike: each deed under the name of who
//! was let in, and counted.

use windlass_core::payout::desk::{Approved, Created, DeskError, NewPayout, Reason};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};

use super::asked::invalid_field;
use crate::access::{Admitted, Verb};
use crate::error::{ApiError, ApiResult};

impl Admitted {
    /// Asks for payouts, for all or for none.
    pub(crate) async fn create(&self, asked: &[NewPayout]) -> ApiResult<Vec<Created>> {
        counted(Verb::Create, self.pay.desk.create(asked, &self.actor).await)
    }

    /// What would become of requests.
    pub(crate) async fn preview_all(&self, asked: &[NewPayout]) -> ApiResult<Vec<Created>> {
        Ok(self.pay.desk.preview_all(asked, &self.actor).await?)
    }

    pub(crate) async fn approve(&self, id: PayoutId) -> ApiResult<Approved> {
        counted(Verb::Approve, self.pay.desk.approve(id, &self.actor).await)
    }

    pub(crate) async fn reject(&self, id: PayoutId, reason: &str) -> ApiResult<Payout> {
        let reason = checked(reason)?;
        counted(Verb::Reject, self.pay.desk.reject(id, &self.actor, &reason).await)
    }

    pub(crate) async fn cancel(&self, id: PayoutId, reason: &str) -> ApiResult<Payout> {
        let reason = checked(reason)?;
        counted(Verb::Cancel, self.pay.desk.cancel(id, &self.actor, &reason).await)
    }

    pub(crate) async fn retry(&self, id: PayoutId, key: IdempotencyKey) -> ApiResult<Created> {
        counted(Verb::Retry, self.pay.desk.retry(id, key, &self.actor).await)
    }
}

fn checked(reason: &str) -> ApiResult<Reason> {
    Reason::new(reason).map_err(|error| invalid_field("reason", error.to_string()))
}

/// Counts a deed by what came of it.
fn counted<T>(verb: Verb, done: Result<T, DeskError>) -> ApiResult<T> {
    let done = done.map_err(ApiError::from);
    let outcome = done.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
    metrics::counter!("windlass_pay_commands_total", "verb" => verb.as_str(), "outcome" => outcome)
        .increment(1);
    done
}
