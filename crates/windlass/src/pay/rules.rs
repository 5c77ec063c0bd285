//! From `[pay.risk]` and `[pay.approval]` to rules, with everything that is wrong.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::{Address, U256};
use windlass_core::payout::risk::{RecipientLimits, RiskLimits, RiskRules};
use windlass_engine::pay::options::ApprovalRules;

use super::tokens::{Tokens, Written};
use crate::config::address::WrittenAddress;
use crate::config::pay::Pay;
use crate::config::pay::amount::Amounts;

/// Something that is wrong with a rule: the key below `pay`, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RuleTrouble {
    /// The key, such as `risk.max_daily_total`.
    pub(crate) key: String,
    /// What is wrong.
    pub(crate) message: String,
}

/// What may be paid, and how many have to say yes.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// What may be paid.
    pub(crate) risk: RiskRules,
    /// How many have to say yes.
    pub(crate) approvals: ApprovalRules,
}

/// One limit among those of a token.
type Place = fn(&mut RiskLimits) -> &mut Option<U256>;

/// An amount for each token, and one for those that are not named.
#[derive(Debug, Default)]
struct PerToken {
    tokens: BTreeMap<Address, U256>,
    others: Option<U256>,
}

/// Reads the rules, and tells everything that is wrong with them.
pub(crate) fn read(pay: &Pay, tokens: &Tokens) -> (Rules, Vec<RuleTrouble>) {
    let mut reader = Reader { tokens, troubles: Vec::new() };
    let risk = reader.risk(pay);
    let approvals = reader.approvals(pay);
    (Rules { risk, approvals }, reader.troubles)
}

struct Reader<'a> {
    tokens: &'a Tokens,
    troubles: Vec<RuleTrouble>,
}

impl Reader<'_> {
    fn risk(&mut self, pay: &Pay) -> RiskRules {
        let section = &pay.risk;
        let mut rules = RiskRules {
            denylist: addresses(&section.denylist),
            allowlist: section.allowlist.as_deref().map(addresses),
            new_recipient_hold: section.new_recipient_hold.0.get(),
            ..RiskRules::default()
        };
        let limits: [(&str, &Amounts, Place); 3] = [
            ("max_per_request", &section.max_per_request, |limits| &mut limits.max_per_request),
            ("max_daily_total", &section.max_daily_total, |limits| &mut limits.max_daily_total),
            ("max_daily_per_recipient", &section.max_daily_per_recipient, |limits| {
                &mut limits.max_daily_per_recipient
            }),
        ];
        for (key, amounts, place) in limits {
            let PerToken { tokens, others } = self.amounts(&format!("risk.{key}"), amounts);
            *place(&mut rules.limits) = others;
            for (token, amount) in tokens {
                *place(rules.tokens.entry(token).or_default()) = Some(amount);
            }
        }
        for (recipient, amounts) in &section.recipients {
            let PerToken { tokens, others } = self.amounts(&format!("risk.recipients.{recipient}"), amounts);
            rules.recipients.insert(recipient.0, RecipientLimits { tokens, others });
        }
        rules
    }

    fn approvals(&mut self, pay: &Pay) -> ApprovalRules {
        let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let base = count(pay.approval.approvers.get());
        let all = self.tokens.all().keys();
        let mut rules = ApprovalRules {
            steps: all.map(|token| (*token, BTreeMap::from([(U256::ZERO, base)]))).collect(),
            others: BTreeMap::from([(U256::ZERO, base)]),
        };
        for (text, approvers) in &pay.approval.from {
            let needed = count(approvers.get()).max(base);
            match self.tokens.amount(text) {
                Ok(Written::Of(amount)) => {
                    let token = amount.token.address();
                    at_least(rules.steps.entry(token).or_default(), amount.units, needed);
                }
                // Base units stand for every token: each gets the step.
                Ok(Written::Units(units)) => {
                    let all = rules.steps.values_mut().chain([&mut rules.others]);
                    all.for_each(|steps| at_least(steps, units, needed));
                }
                Err(message) => self.trouble("approval.from", message),
            }
        }
        rules.steps.values_mut().chain([&mut rules.others]).for_each(never_fewer);
        rules
    }

    fn amounts(&mut self, key: &str, Amounts(texts): &Amounts) -> PerToken {
        let mut amounts = PerToken::default();
        for text in texts {
            let known = match self.tokens.amount(text) {
                Ok(Written::Of(amount)) => {
                    let token = amount.token.address();
                    amounts.tokens.insert(token, amount.units).is_some()
                }
                Ok(Written::Units(units)) => amounts.others.replace(units).is_some(),
                Err(message) => {
                    self.trouble(key, message);
                    continue;
                }
            };
            if known {
                self.trouble(key, format!("`{text}` is the second amount of its token"));
            }
        }
        amounts
    }

    fn trouble(&mut self, key: &str, message: String) {
        self.troubles.push(RuleTrouble { key: key.to_owned(), message });
    }
}

