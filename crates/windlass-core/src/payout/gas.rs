//! Whether an account can pay for its transactions, in the chain's own coin.

use std::fmt;

use serde::Serialize;

use crate::chain::U256;

/// What a payout takes, where nothing better is known: a first transfer to a new recipient, with an approval.
pub const TYPICAL_GAS: u64 = 150_000;
/// For how many payouts at the present price an account should have enough, unless configured.
pub const WARN_BELOW_PAYOUTS: u64 = 25;
/// The decimals of a chain's own coin.
const COIN_DECIMALS: usize = 18;

/// An amount of the chain's own coin, in wei.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Wei(#[serde(with = "super::decimal")] pub U256);

/// What an account has, and what its transactions may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GasBalance {
    /// What it has.
    pub balance: Wei,
    /// The most that the next transaction may cost.
    pub cost: Wei,
    /// Below this an operator is warned.
    pub warn_below: Wei,
}

/// How an account is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GasLevel {
    /// Enough for many transactions.
    Enough,
    /// Enough for the next one, and below the threshold.
    Low,
    /// Not enough for the next one.
    Short,
}

impl GasBalance {
    /// What an account has against what `gas` units cost at `max_fee`; the threshold is the
    /// configured one, or [`WARN_BELOW_PAYOUTS`] payouts at this price.
    pub fn new(balance: U256, gas: u64, max_fee: u128, warn_below: Option<U256>) -> Self {
        let price = U256::from(max_fee);
        let cost = U256::from(gas).saturating_mul(price);
        let many = U256::from(TYPICAL_GAS.saturating_mul(WARN_BELOW_PAYOUTS)).saturating_mul(price);
        Self { balance: Wei(balance), cost: Wei(cost), warn_below: Wei(warn_below.unwrap_or(many)) }
    }

    /// The same balance against what `gas` units cost at `max_fee`.
    #[must_use]
    pub fn costing(self, gas: u64, max_fee: u128) -> Self {
        Self { cost: Wei(U256::from(gas).saturating_mul(U256::from(max_fee))), ..self }
    }

    /// How the account is off.
    pub fn level(&self) -> GasLevel {
        if self.balance < self.cost {
            GasLevel::Short
        } else if self.balance < self.warn_below {
            GasLevel::Low
        } else {
            GasLevel::Enough
        }
    }
}

impl fmt::Display for GasBalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { balance, cost, warn_below } = self;
        match self.level() {
            GasLevel::Short => {
                write!(
                    f,
                    "has {balance} of the chain's coin for gas, and its next transaction may cost {cost}"
                )
            }
            GasLevel::Low => {
                write!(f, "has {balance} of the chain's coin for gas, below the threshold of {warn_below}")
            }
            GasLevel::Enough => write!(f, "has {balance} of the chain's coin for gas"),
        }
    }
}

impl fmt::Display for Wei {
    /// In whole coins, exact, without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0>width$}", self.0.to_string(), width = COIN_DECIMALS + 1);
        let (whole, fraction) = digits.split_at(digits.len() - COIN_DECIMALS);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_follows_from_the_next_cost_and_the_threshold() {
        let level = |balance: u64, warn: Option<u64>| {
            GasBalance::new(U256::from(balance), 100, 2, warn.map(U256::from)).level()
        };
        assert_eq!(level(199, Some(0)), GasLevel::Short);
        assert_eq!(level(200, Some(201)), GasLevel::Low);
        assert_eq!(level(201, Some(201)), GasLevel::Enough);
        let many = TYPICAL_GAS * WARN_BELOW_PAYOUTS * 2;
        assert_eq!([level(many - 1, None), level(many, None)], [GasLevel::Low, GasLevel::Enough]);
        let dearest = GasBalance::new(U256::MAX, u64::MAX, u128::MAX, None);
        assert_eq!(dearest.level(), GasLevel::Enough, "no overflow");
    }

    #[test]
    fn amounts_are_whole_coins() {
        let coins = |wei: u128| Wei(U256::from(wei)).to_string();
        assert_eq!(coins(0), "0");
        assert_eq!(coins(1), "0.000000000000000001");
        assert_eq!(coins(1_500_000_000_000_000_000), "1.5");
        let short = GasBalance::new(U256::from(5), 10, 10_u128.pow(16), None);
        assert_eq!(
            short.to_string(),
            "has 0.000000000000000005 of the chain's coin for gas, and its next transaction may cost 0.1"
        );
    }
}
