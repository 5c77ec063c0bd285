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

use async_graphql::{Context, Result};
use tokio::sync::{Semaphore, SemaphorePermit};

pub(crate) use self::mutation::PayoutMutations;
pub(crate) use self::query::PayoutQueries;
use crate::access::{Admitted, Gate, Verb};
use crate::error::ApiError;
use crate::limits::MAX_GRAPHQL_READS;
use crate::payouts::not_configured;

/// Who asks, and how much is read for them at once.
pub(super) struct Asker {
    gate: Option<Gate>,
    /// What belongs to the payouts of a page is read payout by payout, and what is asked of
    /// tables by each field: not for all at once.
    reads: Semaphore,
}

impl Asker {
    pub(super) fn new(gate: Option<Gate>) -> Self {
        Self { gate, reads: Semaphore::new(MAX_GRAPHQL_READS) }
    }
}

/// Lets whoever asks do this, or says why not.
async fn admit(context: &Context<'_>, verb: Verb) -> Result<Admitted> {
    let gate = context.data::<Asker>()?.gate.as_ref().ok_or_else(not_configured)?;
    Ok(gate.admit(verb).await?)
}

/// Waits for a turn to read.
pub(super) async fn turn<'a>(context: &Context<'a>) -> Result<SemaphorePermit<'a>> {
    let reads = &context.data::<Asker>()?.reads;
    Ok(reads.acquire().await.map_err(ApiError::internal)?)
}