/// A step that is written twice is as strict as the stricter.
fn at_least(steps: &mut BTreeMap<U256, u32>, units: U256, needed: u32) {
    let step = steps.entry(units).or_default();
    *step = needed.max(*step);
}

/// More money never takes fewer approvers, in whatever order the steps were written.
fn never_fewer(steps: &mut BTreeMap<U256, u32>) {
    let mut most = 1;
    for needed in steps.values_mut() {
        most = most.max(*needed);
        *needed = most;
    }
}

fn addresses(written: &[WrittenAddress]) -> BTreeSet<Address> {
    written.iter().map(|address| address.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::chain::ChainId;

    fn pay(more: &str) -> Pay {
        let text = format!(
            "chain = 'c'\nvault = '0x{}'\naudit_key = 'env:K'\n{more}\n[token.USDC]\naddress = '0x{}'\ndecimals = 6\n[token.DAI]\naddress = '0x{}'\ndecimals = 18",
            "1".repeat(40),
            "2".repeat(40),
            "3".repeat(40)
        );
        toml::from_str(&text).expect("a section")
    }

    fn rules(more: &str) -> (Rules, Vec<RuleTrouble>) {
        let pay = pay(more);
        read(&pay, &Tokens::new(ChainId::new(1).expect("an id"), &pay))
    }

    #[test]
    fn limits_are_of_tokens_or_of_all() {
        let (rules, troubles) = rules(
            "risk.max_per_request = ['25 USDC', 7]\nrisk.recipients.'0x9999999999999999999999999999999999999999' = '1 DAI'\nrisk.new_recipient_hold = '1h'",
        );
        assert_eq!(troubles, []);
        let limit = |byte| rules.risk.limits_of(Address::repeat_byte(byte)).max_per_request;
        assert_eq!((limit(0x22), limit(0x33)), (Some(U256::from(25_000_000)), Some(U256::from(7))));
        let own = &rules.risk.recipients[&Address::repeat_byte(0x99)];
        assert_eq!((own.of(Address::repeat_byte(0x22)), own.tokens.len()), (None, 1));
        assert_eq!(rules.risk.new_recipient_hold.as_secs(), 3_600);
    }

    #[test]
    fn more_money_never_takes_fewer_approvers() {
        let (rules, troubles) = rules(
            "approval.approvers = 2\napproval.from = { '100 USDC' = 1, '1000 USDC' = 4, '5000 USDC' = 3, '9' = 3 }",
        );
        assert_eq!(troubles, []);
        let needed = |byte, units: u64| rules.approvals.needed(Address::repeat_byte(byte), U256::from(units));
        assert_eq!([needed(0x22, 8), needed(0x22, 9), needed(0x33, 9), needed(0x77, 8)], [2, 3, 3, 2]);
        assert_eq!([needed(0x22, 1_000_000_000), needed(0x22, 5_000_000_000)], [4, 4]);
    }

    #[test]
    fn a_step_that_is_written_twice_is_as_strict_as_the_stricter() {
        let (rules, _) = rules("approval.from = { '0' = 2, '10 USDC' = 3, '10.0 USDC' = 2 }");
        let needed = |units: u64| rules.approvals.needed(Address::repeat_byte(0x22), U256::from(units));
        assert_eq!([needed(1), needed(9_999_999), needed(10_000_000)], [2, 2, 3]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_key() {
        let (_, troubles) =
            rules("risk.max_daily_total = ['1 USDC', '2 USDC', '3 ZZZ']\napproval.from = { '1.5' = 2 }");
        let keys: Vec<&str> = troubles.iter().map(|trouble| trouble.key.as_str()).collect();
        assert_eq!(keys, ["risk.max_daily_total", "risk.max_daily_total", "approval.from"]);
    }
}
