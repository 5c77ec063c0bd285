//! How paying is to be done.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::chain::{Address, U256};
use windlass_core::finality::Finality;
use windlass_core::money::{Amount, NATIVE_COIN, Token};
use windlass_core::payout::request::{PayoutRequest, VaultRef};
use windlass_core::payout::risk::{RiskFacts, RiskReason, RiskRules};
use windlass_core::payout::vault::calldata::MAX_BATCH;

/// How one vault pays.
#[derive(Debug, Clone)]
pub struct PayOptions {
    /// The vault.
    pub vault: VaultRef,
    /// The tokens that it pays, the chain's own coin among them as [`NATIVE_COIN`]; any when empty.
    pub tokens: BTreeMap<Address, Token>,
    /// What may be paid.
    pub rules: RiskRules,
    /// How many have to approve.
    pub approvals: ApprovalRules,
    /// Whether approvals count that were given without a key, for development.
    pub is_development: bool,
    /// When a payout counts as confirmed.
    pub confirmation: Confirmation,
    /// From when on nothing can undo it.
    pub finality: Finality,
    /// The most that is offered for a unit of gas, in wei.
    pub gas_cap: u128,
    /// Below this an operator is warned that an account has little for gas, in wei; without it,
    /// below what many payouts cost at the present price.
    pub warn_below_wei: Option<U256>,
    /// After how many blocks without it more is offered.
    pub bump_after_blocks: u64,
    /// How many payouts of a token go into one transaction at most: 1 sends each alone.
    pub batch: usize,
    /// How many transactions of an account may be on their way at once.
    pub max_open: u64,
    /// How long an approval of the risk signer is good.
    pub approval_ttl: Duration,
    /// For how long work is held without a sign of life.
    pub lease_ttl: Duration,
    /// How often a transaction on its way is looked at.
    pub track_interval: Duration,
    /// How often a payout that waits for something is looked at.
    pub hold_interval: Duration,
}

/// How many approvers a payout needs, by its amount.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApprovalRules {
    /// From each amount on so many; before the first, one. In base units, by token.
    pub steps: BTreeMap<Address, BTreeMap<U256, u32>>,
    /// The same for tokens that are not named.
    pub others: BTreeMap<U256, u32>,
}

/// When a payout counts as confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// Its block is the newest of so many, itself counted.
    Blocks(u64),
    /// Its block is safe.
    Safe,
    /// Its block is finalized.
    Finalized,
}

impl ApprovalRules {
    /// How many have to approve so much of a token.
    pub fn needed(&self, token: Address, amount: U256) -> u32 {
        let steps = self.steps.get(&token).unwrap_or(&self.others);
        steps.range(..=amount).next_back().map_or(1, |(_, needed)| (*needed).max(1))
    }
}

impl PayOptions {
    /// The usual for a vault.
    pub fn new(vault: VaultRef) -> Self {
        Self {
            vault,
            tokens: BTreeMap::new(),
            rules: RiskRules::default(),
            approvals: ApprovalRules::default(),
            is_development: false,
            confirmation: Confirmation::Blocks(3),
            finality: Finality::Finalized,
            gas_cap: 500_000_000_000,
            warn_below_wei: None,
            bump_after_blocks: 3,
            batch: 1,
            max_open: 64,
            approval_ttl: Duration::from_secs(3_600),
            lease_ttl: Duration::from_secs(60),
            track_interval: Duration::from_secs(2),
            hold_interval: Duration::from_secs(15),
        }
    }

    /// Whether a token is among those that are paid.
    pub(super) fn pays(&self, token: Address) -> bool {
        self.tokens.is_empty() || self.tokens.contains_key(&token)
    }

    /// So much of a token, as people read it.
    pub(super) fn shown(&self, token: Address, units: U256) -> String {
        match self.tokens.get(&token) {
            Some(known) => Amount { units, token: known.clone() }.to_string(),
            None if token == NATIVE_COIN => format!("{units} wei of the chain's coin"),
            None => format!("{units} base units of {token}"),
        }
    }

    /// Why the rules refuse a payout, with the limit, what other payouts use of it, and the amount.
    pub(super) fn refusal(&self, reason: RiskReason, request: &PayoutRequest, facts: &RiskFacts) -> String {
        let limits = self.rules.limits_of(request.token);
        let (limit, used) = match reason {
            RiskReason::PerRequest => (limits.max_per_request, None),
            RiskReason::DailyTotal => (limits.max_daily_total, Some(facts.day_total)),
            RiskReason::RecipientDailyTotal => {
                (self.rules.recipient_limit(request.token, request.to), Some(facts.recipient_total))
            }
            RiskReason::Denied | RiskReason::NotAllowed => (None, None),
        };
        let shown = |units| self.shown(request.token, units);
        let amount = shown(request.amount);
        match (limit, used) {
            (None, _) => reason.to_string(),
            (Some(limit), None) => {
                format!(
                    "{reason}: a payout may take {} at most, and this payout takes {amount}",
                    shown(limit)
                )
            }
            (Some(limit), Some(used)) => {
                let (left, used) = (shown(limit.saturating_sub(used)), shown(used));
                format!(
                    "{reason}: {used} of {} are paid or reserved today, {left} are left, and this payout takes \
                     {amount}",
                    shown(limit)
                )
            }
        }
    }

    /// How many payouts go into one transaction at most.
    pub(super) fn batch_size(&self) -> usize {
        self.batch.clamp(1, MAX_BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_money_takes_more_approvers() {
        let token = Address::repeat_byte(1);
        let steps = BTreeMap::from([(U256::from(100), 2), (U256::from(1_000), 3)]);
        let rules = ApprovalRules { steps: BTreeMap::from([(token, steps)]), others: BTreeMap::new() };
        let needed = [99_u64, 100, 999, 1_000].map(|amount| rules.needed(token, U256::from(amount)));
        assert_eq!(needed, [1, 2, 2, 3]);
        assert_eq!(rules.needed(Address::ZERO, U256::MAX), 1);
    }
}
