//! What the rules are asked by, read for many payouts at once: a thousand of them take as many
//! questions to the store as one.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::Address;
use windlass_core::error::StoreResult;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Budget, BudgetKey, Payout};
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::risk::{RiskFacts, RiskRules, RiskVerdict};
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};
use windlass_core::time::Timestamp;

use super::candidate;
use crate::pay::ledger::Ledger;

/// What the store says of payouts that hold nothing of today yet.
pub(super) struct Facts {
    now: Timestamp,
    budgets: BTreeMap<BudgetKey, Budget>,
    known: BTreeSet<Address>,
}

impl Facts {
    /// Reads what concerns these payouts.
    pub(super) async fn read(
        ledger: &Ledger,
        rules: &RiskRules,
        payouts: &[&Payout],
        now: Timestamp,
    ) -> StoreResult<Self> {
        let keys: BTreeSet<BudgetKey> = payouts.iter().flat_map(|payout| keys(payout, now)).collect();
        let keys: Vec<BudgetKey> = keys.into_iter().collect();
        let mut budgets = BTreeMap::new();
        for part in keys.chunks(MAX_PAYOUT_PAGE as usize) {
            budgets.extend(ledger.budgets(part).await?.into_iter().map(|budget| (budget.key, budget)));
        }
        Ok(Self { now, budgets, known: known_recipients(ledger, rules, payouts).await? })
    }

    /// What a day holds already, of a payout's token and for its recipient.
    pub(super) fn budgets_of(&self, payout: &Payout) -> [Budget; 2] {
        keys(payout, self.now).map(|key| self.budgets.get(&key).copied().unwrap_or(Budget::empty(key)))
    }

    /// Whether a payout may be made, with what the day holds besides it.
    pub(super) fn verdict(&self, rules: &RiskRules, payout: &Payout) -> RiskVerdict {
        rules.check(&candidate(payout), &self.of(payout))
    }

    /// What the rules are asked by for one payout.
    pub(super) fn of(&self, payout: &Payout) -> RiskFacts {
        let [day, recipient] = self.budgets_of(payout);
        RiskFacts {
            now: self.now,
            day_total: day.total,
            recipient_total: recipient.total,
            is_known_recipient: self.known.contains(&payout.request.to),
        }
    }
}

/// The sums of today that a payout counts against: of everybody, and of its recipient.
fn keys(payout: &Payout, now: Timestamp) -> [BudgetKey; 2] {
    let request = &payout.request;
    let key = |to| BudgetKey { vault: request.vault, token: request.token, day: UtcDay::of(now), to };
    [key(None), key(Some(request.to))]
}

/// The recipients of these payouts that were paid before; all of them where no rule asks.
pub(in crate::pay) async fn known_recipients(
    ledger: &Ledger,
    rules: &RiskRules,
    payouts: &[&Payout],
) -> StoreResult<BTreeSet<Address>> {
    let recipients = payouts.iter().map(|payout| payout.request.to);
    if rules.new_recipient_hold.is_zero() {
        return Ok(recipients.collect());
    }
    let mut wanted: BTreeMap<VaultRef, BTreeSet<Address>> = BTreeMap::new();
    for payout in payouts {
        wanted.entry(payout.request.vault).or_default().insert(payout.request.to);
    }
    let mut known = BTreeSet::new();
    for (vault, recipients) in wanted {
        let recipients: Vec<Address> = recipients.into_iter().collect();
        for part in recipients.chunks(MAX_PAYOUT_PAGE as usize) {
            known.extend(ledger.paid_to(vault, part).await?.into_iter().map(|payout| payout.request.to));
        }
    }
    Ok(known)
}
