//! Payouts as commands show them.

use windlass_core::chain::{Address, U256};
use windlass_core::money::{Amount, NATIVE_COIN, Token};
use windlass_core::payout::desk::Created;
use windlass_core::payout::gas::Wei;
use windlass_core::payout::ledger::{Approval, Attempt, Hold, Intent, IntentState, Payout, fees_of};
use windlass_core::payout::request::{PayoutId, VaultRef};
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::risk_report::{RiskReport, RuleCheck};
use windlass_core::payout::store::Payouts;

use super::rule_names::readable;
use super::tokens::Tokens;
use super::unattended;
use crate::failure::Failure;
use crate::output::table::{self, Side};
use crate::output::time;

/// How many of an id's last digits a table shows.
const SHOWN_ID_DIGITS: usize = 12;

/// A payout with everything that is known of it.
pub(crate) struct PayoutView<'a> {
    pub(crate) tokens: &'a Tokens,
    pub(crate) payout: Payout,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) approvals_needed: u32,
    pub(crate) transactions: Vec<TransactionView>,
    /// What the rules say of it, until it is signed.
    pub(crate) report: Option<RiskReport>,
    /// The vault that `[pay]` names.
    pub(crate) configured: VaultRef,
    /// Whether some process pays from the payout's own vault.
    pub(crate) is_attended: bool,
}

/// A transaction of a payout, with every signed form of it.
pub(crate) struct TransactionView {
    pub(crate) intent: Intent,
    pub(crate) attempts: Vec<Attempt>,
}

impl PayoutView<'_> {
    /// Every transaction of a payout, with every signed form of it.
    pub(crate) async fn transactions_of(
        ledger: &dyn Payouts,
        id: PayoutId,
    ) -> Result<Vec<TransactionView>, Failure> {
        let mut transactions = Vec::new();
        for intent in ledger.intents_of(id).await? {
            let attempts = ledger.attempts(intent.id).await?;
            transactions.push(TransactionView { intent, attempts });
        }
        Ok(transactions)
    }

    /// The same for a person.
    pub(crate) fn render(&self) -> String {
        let payout = &self.payout;
        let mut lines = Lines::default();
        lines.add("payout", payout.id);
        lines.add("state", payout.state);
        lines.add("amount", amount(self.tokens, payout.request.token, payout.request.amount));
        lines.add("to", payout.request.to);
        lines.add("key", &payout.request.key);
        lines.maybe("reference", payout.reference.as_ref());
        lines.maybe("memo", payout.memo.as_ref());
        lines.add("request id", payout.request.request_id());
        lines.add("asked for", format_args!("{} by {}", time::instant(payout.created_at), payout.created_by));
        lines.maybe("tries again", payout.retry_of);
        for approval in &self.approvals {
            lines.add("approved", format_args!("{} by {}", time::instant(approval.at), approval.approver));
        }
        lines.add("approvers", format_args!("{} of {}", self.approvals.len(), self.approvals_needed));
        if let Some(report) = &self.report {
            lines.add("rules", verdict(&report.verdict));
            lines.0.push_str(&rules(self.tokens, payout.request.token, report));
        }
        lines.maybe("reason", payout.reason.as_deref().map(readable));
        lines.maybe("vault", self.other_vault());
        lines.maybe("waits for", payout.hold.as_ref().map(hold));
        if payout.request.vault == self.configured
            && unattended::waits_for_process(payout)
            && !self.is_attended
        {
            let hint = unattended::START_HINT;
            lines.add("waits for", format_args!("a process: none pays from its vault now; {hint}"));
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
        let fee = fees_of(payout.id, self.transactions.iter().map(|transaction| &transaction.intent));
        lines.maybe("fee", fee.map(|fee| format!("{} of the chain's coin", Wei(fee))));
        let times = [
            ("submitted", payout.submitted_at),
            ("confirmed", payout.confirmed_at),
            ("final", payout.finalized_at),
        ];
        times.into_iter().for_each(|(name, at)| lines.maybe(name, at.map(time::instant)));
        lines.0
    }

    /// The payout's vault, where `[pay]` names another one, and what that means for the payout.
    fn other_vault(&self) -> Option<String> {
        let vault = self.payout.request.vault;
        if vault == self.configured {
            return None;
        }
        let (its, configured) = (unattended::named(vault), unattended::named(self.configured));
        let consequence = match (unattended::is_waiting(&self.payout), self.is_attended) {
            (false, _) => String::new(),
            (true, true) => "; another process pays from it".to_owned(),
            (true, false) => format!("; no process pays from it: {}", unattended::HINT),
        };
        Some(format!("{its}, and `[pay]` names {configured}{consequence}"))
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
        None if token == NATIVE_COIN => format!("{units} wei of the chain's coin"),
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
        RiskVerdict::Refused(reason) => format!("refused: {}", readable(&reason.to_string())),
    }
}

