//! What each rule says of a payout, with headroom: for people who decide about it.
//!
//! It decides nothing itself; [`RiskRules::check`] does, and a test holds that both agree.

use serde::{Deserialize, Serialize};

use super::risk::{Candidate, RiskFacts, RiskRules, RiskVerdict};
use crate::chain::U256;
use crate::time::Timestamp;

/// A rule, by its name in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskRule {
    /// The most of a single payout.
    MaxPerRequest,
    /// Who is never paid.
    Denylist,
    /// Who alone is paid.
    Allowlist,
    /// The most of a day.
    MaxDailyTotal,
    /// The most of a recipient's day.
    MaxDailyPerRecipient,
    /// How long the first payment to a recipient waits.
    NewRecipientHold,
}

/// What one rule says of a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleCheck {
    /// Which rule.
    pub rule: RiskRule,
    /// Whether the payout may be made under it. One that has to wait may.
    pub passes: bool,
    /// The amounts, of a rule that limits amounts.
    pub headroom: Option<Headroom>,
    /// Until when the payout waits, if it does.
    pub until: Option<Timestamp>,
}

/// What of a limit is used. In base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headroom {
    /// By other payouts.
    pub used: U256,
    /// The most that is allowed; `None` where nothing is configured.
    pub limit: Option<U256>,
    /// What is left once this payout is made: zero where it exceeds the limit.
    pub left: Option<U256>,
}

/// What all rules say of a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiskReport {
    /// The verdict.
    pub verdict: RiskVerdict,
    /// Each rule that is configured, and each limit, in the order in which they are checked.
    pub rules: Vec<RuleCheck>,
}

impl RiskRule {
    /// Its name in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxPerRequest => "max_per_request",
            Self::Denylist => "denylist",
            Self::Allowlist => "allowlist",
            Self::MaxDailyTotal => "max_daily_total",
            Self::MaxDailyPerRecipient => "max_daily_per_recipient",
            Self::NewRecipientHold => "new_recipient_hold",
        }
    }
}

impl RiskRules {
    /// What each rule says of a payout.
    pub fn report(&self, candidate: &Candidate, facts: &RiskFacts) -> RiskReport {
        let limits = self.limits_of(candidate.token);
        let per_recipient = self.recipient_limit(candidate.token, candidate.to);
        let limit = |rule, used, limit| limited(rule, candidate.amount, used, limit);
        let mut rules = vec![limit(RiskRule::MaxPerRequest, U256::ZERO, limits.max_per_request)];
        if !self.denylist.is_empty() {
            rules.push(listed(RiskRule::Denylist, !self.denylist.contains(&candidate.to)));
        }
        if let Some(allowlist) = &self.allowlist {
            rules.push(listed(RiskRule::Allowlist, allowlist.contains(&candidate.to)));
        }
        let mut day = limit(RiskRule::MaxDailyTotal, facts.day_total, limits.max_daily_total);
        day.passes &= facts.day_total.checked_add(candidate.amount).is_some();
        rules.push(day);
        rules.push(limit(RiskRule::MaxDailyPerRecipient, facts.recipient_total, per_recipient));
        if !self.new_recipient_hold.is_zero() {
            let until = candidate.created_at.after(self.new_recipient_hold);
            let waits = !facts.is_known_recipient && until > facts.now;
            let hold = listed(RiskRule::NewRecipientHold, true);
            rules.push(RuleCheck { until: waits.then_some(until), ..hold });
        }
        RiskReport { verdict: self.check(candidate, facts), rules }
    }
}

fn limited(rule: RiskRule, amount: U256, used: U256, limit: Option<U256>) -> RuleCheck {
    let total = used.checked_add(amount);
    let left = limit.map(|limit| total.map_or(U256::ZERO, |total| limit.saturating_sub(total)));
    let passes = limit.is_none_or(|limit| total.is_some_and(|total| total <= limit));
    RuleCheck { rule, passes, headroom: Some(Headroom { used, limit, left }), until: None }
}

