//! What the vault and its accounts have. One endpoint's word is enough that there is enough: the vault and
//! the chain refuse what there is not. That something is short is asked of every endpoint, for it holds
//! payouts up and has an operator send money.

use windlass_core::chain::Address;
use windlass_core::payout::gas::{GasBalance, GasLevel};
use windlass_core::payout::submit::{Call, CallOutcome};
use windlass_core::reader::{BlockTag, EndpointAnswer};

use super::error::PayError;
use super::payer::Payer;

/// How many endpoints are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    One,
    /// What most of them tell counts.
    Each,
}

impl Payer {
    /// How a call ends, as one endpoint or most of them tell it.
    pub(super) async fn call(&self, call: &Call, asked: Asked) -> Result<CallOutcome, PayError> {
        if asked == Asked::Each
            && let Some(told) = most_told(self.chain.call_from_each(call, BlockTag::Latest).await)
        {
            return Ok(told);
        }
        Ok(self.chain.call(call, BlockTag::Latest).await?)
    }

    /// What an account has left for transactions that take `gas` units at `max_fee`.
    pub(super) async fn gas_balance(
        &self,
        account: Address,
        gas: u64,
        max_fee: u128,
    ) -> Result<GasBalance, PayError> {
        let of = |balance| GasBalance::new(balance, gas, max_fee, self.options.warn_below_wei);
        let told = of(self.chain.balance(account, BlockTag::Latest).await?);
        if told.level() == GasLevel::Enough {
            return Ok(told);
        }
        let each = self.chain.balance_from_each(account, BlockTag::Latest).await;
        Ok(most_told(each).map_or(told, of))
    }
}

/// What most endpoints tell alike; of two answers that as many tell, the one that was told first.
pub(super) fn most_told<T: PartialEq>(answers: Vec<EndpointAnswer<T>>) -> Option<T> {
    let told: Vec<T> = answers.into_iter().filter_map(|one| one.answer.ok()).collect();
    let count = |one: &T| told.iter().filter(|other| *other == one).count();
    let most = told.iter().map(count).max()?;
    let place = told.iter().position(|one| count(one) == most)?;
    told.into_iter().nth(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_three_is_outvoted() {
        let of = |told: &[u64]| most_told(told.iter().map(|one| EndpointAnswer::sole(Ok(*one))).collect());
        assert_eq!((of(&[0, 5, 5]), of(&[5, 0, 5]), of(&[5, 5, 0])), (Some(5), Some(5), Some(5)));
        assert_eq!((of(&[7, 5]), of(&[3]), of(&[])), (Some(7), Some(3), None));
    }
}
