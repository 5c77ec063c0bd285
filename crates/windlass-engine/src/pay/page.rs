//! One commit about payouts: rows, messages and audit entries, never one without the others.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::commit::{Commit, Write};
use windlass_core::job::{JobTicket, NewJob};
use windlass_core::name::Partition;
use windlass_core::outbox::NewMessage;
use windlass_core::payout::audit::{AuditEntry, AuditKey};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{
    Budget, Hold, IllegalMove, Inclusion, PayWrite, Payout, RowVersion, SignerRow,
};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::time::Timestamp;

use super::reconcile::UnknownPayment;

/// Who writes, where messages go, and the key of the log.
#[derive(Clone)]
pub(super) struct Clerk {
    pub(super) actor: Arc<str>,
    pub(super) partition: Partition,
    pub(super) key: AuditKey,
}

/// What is to be committed together.
pub(super) struct Page {
    clerk: Clerk,
    first: Vec<Write>,
    jobs: Vec<NewJob>,
    budgets: Vec<Budget>,
    payouts: Vec<Payout>,
    last: Vec<Write>,
    messages: Vec<NewMessage>,
    entries: Vec<AuditEntry>,
}

impl Page {
    pub(super) fn new(clerk: &Clerk) -> Self {
        Self {
            clerk: clerk.clone(),
            first: Vec::new(),
            jobs: Vec::new(),
            budgets: Vec::new(),
            payouts: Vec::new(),
            last: Vec::new(),
            messages: Vec::new(),
            entries: Vec::new(),
        }
    }

    /// A write that goes before the payouts.
    pub(super) fn write(&mut self, write: Write) {
        self.first.push(write);
    }

    /// A write that goes behind the payouts.
    pub(super) fn write_last(&mut self, write: Write) {
        self.last.push(write);
    }

    /// A job that is to follow.
    pub(super) fn job(&mut self, job: NewJob) {
        self.jobs.push(job);
    }

    /// A day's sum. One that comes again replaces what was said of it.
    pub(super) fn budget(&mut self, budget: Budget) {
        match self.budgets.iter_mut().find(|other| other.key == budget.key) {
            Some(other) => *other = Budget { version: other.version, ..budget },
            None => self.budgets.push(budget),
        }
    }

    /// What this page says of a day's sum, if it does.
    pub(super) fn planned(&self, budget: Budget) -> Budget {
        self.budgets.iter().find(|other| other.key == budget.key).copied().unwrap_or(budget)
    }

    /// A payout's next row: told, and entered into the log, by what has changed.
    pub(super) fn payout(&mut self, before: Option<&Payout>, after: Payout) {
        let told = view(&after);
        if before.is_none_or(|before| before.state != after.state) {
            let action = state_action(after.state);
            self.messages.push(NewMessage {
                partition: self.clerk.partition.clone(),
                idempotency_key: format!("{}/{}", after.id, after.version),
                topic: action.to_owned(),
                payload: told.to_string(),
            });
            let mut detail = told;
            if let Some(before) = before {
                detail["from"] = json!(before.state);
            }
            self.note(action, after.id, detail);
        } else if before.and_then(|before| before.hold.as_ref()) != after.hold.as_ref() {
            match &after.hold {
                Some(Hold { reason, until }) => {
                    let until_ms = until.map(|at| at.as_ms());
                    self.note("payout.held", after.id, json!({"reason": reason, "until_ms": until_ms}));
                }
                None => self.note("payout.released", after.id, json!({})),
            }
        }
        self.payouts.push(after);
    }

    /// A payout that the vault has paid, which nothing can undo: its whole way to the end.
    pub(super) fn found_paid(
        &mut self,
        payout: &Payout,
        inclusion: Inclusion,
        now: Timestamp,
    ) -> Result<(), IllegalMove> {
        self.note("payout.found_paid", payout.id, json!({"inclusion": inclusion}));
        let day = payout.budget_day.unwrap_or(UtcDay::of(now));
        let mut row = payout.clone();
        if row.state == PayoutState::PendingRisk {
            let approved = row.approved(day, now)?;
            self.payout(Some(&row), approved.clone());
            row = approved;
        }
        if row.state == PayoutState::Approved {
            let found = row.found_paid(inclusion, day, now)?;
            self.payout(Some(&row), found.clone());
            row = found;
        }
        if row.state == PayoutState::Submitted {
            let confirmed = row.confirmed(inclusion, now)?;
            self.payout(Some(&row), confirmed.clone());
            row = confirmed;
        }
        if row.inclusion != Some(inclusion) {
            let seen = row.seen(Some(inclusion), now);
            self.payout(Some(&row), seen.clone());
            row = seen;
        }
        if row.finalized_at.is_none() {
            self.payout(Some(&row), row.finalized(now));
        }
        Ok(())
    }