const fn listed(rule: RiskRule, passes: bool) -> RuleCheck {
    RuleCheck { rule, passes, headroom: None, until: None }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::chain::Address;
    use crate::payout::risk::{RecipientLimits, RiskLimits};

    const TOKEN: Address = Address::repeat_byte(1);

    fn units(units: u64) -> U256 {
        U256::from(units)
    }

    fn small() -> impl Strategy<Value = U256> {
        prop_oneof![(0_u64..40).prop_map(units), Just(U256::MAX)]
    }

    fn maybe() -> impl Strategy<Value = Option<U256>> {
        prop::option::of(small())
    }

    prop_compose! {
        fn rules()(
            max_per_request in maybe(),
            max_daily_total in maybe(),
            max_daily_per_recipient in maybe(),
            own in maybe(),
            denied in 2_u8..5,
            allowed in prop::option::of(2_u8..5),
            hold in 0_u64..3,
        ) -> RiskRules {
            let own = own.map(|units| RecipientLimits { others: Some(units), ..RecipientLimits::default() });
            RiskRules {
                limits: RiskLimits { max_per_request, max_daily_total, max_daily_per_recipient },
                recipients: own.into_iter().map(|own| (Address::repeat_byte(2), own)).collect::<BTreeMap<_, _>>(),
                denylist: BTreeSet::from([Address::repeat_byte(denied)]),
                allowlist: allowed.map(|one| BTreeSet::from([Address::repeat_byte(one)])),
                new_recipient_hold: Duration::from_millis(hold),
                ..RiskRules::default()
            }
        }
    }

    proptest! {
        /// What people are shown is what decides.
        #[test]
        fn the_report_agrees_with_the_verdict(
            rules in rules(),
            amount in small(),
            day_total in small(),
            recipient_total in small(),
            is_known_recipient: bool,
            to in 2_u8..5,
            now in 0_i64..4,
        ) {
            let created_at = Timestamp::from_ms(0);
            let to = Address::repeat_byte(to);
            let candidate = Candidate { token: TOKEN, to, amount, created_at };
            let now = Timestamp::from_ms(now);
            let facts = RiskFacts { now, day_total, recipient_total, is_known_recipient };
            let report = rules.report(&candidate, &facts);
            let refused = report.rules.iter().find(|check| !check.passes).map(|check| check.rule.as_str());
            match report.verdict {
                RiskVerdict::Refused(reason) => {
                    let reason = serde_json::to_value(reason).expect("json");
                    let expected = match reason.as_str().expect("a name") {
                        "per_request" => "max_per_request",
                        "denied" => "denylist",
                        "not_allowed" => "allowlist",
                        "daily_total" => "max_daily_total",
                        _ => "max_daily_per_recipient",
                    };
                    prop_assert_eq!(refused, Some(expected));
                }
                RiskVerdict::Waits { until } => {
                    prop_assert_eq!(refused, None);
                    prop_assert_eq!(report.rules.iter().find_map(|check| check.until), Some(until));
                }
                RiskVerdict::Passes => {
                    prop_assert_eq!(refused, None);
                    prop_assert!(report.rules.iter().all(|check| check.until.is_none()));
                }
            }
        }
    }

    #[test]
    fn what_is_left_is_what_is_left_after_this_payout() {
        let check = |amount: u64, used: u64| {
            let check = limited(RiskRule::MaxDailyTotal, units(amount), units(used), Some(units(100)));
            (check.passes, check.headroom.expect("amounts").left)
        };
        assert_eq!(check(20, 30), (true, Some(units(50))));
        assert_eq!(check(70, 30), (true, Some(units(0))));
        assert_eq!(check(71, 30), (false, Some(units(0))));
        let unlimited = limited(RiskRule::MaxDailyTotal, units(1), units(2), None);
        assert_eq!(unlimited.headroom, Some(Headroom { used: units(2), limit: None, left: None }));
    }
}
