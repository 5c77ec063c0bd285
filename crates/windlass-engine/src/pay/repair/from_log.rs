//! What the entries of the audit log say of a payout or an approval.

use serde::Deserialize;
use windlass_core::chain::{Address, B256, ChainId};
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Approval, Hold, Inclusion, IntentId, Payout};
use windlass_core::payout::memo::{Memo, Reference};
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
    memo: Option<Memo>,
    reference: Option<Reference>,
}

/// A block that an entry tells of a payment that has moved.
#[derive(Debug, Deserialize)]
struct Moved {
    inclusion: Option<Inclusion>,
}

/// What the entries of a payout say, put together.
struct History {
    created_by: String,
    /// The last change of its state.
    last: Told,
    changed_at: Timestamp,
    submitted_at: Option<Timestamp>,
    confirmed_at: Option<Timestamp>,
    /// Its payment was final, and the chain has lost it.
    is_lost: bool,
    /// Where its payment is since a reorg below finality.
    moved_to: Option<Inclusion>,
}

impl History {
    /// Nothing where the entries do not say all of it.
    fn of(entries: &[AuditRow]) -> Option<Self> {
        let (mut created_by, mut last) = (None, None);
        let (mut submitted_at, mut confirmed_at) = (None, None);
        let (mut is_lost, mut moved_to) = (false, None);
        for row in entries {
            let AuditRow { at, entry, .. } = row;
            match &*entry.action {
                "payout.payment_lost" => is_lost = true,
                "payout.payment_moved" => {
                    is_lost = false;
                    moved_to = serde_json::from_str::<Moved>(&entry.detail).ok()?.inclusion;
                }
                action if is_state_action(action) => {
                    let told = Told::read(&entry.detail)?;
                    match told.state {
                        PayoutState::PendingRisk => created_by = Some(entry.actor.clone()),
                        PayoutState::Submitted => submitted_at = submitted_at.or(Some(*at)),
                        PayoutState::Confirmed => confirmed_at = Some(*at),
                        _ => {}
                    }
                    (is_lost, moved_to) = (false, None);
                    last = Some((told, *at));
                }
                _ => {}
            }
        }
        let (last, changed_at) = last?;
        Some(Self {
            created_by: created_by?,
            last,
            changed_at,
            submitted_at,
            confirmed_at,
            is_lost,
            moved_to,
        })
    }
}

impl Told {
    /// An entry of an older version does not say whether the payout is a retry: then not all is known.
    fn read(detail: &str) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_str(detail).ok()?;
        value.get("retry_of")?;
        serde_json::from_value(value).ok()
    }
}

/// The payout of which these are the entries, one version on from what the log names; nothing where
/// they do not say all of it.
pub(super) fn payout(
    id: PayoutId,
    entries: &[AuditRow],
    named: NamedVersion,
    now: Timestamp,
) -> Option<Payout> {
    let history = History::of(entries)?;
    let (told, changed_at) = (history.last, history.changed_at);
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
    let is_lost = is_confirmed && history.is_lost;
    Some(Payout {
        version: named.version + 1,
        memo: told.memo,
        reference: told.reference,
        retry_of: told.retry_of,
        state,
        updated_at: now,
        reason: told.reason,
        hold: is_lost.then(|| Hold { reason: lost_reason(id), until: None }),
        budget_day: state.holds_budget().then(|| told.budget_day.unwrap_or(UtcDay::of(changed_at))),
        intent: told.intent,
        inclusion: history.moved_to.or(told.inclusion),
        submitted_at: history.submitted_at.or(Some(changed_at)).filter(|_| was_submitted),
        confirmed_at: history.confirmed_at.filter(|_| is_confirmed),
        finalized_at: (is_confirmed && (is_lost || !named.is_open)).then_some(changed_at),
        mac: B256::ZERO,
        ..Payout::new(id, request, history.created_by, id.created_at())
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