    /// An account signs nothing any more: told to everybody, since a person has to look.
    pub(super) fn halted(&mut self, row: SignerRow, detail: Value) {
        let subject = format!("{:#x}", row.address);
        let told = json!({"chain": row.chain, "signer": row.address, "reason": row.halted, "detail": detail});
        self.messages.push(NewMessage {
            partition: self.clerk.partition.clone(),
            idempotency_key: format!("signer/{}/{subject}/{}", row.chain, row.version),
            topic: "signer.halted".to_owned(),
            payload: told.to_string(),
        });
        self.note("signer.halted", row.address, detail);
        self.write(Write::Pay(PayWrite::Signer(row)));
    }

    /// The vault has paid what no payout is stored for.
    pub(super) fn unknown_payment(&mut self, payment: &UnknownPayment) {
        tracing::error!(
            transaction = %payment.transaction, to = %payment.to, token = %payment.token,
            amount = payment.amount, "the vault has made a payment that no payout is stored for"
        );
        self.publish(format!("unknown/{}", payment.request_id), "vault.unknown_payment", &json!(payment));
        self.note("vault.unknown_payment", payment.request_id, json!(payment));
    }

    /// A message of the vault's payouts.
    pub(super) fn publish(&mut self, idempotency_key: String, topic: &str, payload: &Value) {
        self.messages.push(NewMessage {
            partition: self.clerk.partition.clone(),
            idempotency_key,
            topic: topic.to_owned(),
            payload: payload.to_string(),
        });
    }

    /// That a payout was taken up, which led to what follows.
    pub(super) fn claimed(&mut self, id: PayoutId, ticket: JobTicket) {
        self.note("payout.claimed", id, json!({"for": "submit", "epoch": ticket.epoch.0}));
    }

    /// An entry of the log.
    pub(super) fn note(&mut self, action: &str, subject: impl ToString, detail: Value) {
        self.entries.push(AuditEntry {
            actor: self.clerk.actor.to_string(),
            action: action.to_owned(),
            subject: subject.to_string(),
            detail: detail.to_string(),
            rows: String::new(),
        });
    }

    /// An entry of the log that names rows which this commit does not write.
    pub(super) fn note_with_rows(
        &mut self,
        action: &str,
        subject: impl ToString,
        detail: Value,
        rows: Vec<RowVersion>,
    ) {
        self.note(action, subject, detail);
        if let (Some(entry), false) = (self.entries.last_mut(), rows.is_empty()) {
            entry.rows = json!(rows).to_string();
        }
    }

    /// Everything in one commit. The log comes last: on PostgreSQL its head is locked until
    /// the end.
    pub(super) fn into_commit(self) -> Commit {
        let mut writes = self.first;
        if !self.jobs.is_empty() {
            writes.push(Write::Enqueue(self.jobs));
        }
        if !self.budgets.is_empty() {
            writes.push(Write::Pay(PayWrite::Budgets(self.budgets)));
        }
        if !self.payouts.is_empty() {
            writes.push(Write::Pay(PayWrite::Payouts(self.payouts)));
        }
        writes.extend(self.last);
        if !self.messages.is_empty() {
            writes.push(Write::Publish(self.messages));
        }
        if !self.entries.is_empty() {
            writes.push(Write::Pay(PayWrite::audit(self.clerk.key, self.entries)));
        }
        Commit::of(writes)
    }
}

/// Whether an entry of the log says that a payout came to another state.
pub(super) fn is_state_action(action: &str) -> bool {
    PayoutState::ALL.into_iter().any(|state| state_action(state) == action)
}

const fn state_action(state: PayoutState) -> &'static str {
    match state {
        PayoutState::PendingRisk => "payout.created",
        PayoutState::Approved => "payout.approved",
        PayoutState::Submitted => "payout.submitted",
        PayoutState::Confirmed => "payout.confirmed",
        PayoutState::Failed => "payout.failed",
        PayoutState::Rejected => "payout.rejected",
    }
}

/// A payout as messages and the log tell it.
fn view(payout: &Payout) -> Value {
    let request = &payout.request;
    json!({
        "id": payout.id,
        "version": payout.version,
        "state": payout.state,
        "chain": request.vault.chain,
        "vault": request.vault.address,
        "token": request.token,
        "to": request.to,
        "amount": request.amount.to_string(),
        "key": request.key,
        "request_id": request.request_id(),
        "reason": payout.reason,
        "retry_of": payout.retry_of,
        "budget_day": payout.budget_day,
        "intent": payout.intent,
        "inclusion": payout.inclusion,
        "memo": payout.memo,
        "reference": payout.reference,
    })
}
