//! Whether a payout may be made: limits, lists, and the first payment to somebody new.
//!
//! A check is a pure question: the rules, what is known, and the candidate, which is
//! not among what is known: it counts once. Whoever asks makes sure that nothing
//! changes between the answer and what is written because of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::day::UtcDay;
use crate::chain::{Address, U256};
use crate::time::Timestamp;

/// Limits, in base units of a token; `None` where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RiskLimits {
    /// Of one payout.
    pub max_per_request: Option<U256>,
    /// Of all payouts of a UTC day.
    pub max_daily_total: Option<U256>,
    /// Of all payouts of a UTC day to one recipient.
    pub max_daily_per_recipient: Option<U256>,
}

impl RiskLimits {
    /// These, and where they say nothing, others.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            max_per_request: self.max_per_request.or(others.max_per_request),
            max_daily_total: self.max_daily_total.or(others.max_daily_total),
            max_daily_per_recipient: self.max_daily_per_recipient.or(others.max_daily_per_recipient),
        }
    }
}

/// The most that one recipient gets in a UTC day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecipientLimits {
    /// Of single tokens.
    pub tokens: BTreeMap<Address, U256>,
    /// Of each of the others.
    pub others: Option<U256>,
}

impl RecipientLimits {
    /// The most of a token.
    pub fn of(&self, token: Address) -> Option<U256> {
        self.tokens.get(&token).copied().or(self.others)
    }
}

/// The rules of a vault.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RiskRules {
    /// For tokens without limits of their own.
    pub limits: RiskLimits,
    /// For single tokens, before those for all.
    pub tokens: BTreeMap<Address, RiskLimits>,
    /// For single recipients: of a UTC day, before those of tokens.
    pub recipients: BTreeMap<Address, RecipientLimits>,
    /// Who is never paid.
    pub denylist: BTreeSet<Address>,
    /// Who alone is paid, if there is such a list.
    pub allowlist: Option<BTreeSet<Address>>,
    /// How long the first payment to somebody waits after it was asked for.
    pub new_recipient_hold: Duration,
}

/// The payout in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The token's contract.
    pub token: Address,
    /// Who would get it.
    pub to: Address,
    /// How much.
    pub amount: U256,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// What is known apart from the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RiskFacts {
    /// Now.
    pub now: Timestamp,
    /// What the day holds for other payouts of the token.
    pub day_total: U256,
    /// The part of it that is for the same recipient.
    pub recipient_total: U256,
    /// Whether the recipient was ever paid before.
    pub is_known_recipient: bool,
}

/// Why a payout may not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskReason {
    /// It is too large by itself.
    PerRequest,
    /// The recipient is never paid.
    Denied,
    /// The recipient is not on the list of those who are.
    NotAllowed,
    /// The day has no room for it.
    DailyTotal,
    /// The recipient's share of the day has no room for it.
    RecipientDailyTotal,
}

impl fmt::Display for RiskReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PerRequest => "maxPerRequest exceeded",
            Self::Denied => "recipient is denylisted",
            Self::NotAllowed => "recipient is not allowlisted",
            Self::DailyTotal => "maxDailyTotal exceeded",
            Self::RecipientDailyTotal => "maxDailyPerRecipient exceeded",
        })
    }
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RiskVerdict {
    /// It may be made.
    Passes,
    /// It may be made later: the recipient is new.
    Waits {
        /// Not before this.
        until: Timestamp,
    },
    /// It may not be made.
    Refused(RiskReason),
}

impl RiskReason {
    /// Whether another day may have room for what this one has not.
    pub const fn passes_with_the_day(self) -> bool {
        matches!(self, Self::DailyTotal | Self::RecipientDailyTotal)
    }
}

impl RiskRules {
    /// The limits of a token.
    pub fn limits_of(&self, token: Address) -> RiskLimits {
        self.tokens.get(&token).copied().unwrap_or_default().or(self.limits)
    }

