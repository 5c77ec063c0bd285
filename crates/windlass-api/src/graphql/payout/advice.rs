//! What the rules say of a payout.

use async_graphql::{Enum, SimpleObject};
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::risk_report::{RiskReport, RuleCheck};

use super::node::seconds;
use crate::payouts::advice::RuleBody;

/// What the rules say of a payout today, with headroom. They are asked again when it is approved.
#[derive(Debug, SimpleObject)]
pub(crate) struct PayoutAdvice {
    verdict: PayoutVerdict,
    /// Why it would be refused.
    reason: Option<String>,
    /// When it would be paid at the earliest.
    until: Option<String>,
    /// Each limit, and each other rule that is configured.
    rules: Vec<PayoutRule>,
}

/// What the rules say, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum PayoutVerdict {
    /// It may be made.
    Passes,
    /// It may be made later.
    Waits,
    /// It may not be made.
    Refused,
}

/// What one rule says of a payout. Amounts are in base units, decimal.
#[derive(Debug, SimpleObject)]
pub(crate) struct PayoutRule {
    /// Its name in the configuration, such as `max_daily_total`.
    rule: String,
    /// Whether the payout may be made under it. One that has to wait may.
    passes: bool,
    /// What other payouts use of the limit.
    used: Option<String>,
    /// The limit; nothing where there is none.
    limit: Option<String>,
    /// What is left of the limit after this payout.
    left: Option<String>,
    /// Until when the payout waits under it, if it does.
    until: Option<String>,
}

impl From<RiskReport> for PayoutAdvice {
    fn from(report: RiskReport) -> Self {
        let (verdict, reason, until) = match report.verdict {
            RiskVerdict::Passes => (PayoutVerdict::Passes, None, None),
            RiskVerdict::Waits { until } => (PayoutVerdict::Waits, None, Some(seconds(until))),
            RiskVerdict::Refused(reason) => (PayoutVerdict::Refused, Some(reason.to_string()), None),
        };
        Self { verdict, reason, until, rules: report.rules.into_iter().map(PayoutRule::from).collect() }
    }
}

impl From<RuleCheck> for PayoutRule {
    fn from(check: RuleCheck) -> Self {
        // The names and the amounts are those of JSON.
        let RuleBody { rule, passes, used, limit, left, .. } = check.into();
        Self { rule, passes, used, limit, left, until: check.until.map(seconds) }
    }
}
