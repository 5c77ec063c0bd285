//! Payouts in GraphQL: what the payout orchestrator's users know, and more.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `query`, `mutation` | what can be asked, what can be done |
//! | `node`, `advice`, `attempt`, `audit`, `totals` | what is answered |
//! | `connection` | pages and their cursors |

mod advice;
mod attempt;
mod audit;
mod connection;
mod mutation;
mod node;
mod query;
mod totals;

use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::{Context, Result};
use tokio::sync::{Semaphore, SemaphorePermit};

pub(crate) use self::mutation::PayoutMutations;
pub(crate) use self::query::PayoutQueries;
use crate::access::{Admitted, Gate, Verb};
use crate::error::{ApiError, ApiResult};
use crate::limits::MAX_GRAPHQL_READS;
use crate::payouts::asked::invalid_field;
use crate::payouts::{not_configured, one_key};

/// Who asks, and how much is read for them at once.
pub(super) struct Asker {
    gate: Option<Gate>,
    /// What belongs to the payouts of a page is read payout by payout, and what is asked of
    /// tables by each field: not for all at once.
    reads: Semaphore,
    /// The key of the header `Idempotency-Key`.
    header_key: HeaderKey,
}

/// The key that came as a header: it names one payout, so one mutation of a document takes it.
pub(super) struct HeaderKey {
    given: ApiResult<Option<String>>,
    is_taken: AtomicBool,
}

impl HeaderKey {
    pub(super) const fn new(given: ApiResult<Option<String>>) -> Self {
        Self { given, is_taken: AtomicBool::new(false) }
    }

    /// The key of a payout: the argument's, or else the header's.
    fn or_argument(&self, argument: Option<String>) -> ApiResult<Option<String>> {
        let header = self.given.clone()?;
        let key = one_key(argument, header.clone())?;
        if header.is_some() && self.is_taken.swap(true, Ordering::Relaxed) {
            let why = "it names one payout, and this document asks for several";
            return Err(invalid_field("Idempotency-Key", why)
                .hint("leave the header out, and give each of them the argument `idempotencyKey`"));
        }
        Ok(key)
    }
}

impl Asker {
    pub(super) fn new(gate: Option<Gate>, header_key: HeaderKey) -> Self {
        Self { gate, reads: Semaphore::new(MAX_GRAPHQL_READS), header_key }
    }
}

/// Lets whoever asks do this, or says why not.
async fn admit(context: &Context<'_>, verb: Verb) -> Result<Admitted> {
    let gate = context.data::<Asker>()?.gate.as_ref().ok_or_else(not_configured)?;
    Ok(gate.admit(verb).await?)
}

/// The key of the payout that a mutation asks for, from its argument or from the header.
fn asked_key(context: &Context<'_>, argument: Option<String>) -> Result<Option<String>> {
    Ok(context.data::<Asker>()?.header_key.or_argument(argument)?)
}

/// Waits for a turn to read.
pub(super) async fn turn<'a>(context: &Context<'a>) -> Result<SemaphorePermit<'a>> {
    let reads = &context.data::<Asker>()?.reads;
    Ok(reads.acquire().await.map_err(ApiError::internal)?)
}