    /// The most of a token that a recipient gets in a day.
    pub fn recipient_limit(&self, token: Address, to: Address) -> Option<U256> {
        let own = self.recipients.get(&to).and_then(|limits| limits.of(token));
        own.or(self.limits_of(token).max_daily_per_recipient)
    }

    /// Whether a payout may be made.
    pub fn check(&self, candidate: &Candidate, facts: &RiskFacts) -> RiskVerdict {
        if let Some(reason) = self.refusal(candidate, facts) {
            return RiskVerdict::Refused(reason);
        }
        let until = candidate.created_at.after(self.new_recipient_hold);
        if !facts.is_known_recipient && until > facts.now {
            return RiskVerdict::Waits { until };
        }
        RiskVerdict::Passes
    }

    fn refusal(&self, candidate: &Candidate, facts: &RiskFacts) -> Option<RiskReason> {
        let limits = self.limits_of(candidate.token);
        let per_recipient = self.recipient_limit(candidate.token, candidate.to);
        let is_over = |spent: U256, limit: Option<U256>| {
            limit.is_some_and(|limit| spent.checked_add(candidate.amount).is_none_or(|sum| sum > limit))
        };
        if is_over(U256::ZERO, limits.max_per_request) {
            return Some(RiskReason::PerRequest);
        }
        if self.denylist.contains(&candidate.to) {
            return Some(RiskReason::Denied);
        }
        if self.allowlist.as_ref().is_some_and(|list| !list.contains(&candidate.to)) {
            return Some(RiskReason::NotAllowed);
        }
        // A sum that does not fit 256 bits is no sum any more, whatever the limit.
        let is_too_much = facts.day_total.checked_add(candidate.amount).is_none();
        if is_too_much || is_over(facts.day_total, limits.max_daily_total) {
            return Some(RiskReason::DailyTotal);
        }
        is_over(facts.recipient_total, per_recipient).then_some(RiskReason::RecipientDailyTotal)
    }
}

