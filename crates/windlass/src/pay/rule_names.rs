//! The names of rules in what people read: those of the configuration. Answers in JSON, stored reasons and
//! `risk.json` have the same names in camel case, and keep them.

/// Each refusal by a limit: as it is stored, and as people read it.
const NAMES: [(&str, &str); 3] = [
    ("maxPerRequest exceeded", "max_per_request exceeded"),
    ("maxDailyTotal exceeded", "max_daily_total exceeded"),
    ("maxDailyPerRecipient exceeded", "max_daily_per_recipient exceeded"),
];

/// A reason with the rule's name in the configuration.
pub(crate) fn readable(reason: &str) -> String {
    let named = NAMES.iter().find_map(|(stored, shown)| Some((shown, reason.strip_prefix(stored)?)));
    named.map_or_else(|| reason.to_owned(), |(shown, rest)| format!("{shown}{rest}"))
}

#[cfg(test)]
mod tests {
    use windlass_core::payout::risk::RiskReason;
    use windlass_core::payout::risk_report::RiskRule;

    use super::*;

    #[test]
    fn a_limit_has_the_name_that_the_configuration_gives_it() {
        for (reason, rule) in [
            (RiskReason::PerRequest, RiskRule::MaxPerRequest),
            (RiskReason::DailyTotal, RiskRule::MaxDailyTotal),
            (RiskReason::RecipientDailyTotal, RiskRule::MaxDailyPerRecipient),
        ] {
            assert_eq!(readable(&reason.to_string()), format!("{} exceeded", rule.as_str()));
        }
        assert_eq!(readable("maxDailyTotal exceeded: 1 of 2"), "max_daily_total exceeded: 1 of 2");
        assert_eq!(readable("cancelled: a slip"), "cancelled: a slip");
    }
}
