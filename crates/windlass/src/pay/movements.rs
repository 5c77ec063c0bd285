//! Payouts as they move, in the log: a line for each change of a payout's state, whichever process
//! or command made it. It follows the audit log in the store, so that nothing is logged before it is
//! committed and nothing is logged twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use windlass_core::error::StoreResult;
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::AuditQuery;
use windlass_core::store::Store;

use super::rule_names::readable;
use super::tokens::Tokens;
use super::view;

/// How often the log is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// The most entries of one look.
const PAGE: u32 = 200;

/// Follows the audit log from where it ended when this was made.
pub(crate) struct Movements {
    store: Arc<dyn Store>,
    tokens: Tokens,
    after: i64,
}

impl Movements {
    /// What happened before is not logged.
    pub(crate) async fn new(store: Arc<dyn Store>, tokens: Tokens) -> StoreResult<Self> {
        let after = store.audit_head().await?.seq;
        Ok(Self { store, tokens, after })
    }

    /// Logs what moves until shutdown. A store that cannot be read is reported by others.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        loop {
            let is_full = match self.step().await {
                Ok(count) => count == PAGE as usize,
                Err(error) => {
                    tracing::debug!(%error, "the audit log could not be read");
                    false
                }
            };
            if shutdown.is_cancelled() {
                return;
            }
            if !is_full {
                // That it was cancelled is seen after one more look: the last changes are logged too.
                let _ = shutdown.run_until_cancelled(tokio::time::sleep(LOOK_INTERVAL)).await;
            }
        }
    }

    /// One page of the audit log; gives how long it was.
    async fn step(&mut self) -> StoreResult<usize> {
        let query = AuditQuery { subject: None, after: self.after, limit: PAGE };
        let rows = self.store.audit_rows(&query).await?;
        let moved: Vec<(Movement, PayoutId)> = rows.iter().filter_map(movement).collect();
        let mut ids: Vec<PayoutId> = moved.iter().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        let payouts = if ids.is_empty() { Vec::new() } else { self.store.payouts(&ids).await? };
        let payouts: BTreeMap<PayoutId, Payout> = payouts.into_iter().map(|one| (one.id, one)).collect();
        for (movement, id) in moved {
            if let Some(payout) = payouts.get(&id) {
                self.log(&movement, payout);
            }
        }
        if let Some(last) = rows.last() {
            self.after = last.seq;
        }
        Ok(rows.len())
    }

    fn log(&self, movement: &Movement, payout: &Payout) {
        let (id, to) = (payout.id, payout.request.to);
        let amount = view::amount(&self.tokens, payout.request.token, payout.request.amount);
        let Movement { what, reason } = movement;
        let reason = reason.as_deref().or(payout.reason.as_deref().filter(|_| movement.is_end()));
        match reason {
            Some(reason) => {
                tracing::info!(payout = %id, amount, %to, reason = readable(reason), "payout {what}");
            }
            None => tracing::info!(payout = %id, amount, %to, "payout {what}"),
        }
    }
}

/// What happened to a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Movement {
    /// The state it came to, or that it waits.
    what: &'static str,
    /// Why it waits.
    reason: Option<String>,
}

impl Movement {
    /// Whether nothing was paid, and nothing will be.
    fn is_end(&self) -> bool {
        matches!(self.what, "FAILED" | "REJECTED")
    }
}

/// What an entry of the log says of a payout, and of which; nothing where it did not move.
fn movement(row: &AuditRow) -> Option<(Movement, PayoutId)> {
    let what = match row.entry.action.as_str() {
        "payout.created" => "PENDING_RISK",
        "payout.approved" => "APPROVED",
        "payout.submitted" => "SUBMITTED",
        "payout.confirmed" => "CONFIRMED",
        "payout.failed" => "FAILED",
        "payout.rejected" => "REJECTED",
        "payout.held" => "waits",
        _ => return None,
    };
    let id = row.entry.subject.parse().ok()?;
    let detail: Option<Value> = serde_json::from_str(&row.entry.detail).ok().filter(|_| what == "waits");
    let reason = detail.and_then(|detail| Some(detail.get("reason")?.as_str()?.to_owned()));
    Some((Movement { what, reason }, id))
}

#[cfg(test)]
mod tests {
    use windlass_core::payout::audit::AuditEntry;
    use windlass_core::time::Timestamp;

    use super::*;

    fn row(action: &str, detail: &str) -> AuditRow {
        let entry = AuditEntry {
            actor: "key/anna".into(),
            action: action.into(),
            subject: PayoutId::new(Timestamp::from_ms(1), 7).to_string(),
            detail: detail.into(),
            rows: String::new(),
        };
        AuditRow { seq: 1, at: Timestamp::from_ms(1), entry, mac: Default::default() }
    }

    #[test]
    fn a_change_of_state_and_a_wait_are_movements_and_nothing_else_is() {
        let read = |action: &str, detail: &str| movement(&row(action, detail)).map(|(movement, _)| movement);
        let at = |what, reason: Option<&str>| Some(Movement { what, reason: reason.map(str::to_owned) });
        assert_eq!(read("payout.submitted", "{}"), at("SUBMITTED", None));
        assert_eq!(
            read("payout.held", r#"{"reason":"the vault is paused"}"#),
            at("waits", Some("the vault is paused"))
        );
        for other in ["attempt.sent", "payout.claimed", "payout.approval", "key.created"] {
            assert_eq!(read(other, "{}"), None, "{other}");
        }
    }
}