impl RiskFacts {
    /// The day whose budget is asked.
    pub const fn day(&self) -> UtcDay {
        UtcDay::of(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Address = Address::repeat_byte(1);
    const TO: Address = Address::repeat_byte(2);

    fn units(units: u64) -> Option<U256> {
        Some(U256::from(units))
    }

    fn rules() -> RiskRules {
        RiskRules {
            limits: RiskLimits {
                max_per_request: units(25),
                max_daily_total: units(100),
                max_daily_per_recipient: None,
            },
            denylist: BTreeSet::from([Address::with_last_byte(0xde)]),
            ..RiskRules::default()
        }
    }

    fn check(
        rules: &RiskRules,
        to: Address,
        amount: u64,
        day_total: u64,
        recipient_total: u64,
    ) -> RiskVerdict {
        let now = Timestamp::from_ms(1_000_000);
        let candidate = Candidate { token: TOKEN, to, amount: U256::from(amount), created_at: now };
        let facts = RiskFacts {
            now,
            day_total: U256::from(day_total),
            recipient_total: U256::from(recipient_total),
            is_known_recipient: false,
        };
        rules.check(&candidate, &facts)
    }

    #[test]
    fn a_limit_itself_is_within_it() {
        assert_eq!(check(&rules(), TO, 25, 75, 0), RiskVerdict::Passes);
        assert_eq!(check(&rules(), TO, 26, 0, 0), RiskVerdict::Refused(RiskReason::PerRequest));
        assert_eq!(check(&rules(), TO, 25, 76, 0), RiskVerdict::Refused(RiskReason::DailyTotal));
        let none = RiskRules::default();
        assert_eq!(check(&none, TO, u64::MAX, u64::MAX, 0), RiskVerdict::Passes);
    }

    /// A day's sum that would not fit is never held: giving a part of it back would leave too little.
    #[test]
    fn a_sum_that_does_not_fit_is_refused_without_any_limit() {
        let now = Timestamp::from_ms(1);
        let candidate = Candidate { token: TOKEN, to: TO, amount: U256::MAX, created_at: now };
        let facts =
            |day_total| RiskFacts { now, day_total, recipient_total: U256::ZERO, is_known_recipient: true };
        let rules = RiskRules::default();
        assert_eq!(rules.check(&candidate, &facts(U256::ZERO)), RiskVerdict::Passes);
        let refused = RiskVerdict::Refused(RiskReason::DailyTotal);
        assert_eq!(rules.check(&candidate, &facts(U256::ONE)), refused);
    }

    #[test]
    fn the_first_reason_in_order_is_told() {
        let denied = Address::with_last_byte(0xde);
        assert_eq!(check(&rules(), denied, 26, 100, 0), RiskVerdict::Refused(RiskReason::PerRequest));
        assert_eq!(check(&rules(), denied, 25, 100, 0), RiskVerdict::Refused(RiskReason::Denied));
        let listed = RiskRules { allowlist: Some(BTreeSet::from([denied])), ..rules() };
        assert_eq!(check(&listed, TO, 25, 100, 0), RiskVerdict::Refused(RiskReason::NotAllowed));
        let texts =
            [RiskReason::PerRequest, RiskReason::Denied, RiskReason::DailyTotal].map(|r| r.to_string());
        assert_eq!(texts, ["maxPerRequest exceeded", "recipient is denylisted", "maxDailyTotal exceeded"]);
    }

    #[test]
    fn a_token_and_a_recipient_may_have_limits_of_their_own() {
        let own = RiskLimits {
            max_per_request: units(50),
            max_daily_per_recipient: units(60),
            ..RiskLimits::default()
        };
        let mut rules = RiskRules { tokens: BTreeMap::from([(TOKEN, own)]), ..rules() };
        assert_eq!(check(&rules, TO, 50, 50, 10), RiskVerdict::Passes);
        assert_eq!(
            check(&rules, TO, 50, 51, 0),
            RiskVerdict::Refused(RiskReason::DailyTotal),
            "for all tokens"
        );
        assert_eq!(check(&rules, TO, 50, 50, 11), RiskVerdict::Refused(RiskReason::RecipientDailyTotal));
        let own = RecipientLimits { others: Some(U256::from(100)), ..RecipientLimits::default() };
        rules.recipients.insert(TO, own);
        assert_eq!(check(&rules, TO, 50, 50, 50), RiskVerdict::Passes);
    }

    #[test]
    fn the_first_payment_to_somebody_waits() {
        let rules = RiskRules { new_recipient_hold: Duration::from_secs(60), ..rules() };
        let created_at = Timestamp::from_ms(0);
        let candidate = Candidate { token: TOKEN, to: TO, amount: U256::from(1), created_at };
        let at = |ms, is_known_recipient| {
            let now = Timestamp::from_ms(ms);
            let none = U256::ZERO;
            rules.check(
                &candidate,
                &RiskFacts { now, day_total: none, recipient_total: none, is_known_recipient },
            )
        };
        assert_eq!(at(59_999, false), RiskVerdict::Waits { until: Timestamp::from_ms(60_000) });
        assert_eq!(at(60_000, false), RiskVerdict::Passes);
        assert_eq!(at(0, true), RiskVerdict::Passes);
    }

    #[test]
    fn sums_beyond_256_bits_are_over_every_limit() {
        let rules = RiskRules {
            limits: RiskLimits { max_daily_total: Some(U256::MAX), ..RiskLimits::default() },
            ..RiskRules::default()
        };
        let now = Timestamp::from_ms(0);
        let candidate = Candidate { token: TOKEN, to: TO, amount: U256::from(1), created_at: now };
        let facts =
            RiskFacts { now, day_total: U256::MAX, recipient_total: U256::ZERO, is_known_recipient: true };
        assert_eq!(rules.check(&candidate, &facts), RiskVerdict::Refused(RiskReason::DailyTotal));
    }
}
