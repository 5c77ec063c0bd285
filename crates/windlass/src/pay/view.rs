//! Payouts as commands show them.

use serde::Serialize;
use windlass_core::chain::{Address, U256};
use windlass_core::money::{Amount, Token};
use windlass_core::payout::ledger::{Approval, Attempt, Intent, IntentState, Payout};
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::store::Payouts;

use super::tokens::Tokens;
use crate::failure::Failure;
use crate::output::table::{self, Side};
use crate::output::time;

/// A payout with everything that is known of it.
#[derive(Debug, Serialize)]
pub(crate) struct PayoutView {
    #[serde(flatten)]
    pub(crate) payout: Payout,
    /// The amount as people write it.
    pub(crate) shown: String,
    /// The id under which the vault knows it.
    pub(crate) request_id: String,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) approvals_needed: u32,
    pub(crate) transactions: Vec<TransactionView>,
}

/// A transaction of a payout, with every signed form of it.
#[derive(Debug, Serialize)]
pub(crate) struct TransactionView {
    #[serde(flatten)]
    pub(crate) intent: Intent,
    pub(crate) attempts: Vec<Attempt>,
}

impl PayoutView {
    /// Reads everything that belongs to a payout.
    pub(crate) async fn read(
        ledger: &dyn Payouts,
        tokens: &Tokens,
        payout: Payout,
        approvals_needed: u32,
    ) -> Result<Self, Failure> {
        let mut transactions = Vec::new();
        for intent in ledger.intents_of(payout.id).await? {
            let attempts = ledger.attempts(intent.id).await?;
            transactions.push(TransactionView { intent, attempts });
        }
        Ok(Self {
            shown: amount(tokens, payout.request.token, payout.request.amount),
            request_id: payout.request.request_id().to_string(),
            approvals: ledger.approvals(&[payout.id]).await?,
            approvals_needed,
            transactions,
            payout,
        })
    }

    /// The same for a person.
    pub(crate) fn render(&self) -> String {
        let payout = &self.payout;
        let mut lines = Lines::default();
        lines.add("payout", payout.id);
        lines.add("state", payout.state);
        lines.add("amount", &self.shown);
        lines.add("to", payout.request.to);
        lines.add("key", &payout.request.key);
        lines.add("request id", &self.request_id);
        lines.add("asked for", format_args!("{} by {}", time::instant(payout.created_at), payout.created_by));
        lines.maybe("tries again", payout.retry_of);
        for approval in &self.approvals {
            lines.add("approved", format_args!("{} by {}", time::instant(approval.at), approval.approver));
        }
        lines.add("approvers", format_args!("{} of {}", self.approvals.len(), self.approvals_needed));
        lines.maybe("reason", payout.reason.as_ref());
        if let Some(hold) = &payout.hold {
            let until = hold.until.map(|at| format!(", until {}", time::instant(at))).unwrap_or_default();
            lines.add("waits for", format_args!("{}{until}", hold.reason));
        }
        for transaction in &self.transactions {
            let intent = &transaction.intent;
            let place = format!("nonce {} of {}", intent.id.nonce, intent.id.signer);
            lines.add("transaction", format_args!("{}, {place}", standing(intent)));
            for attempt in &transaction.attempts {
                lines.add("  signed as", attempt.hash);
            }
        }
        if let Some(inclusion) = payout.inclusion {
            lines.add("in block", format_args!("{} by {}", inclusion.block.number, inclusion.transaction));
        }
        let times = [
            ("submitted", payout.submitted_at),
            ("confirmed", payout.confirmed_at),
            ("final", payout.finalized_at),
        ];
        times.into_iter().for_each(|(name, at)| lines.maybe(name, at.map(time::instant)));
        lines.0
    }
}

/// Where a transaction stands, as its payout says it: one whose payout is CONFIRMED is in a block.
fn standing(intent: &Intent) -> String {
    match (intent.state, intent.inclusion) {
        (IntentState::Open, None) => "waits to be mined".to_owned(),
        (IntentState::Open, Some(at)) => format!("in block {}, which is not final yet", at.block.number),
        (IntentState::Mined, _) => "mined for good".to_owned(),
        (IntentState::Reverted, _) => "reverted for good".to_owned(),
        (IntentState::Displaced, _) => "over: another transaction has its nonce".to_owned(),
    }
}

/// Lines of a name and a value.
#[derive(Default)]
pub(crate) struct Lines(pub(crate) String);

impl Lines {
    /// One more.
    pub(crate) fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!("{name:<12} {value}\n"));
    }

    /// One more, if there is something to say.
    pub(crate) fn maybe(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }
}

/// So much of a token, as people write it; base units where the token is not known.
pub(crate) fn amount(tokens: &Tokens, token: Address, units: U256) -> String {
    match tokens.all().get(&token) {
        Some(token) => shown(token, units),
        None => format!("{units} base units of {token}"),
    }
}

/// So much of a known token.
pub(crate) fn shown(token: &Token, units: U256) -> String {
    Amount { units, token: token.clone() }.to_string()
}

/// What the rules say.
pub(crate) fn verdict(advice: &RiskVerdict) -> String {
    match advice {
        RiskVerdict::Passes => "passes".to_owned(),
        RiskVerdict::Waits { until } => format!("passes, and waits until {}", time::instant(*until)),
        RiskVerdict::Refused(reason) => format!("refused: {reason}"),
    }
}

/// A table of payouts.
pub(crate) fn list(tokens: &Tokens, payouts: &[Payout]) -> String {
    if payouts.is_empty() {
        return "no payouts\n".to_owned();
    }
    let header = [
        ("id", Side::Left),
        ("state", Side::Left),
        ("amount", Side::Right),
        ("to", Side::Left),
        ("key", Side::Left),
        ("updated", Side::Left),
        ("note", Side::Left),
    ];
    table::render(
        &header,
        payouts.iter().map(|payout| {
            vec![
                payout.id.to_string(),
                payout.state.to_string(),
                amount(tokens, payout.request.token, payout.request.amount),
                payout.request.to.to_string(),
                payout.request.key.to_string(),
                time::instant(payout.updated_at),
                note(payout),
            ]
        }),
    )
}

/// Why it is where it is, in a few words.
fn note(payout: &Payout) -> String {
    let hold = payout.hold.as_ref().map(|hold| &hold.reason);
    payout.reason.as_ref().or(hold).cloned().unwrap_or_else(|| "-".to_owned())
}
