//! How many payouts stand where, for metrics: counted once, then kept from the audit log.
//!
//! Counting reads the whole table of payouts. Every change of a state is an entry of the log that
//! says from which state to which, so a look reads what came since the last one. The counts inform
//! and decide nothing: they are not verified, and are counted anew every hour, so that whatever was
//! written past the log shows then.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use windlass_core::error::StoreResult;
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::page::is_state_action;

/// How often everything is counted anew.
const RECOUNT_INTERVAL: Duration = Duration::from_secs(3_600);
/// How often it is counted again at once because something was written meanwhile.
const MAX_COUNTS: u32 = 3;

/// The counts.
pub struct PayoutCounts {
    store: Arc<dyn Store>,
    counts: BTreeMap<PayoutState, u64>,
    /// The last entry that is counted; none before the first count.
    followed: Option<i64>,
    counted_at: Timestamp,
}

/// What an entry says of a payout whose state has changed.
#[derive(Debug, Deserialize)]
struct StateChange {
    state: PayoutState,
    /// None where the payout was made.
    from: Option<PayoutState>,
}

impl PayoutCounts {
    /// Nothing is counted before the first look.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, counts: BTreeMap::new(), followed: None, counted_at: Timestamp::from_ms(0) }
    }

    /// How many payouts stand where now, in the order of states; none where there are none.
    pub async fn look(&mut self) -> StoreResult<Vec<(PayoutState, u64)>> {
        let now = self.store.now().await?;
        let is_due = now >= self.counted_at.after(RECOUNT_INTERVAL);
        if self.followed.is_none() || is_due || !self.follow().await? {
            self.count().await?;
            self.counted_at = now;
        }
        Ok(self
            .counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(state, count)| (*state, *count))
            .collect())
    }

    /// Takes in what the log has behind the last look. `false` where it cannot be told from it.
    async fn follow(&mut self) -> StoreResult<bool> {
        while let Some(after) = self.followed {
            let query = AuditQuery { subject: None, after, limit: MAX_PAYOUT_PAGE };
            let rows = self.store.audit_rows(&query).await?;
            for row in &rows {
                if !self.take(row) {
                    return Ok(false);
                }
                self.followed = Some(row.seq);
            }
            if rows.len() < MAX_PAYOUT_PAGE as usize {
                break;
            }
        }
        Ok(true)
    }

    fn take(&mut self, row: &AuditRow) -> bool {
        if !is_state_action(&row.entry.action) {
            return true;
        }
        let Ok(StateChange { state, from }) = serde_json::from_str(&row.entry.detail) else { return false };
        // An entry of an older version does not say from where.
        if from.is_none() && state != PayoutState::PendingRisk {
            return false;
        }
        if let Some(from) = from {
            let Some(count) = self.counts.get_mut(&from).filter(|count| **count > 0) else { return false };
            *count -= 1;
        }
        *self.counts.entry(state).or_default() += 1;
        true
    }

    /// Counts everything, up to an entry of the log: again where entries came meanwhile.
    async fn count(&mut self) -> StoreResult<()> {
        let mut before = self.store.audit_head().await?;
        for _ in 0..MAX_COUNTS {
            self.counts = self.store.count_payouts().await?.into_iter().collect();
            let after = self.store.audit_head().await?;
            self.followed = Some(after.seq);
            if after == before {
                break;
            }
            before = after;
        }
        Ok(())
    }
}
