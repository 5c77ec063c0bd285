//! What the rules say of a payout, as JSON.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::risk_report::{RiskReport, RuleCheck};

use super::body::time;

/// What the rules say of a payout today. They are asked again when it is approved.
#[derive(Debug, Serialize, ToSchema)]
pub struct AdviceBody {
    pub(crate) verdict: AdviceKind,
    /// Why it would be refused.
    pub(crate) reason: Option<String>,
    /// When it would be paid at the earliest.
    pub(crate) until: Option<String>,
}

/// What the rules say, in a word.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AdviceKind {
    /// It may be made.
    Passes,
    /// It may be made later.
    Waits,
    /// It may not be made.
    Refused,
}

/// What the rules say of a payout today, with headroom.
#[derive(Debug, Serialize, ToSchema)]
pub struct RiskBody {
    #[serde(flatten)]
    pub(crate) advice: AdviceBody,
    /// Each limit, and each other rule that is configured.
    pub rules: Vec<RuleBody>,
}

/// What one rule says of a payout. Amounts are in base units, decimal.
#[derive(Debug, Serialize, ToSchema)]
pub struct RuleBody {
    /// `max_per_request`, `denylist`, `allowlist`, `max_daily_total`, `max_daily_per_recipient` or
    /// `new_recipient_hold`.
    pub(crate) rule: String,
    /// Whether the payout may be made under it. One that has to wait may.
    pub(crate) passes: bool,
    /// What other payouts use of the limit.
    pub(crate) used: Option<String>,
    /// The limit; `null` where there is none.
    pub(crate) limit: Option<String>,
    /// What is left of the limit after this payout.
    pub(crate) left: Option<String>,
    /// Until when the payout waits under it, if it does.
    pub(crate) until: Option<String>,
}

impl From<RiskVerdict> for AdviceBody {
    fn from(verdict: RiskVerdict) -> Self {
        match verdict {
            RiskVerdict::Passes => Self { verdict: AdviceKind::Passes, reason: None, until: None },
            RiskVerdict::Waits { until } => {
                Self { verdict: AdviceKind::Waits, reason: None, until: Some(time(until)) }
            }
            RiskVerdict::Refused(reason) => {
                Self { verdict: AdviceKind::Refused, reason: Some(reason.to_string()), until: None }
            }
        }
    }
}

impl From<RiskReport> for RiskBody {
    fn from(report: RiskReport) -> Self {
        Self { advice: report.verdict.into(), rules: report.rules.into_iter().map(RuleBody::from).collect() }
    }
}

impl From<RuleCheck> for RuleBody {
    fn from(check: RuleCheck) -> Self {
        Self {
            rule: check.rule.as_str().to_owned(),
            passes: check.passes,
            used: check.headroom.map(|headroom| headroom.used.to_string()),
            limit: check.headroom.and_then(|headroom| headroom.limit).map(|limit| limit.to_string()),
            left: check.headroom.and_then(|headroom| headroom.left).map(|left| left.to_string()),
            until: check.until.map(time),
        }
    }
}
