//! With how much gas transactions are signed: no single endpoint chooses it. With too much of it a
//! transaction is never mined, and with too little it is reverted.

use windlass_core::chain::Bytes;
use windlass_core::payout::ledger::{Attempt, Intent, IntentState};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::{Call, GasEstimate};
use windlass_core::payout::transaction::Transaction;

use super::agreement::Told;
use super::chain_trouble::SUBJECT;
use super::error::PayError;
use super::payer::Payer;

/// Two endpoints agree about gas whose estimates are no further apart.
const MAX_APART: u64 = 4;
/// After so many transactions of a payout that were reverted it is not tried again with more gas.
const MAX_TRIES: usize = 5;

/// How much gas a call takes, as endpoints tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Estimated {
    Gas(u64),
    /// It reverts.
    Reverted {
        data: Bytes,
        message: String,
    },
    /// The endpoints contradict each other, in these words.
    Disputed(String),
}

/// How a payout's transactions were reverted before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reverts {
    reverted: usize,
    ran_out: u32,
}

impl Reverts {
    /// Whether one more transaction of it is tried with more gas.
    pub(super) const fn may_try_again(self) -> bool {
        self.reverted < MAX_TRIES
    }

    /// The limit for an estimate: a fifth more, since a recipient's first token may come in between, and
    /// twice as much for each transaction that has run out of gas.
    pub(super) fn limit(self, gas: u64) -> u64 {
        let with_margin = gas.saturating_add(gas / 5).saturating_add(25_000);
        with_margin.saturating_mul(1 << self.ran_out.min(u32::try_from(MAX_TRIES).unwrap_or(0)))
    }

    /// The limit for an estimate, where one that was signed with does not fit it.
    pub(super) fn limit_instead_of(self, signed: u64, gas: u64) -> Option<u64> {
        let limit = self.limit(gas);
        (signed < gas || signed > limit.saturating_mul(2)).then_some(limit)
    }
}

impl Payer {
    /// How much gas a call takes: of three endpoints what one alone cannot choose, of two the larger.
    pub(super) async fn estimate(&self, call: &Call) -> Result<Estimated, PayError> {
        Ok(chosen(Told::of(self.chain.estimate_gas_from_each(call).await)?))
    }

    /// How transactions of payouts were reverted, of the payout that fared worst.
    pub(super) async fn reverts_of(&self, payouts: &[PayoutId]) -> Result<Reverts, PayError> {
        let mut worst = Reverts::default();
        for payout in payouts {
            let mut reverts = Reverts::default();
            for intent in self.ledger.intents_of(*payout).await? {
                if intent.state != IntentState::Reverted {
                    continue;
                }
                reverts.reverted += 1;
                let mined = intent.inclusion.map(|at| at.transaction);
                let attempts = self.ledger.attempts_of(&intent).await?;
                let mined = attempts.iter().find(|attempt| Some(attempt.hash) == mined);
                let limit = mined.map_or(intent.gas_limit, |mined| limit_of(&intent, mined));
                let ran_out = intent.receipt.is_some_and(|receipt| is_out_of_gas(receipt.gas_used, limit));
                reverts.ran_out += u32::from(ran_out);
            }
            worst.reverted = worst.reverted.max(reverts.reverted);
            worst.ran_out = worst.ran_out.max(reverts.ran_out);
        }
        Ok(worst)
    }
}

/// How much gas a signed form of a transaction may take.
pub(super) fn limit_of(intent: &Intent, attempt: &Attempt) -> u64 {
    Transaction::read(&attempt.raw).map_or(intent.gas_limit, |(_, transaction)| transaction.gas_limit)
}

/// Whether a transaction that was reverted had too little gas. A call that a contract makes gets 63 of 64
/// parts of what is left, so the contract may end with one part.
pub(super) const fn is_out_of_gas(gas_used: u64, limit: u64) -> bool {
    gas_used >= limit - limit / 64
}

fn chosen(told: Told<GasEstimate>) -> Estimated {
    let word = |estimate: &GasEstimate| match estimate {
        GasEstimate::Gas(gas) => gas.to_string(),
        GasEstimate::Reverted { message, .. } => message.clone(),
    };
    let words = told.words(word);
    let (mut gas, mut reverted) = (Vec::new(), Vec::new());
    for (_, estimate) in told.answers {
        match estimate {
            GasEstimate::Gas(told) => gas.push(told),
            GasEstimate::Reverted { data, message } => reverted.push((data, message)),
        }
    }
    let is_gas = gas.len() > reverted.len();
    let is_reverted = reverted.len() > gas.len();
    match (reverted.pop(), middle(gas).filter(|_| is_gas)) {
        (Some((data, message)), _) if is_reverted => Estimated::Reverted { data, message },
        (_, Some(gas)) => Estimated::Gas(gas),
        _ => Estimated::Disputed(format!(
            "{SUBJECT} do not agree how much gas its transaction takes ({words}): it is signed once they do"
        )),
    }
}

/// The middle one of several, the larger one of two; none where two are too far apart.
fn middle(mut gas: Vec<u64>) -> Option<u64> {
    gas.sort_unstable();
    match *gas.as_slice() {
        [less, more] => (more <= less.saturating_mul(MAX_APART)).then_some(more),
        _ => gas.get(gas.len() / 2).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_liar_of_three_chooses_no_gas() {
        for lie in [0, 21_000, 100_001, 1 << 31, u64::MAX] {
            let chosen = middle(vec![100_000, lie, 101_000]).expect("chosen");
            assert!((100_000..=101_000).contains(&chosen), "{lie}");
        }
        assert_eq!((middle(vec![100_000, 21_000]), middle(vec![1 << 31, 100_000])), (None, None));
        assert_eq!(
            (middle(vec![100_000, 90_000]), middle(vec![7]), middle(vec![])),
            (Some(100_000), Some(7), None)
        );
    }

    #[test]
    fn an_endpoint_that_says_that_it_reverts_is_outvoted() {
        let reverted = || GasEstimate::Reverted { data: Bytes::new(), message: "no".to_owned() };
        let of = |answers: Vec<GasEstimate>| {
            let asked = answers.len();
            chosen(Told { answers: answers.into_iter().map(|one| ("it".to_owned(), one)).collect(), asked })
        };
        assert_eq!(of(vec![reverted(), GasEstimate::Gas(5), GasEstimate::Gas(6)]), Estimated::Gas(6));
        assert!(matches!(of(vec![reverted(), GasEstimate::Gas(5)]), Estimated::Disputed(_)));
        assert!(matches!(of(vec![reverted()]), Estimated::Reverted { .. }));
    }

    #[test]
    fn a_limit_that_fits_stays_and_one_that_ran_out_is_doubled() {
        let reverts = Reverts { reverted: 2, ran_out: 2 };
        let once = Reverts::default().limit(100_000);
        assert_eq!((once, reverts.limit(100_000)), (145_000, 580_000));
        let instead = |signed| Reverts::default().limit_instead_of(signed, 100_000);
        assert_eq!((instead(99_999), instead(100_000), instead(290_000)), (Some(once), None, None));
        assert_eq!((instead(1 << 31), reverts.limit_instead_of(580_000, 100_000)), (Some(once), None));
        assert!(
            is_out_of_gas(50_000, 50_000) && is_out_of_gas(63_000, 64_000) && !is_out_of_gas(62_999, 64_000)
        );
    }
}