/// What the rules would do with a payout that was asked for: a limit that is exceeded is told with figures.
pub(crate) fn advice(created: &Created) -> String {
    match created.advice {
        RiskVerdict::Passes => "the rules would let it pass".to_owned(),
        RiskVerdict::Waits { until } => {
            format!("the rules would let it pass after {}", time::instant(until))
        }
        RiskVerdict::Refused(reason) => {
            let why = created.refusal.clone().unwrap_or_else(|| reason.to_string());
            format!("the rules would refuse it: {}", readable(&why))
        }
    }
}

/// Why a payout waits, and until when at least, where that is known.
fn hold(hold: &Hold) -> String {
    let until = hold.until.map(|at| format!(", until {}", time::instant(at)));
    format!("{}{}", readable(&hold.reason), until.unwrap_or_default())
}

/// What each rule says, with headroom: a line each.
pub(crate) fn rules(tokens: &Tokens, token: Address, report: &RiskReport) -> String {
    report.rules.iter().map(|check| format!("  {}\n", rule(tokens, token, check))).collect()
}

fn rule(tokens: &Tokens, token: Address, check: &RuleCheck) -> String {
    let units = |units| amount(tokens, token, units);
    let says = match (check.headroom, check.until) {
        (Some(headroom), _) => match (headroom.limit, headroom.left) {
            (Some(limit), Some(left)) if check.passes => {
                format!(
                    "{} used of {}, {} left after this payout",
                    units(headroom.used),
                    units(limit),
                    units(left)
                )
            }
            (Some(limit), _) => {
                format!("exceeded: {} used of {}, without this payout", units(headroom.used), units(limit))
            }
            (None, _) => format!("{} used, no limit", units(headroom.used)),
        },
        (None, Some(until)) => format!("waits until {}", time::instant(until)),
        (None, None) if check.passes => "passes".to_owned(),
        (None, None) => "refused".to_owned(),
    };
    format!("{:<24} {says}", check.rule.as_str())
}

/// The end of an id, which commands take as well as the whole.
fn short(payout: &Payout) -> String {
    let id = payout.id.to_string();
    id[id.len() - SHOWN_ID_DIGITS..].to_owned()
}

/// A table of payouts. `configured` is the vault that `[pay]` names, where there is one.
pub(crate) fn list(tokens: &Tokens, configured: Option<VaultRef>, payouts: &[Payout]) -> String {
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
                short(payout),
                payout.state.to_string(),
                amount(tokens, payout.request.token, payout.request.amount),
                payout.request.to.to_string(),
                payout.request.key.to_string(),
                time::instant(payout.updated_at),
                note(configured, payout),
            ]
        }),
    )
}

/// Why it is where it is, in a few words.
fn note(configured: Option<VaultRef>, payout: &Payout) -> String {
    let vault = payout.request.vault;
    if configured.is_some_and(|configured| configured != vault) && unattended::is_waiting(payout) {
        return format!("of vault {}, which `[pay]` does not name", unattended::named(vault));
    }
    let reason = payout.reason.as_deref().map(readable).or_else(|| payout.hold.as_ref().map(hold));
    reason.unwrap_or_else(|| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::ChainId;
    use windlass_core::payout::request::{IdempotencyKey, PayoutRequest};
    use windlass_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_list_says_why_a_payout_waits_and_until_when() {
        let vault = VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::repeat_byte(9) };
        let (token, to) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let key = IdempotencyKey::new("invoice-1").expect("a key");
        let request = PayoutRequest { vault, token, to, amount: U256::from(5), key };
        let at = Timestamp::from_ms(1_700_000_000_000);
        let payout = Payout::new(PayoutId::new(at, 1), request, "billing", at);
        let reason = "maxDailyTotal exceeded: 5 of 9".to_owned();
        let waiting = Payout { hold: Some(Hold { reason, until: Some(at) }), ..payout };
        let told = note(Some(vault), &waiting);
        assert_eq!(told, format!("max_daily_total exceeded: 5 of 9, until {}", time::instant(at)));
    }
}
