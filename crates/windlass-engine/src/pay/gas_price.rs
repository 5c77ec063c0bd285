//! What transactions offer for a unit of gas: no single endpoint chooses it. With too much of it the
//! account pays block producers what it need not, and with too little its transactions are not mined.

use windlass_core::payout::fees::GasFees;

use super::agreement::Told;
use super::chain_trouble::SUBJECT;
use super::error::PayError;
use super::payer::Payer;

/// Two endpoints agree about prices that are no further apart.
const MAX_APART: u128 = 4;

impl Payer {
    /// What gas costs now, as enough endpoints tell it; in words that they do not agree.
    pub(super) async fn gas_fees(&self) -> Result<Result<GasFees, String>, PayError> {
        let told = Told::of(self.chain.gas_fees_from_each().await)?;
        let words = told.words(|fees| format!("{} gwei", fees.max_fee / 1_000_000_000));
        let fees = chosen(told.answers.into_iter().map(|(_, fees)| fees).collect());
        Ok(fees.ok_or_else(|| {
            format!("{SUBJECT} do not agree what gas costs ({words}): it is signed once they do")
        }))
    }
}

/// The middle price of several, the lower one of two; none where two are too far apart.
fn chosen(told: Vec<GasFees>) -> Option<GasFees> {
    let max_fee = middle(told.iter().map(|fees| fees.max_fee).collect())?;
    let priority_fee = middle(told.iter().map(|fees| fees.priority_fee).collect())?;
    Some(GasFees { max_fee, priority_fee: priority_fee.min(max_fee) })
}

fn middle(mut told: Vec<u128>) -> Option<u128> {
    told.sort_unstable();
    match *told.as_slice() {
        [less, more] => (more <= less.saturating_mul(MAX_APART)).then_some(less),
        _ => told.get(told.len() / 2).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fees(max_fee: u128, priority_fee: u128) -> GasFees {
        GasFees { max_fee, priority_fee }
    }

    #[test]
    fn one_liar_of_three_chooses_no_price() {
        for (max_fee, priority_fee) in [(0, 0), (500, 500), (100, 100), (u128::MAX, 0)] {
            let chosen = chosen(vec![fees(100, 10), fees(max_fee, priority_fee), fees(110, 11)]);
            let GasFees { max_fee, priority_fee } = chosen.expect("chosen");
            assert!((100..=110).contains(&max_fee) && (10..=11).contains(&priority_fee));
        }
    }

    #[test]
    fn two_that_are_far_apart_agree_about_no_price() {
        assert_eq!(chosen(vec![fees(100, 10), fees(110, 12)]), Some(fees(100, 10)));
        assert_eq!(chosen(vec![fees(100, 10), fees(500, 10)]), None);
        assert_eq!(chosen(vec![fees(100, 10), fees(100, 90)]), None);
        assert_eq!((chosen(vec![fees(7, 1)]), chosen(vec![])), (Some(fees(7, 1)), None));
    }
}
