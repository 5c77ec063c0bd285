//! What the entries of the audit log say of a payout or an approval.

use serde::Deserialize;
use windlass_core::chain::{Address, B256, ChainId};
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Approval, Hold, Inclusion, IntentId, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::time::Timestamp;

use crate::pay::audit_check::NamedVersion;
use crate::pay::page::is_state_action;

/// A payout as an entry of the log tells it.
#[derive(Debug, Deserialize)]
struct Told {
    state: PayoutState,
    chain: ChainId,
    vault: Address,
    token: Address,
    to: Address,
    amount: String,
    key: IdempotencyKey,
    reason: Option<String>,
    retry_of: Option<PayoutId>,
    budget_day: Option<UtcDay>,
    intent: Option<IntentId>,
    inclusion: Option<Inclusion>,
}

/// A block that an entry tells of a payment that has moved.
#[derive(Debug, Deserialize)]
struct Moved {
    inclusion: Option<Inclusion>,
}

/// The payout of which these are the entries, one version on from what the log names; nothing where
/// they do not say all of it.
pub(super) fn payout(
    id: PayoutId,
    entries: &[AuditRow],
    named: NamedVersion,
    now: Timestamp,
) -> Option<Payout> {
    let changes = entries.iter().filter(|row| is_state_action(&row.entry.action));
    let (mut submitted_at, mut confirmed_at) = (None, None);
    let (mut created_by, mut last): (Option<&str>, Option<(Told, Timestamp)>) = (None, None);
    for row in changes {
        // An entry of an older version does not say whether it is a retry.
        let value: serde_json::Value = serde_json::from_str(&row.entry.detail).ok()?;
        value.get("retry_of")?;
        let told: Told = serde_json::from_value(value).ok()?;
        match told.state {
            PayoutState::PendingRisk => created_by = Some(&row.entry.actor),
            PayoutState::Submitted => submitted_at = submitted_at.or(Some(row.at)),
            PayoutState::Confirmed => confirmed_at = Some(row.at),
            _ => {}
        }
        last = Some((told, row.at));
    }
    let (told, changed_at) = last?;
    let request = PayoutRequest {
        vault: VaultRef { chain: told.chain, address: told.vault },
        token: told.token,
        to: told.to,
        amount: told.amount.parse().ok()?,
        key: told.key,
    };
    let state = told.state;
    let was_submitted =
        matches!(state, PayoutState::Submitted | PayoutState::Confirmed | PayoutState::Failed);
    let is_confirmed = state == PayoutState::Confirmed;
    let is_lost = entries.iter().rev().find_map(|row| match &*row.entry.action {
        "payout.payment_lost" => Some(true),
        "payout.payment_moved" => Some(false),
        action if is_state_action(action) => Some(false),
        _ => None,
    });
    let is_lost = is_confirmed && is_lost == Some(true);
    let moved = entries.iter().rev().find(|row| row.entry.action == "payout.payment_moved");
    let moved = moved
        .filter(|row| row.at >= changed_at)
        .and_then(|row| serde_json::from_str::<Moved>(&row.entry.detail).ok()?.inclusion);
    let new = Payout::new(id, request, created_by?, id.created_at());
    Some(Payout {
        version: named.version + 1,
        retry_of: told.retry_of,
        state,
        updated_at: now,
        reason: told.reason,
        hold: is_lost.then(|| Hold { reason: lost_reason(id), until: None }),
        budget_day: state.holds_budget().then(|| told.budget_day.unwrap_or(UtcDay::of(changed_at))),
        intent: told.intent,
        inclusion: moved.or(told.inclusion),
        submitted_at: submitted_at.or(Some(changed_at)).filter(|_| was_submitted),
        confirmed_at: confirmed_at.filter(|_| is_confirmed),
        finalized_at: (is_confirmed && (is_lost || !named.is_open)).then_some(changed_at),
        mac: B256::ZERO,
        ..new
    })
}

fn lost_reason(id: PayoutId) -> String {
    format!("its payment is gone: `windlass payout resend {id}` sends its transaction again")
}

/// The approval of which one of these entries tells.
pub(super) fn approval(payout: PayoutId, approver: &str, entries: &[AuditRow]) -> Option<Approval> {
    let is_its = |row: &&AuditRow| row.entry.action == "payout.approval" && row.entry.actor == approver;
    let at = entries.iter().rev().find(is_its)?.at;
    Some(Approval { payout, approver: approver.to_owned(), at, mac: B256::ZERO })
}
