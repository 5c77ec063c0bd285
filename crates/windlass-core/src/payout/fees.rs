//! What a transaction offers for its gas, and how much more when it has to wait.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Nodes take a replacement only at 10 % more; 12.5 % is taken by all of them.
const BUMP_NUMERATOR: u128 = 9;
const BUMP_DENOMINATOR: u128 = 8;

/// What is offered for a unit of gas, in wei.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GasFees {
    /// At most this much in all.
    pub max_fee: u128,
    /// Of which at most this much is for whoever makes the block.
    pub priority_fee: u128,
}

/// The most that a replacement offers, in multiples of what a first offer would be now: five
/// times is ten times the base fee.
const MAX_MARKET_MULTIPLE: u128 = 5;

/// Why a transaction is not offered more, in wei for a unit of gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverCap {
    /// More than is ever offered.
    #[error("gas costs {}, and at most {} are offered (`max_fee_gwei`)", Gwei(*.wanted), Gwei(*.cap))]
    Absolute {
        /// What it would have to offer.
        wanted: u128,
        /// What is allowed.
        cap: u128,
    },
    /// Far more than gas costs now: what keeps it from being mined is not its price.
    #[error(
        "it offers {} for gas that costs {} now, and is offered no more: its price is not what keeps it from being mined",
        Gwei(*.offered), Gwei(*.market)
    )]
    Relative {
        /// What it offers already.
        offered: u128,
        /// What a new transaction would offer.
        market: u128,
    },
}

/// Wei for a unit of gas, as operators read them.
struct Gwei(u128);

impl fmt::Display for Gwei {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:0>10}", self.0);
        let (whole, fraction) = digits.split_at(digits.len() - 9);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{fraction} gwei")
    }
}

impl GasFees {
    /// What to offer where a block's gas costs `base_fee` and its maker is tipped
    /// `priority_fee`: enough for the base fee to double.
    pub const fn for_base_fee(base_fee: u128, priority_fee: u128) -> Self {
        let max_fee = base_fee.saturating_mul(2).saturating_add(priority_fee);
        Self { max_fee, priority_fee }
    }

    /// The least that replaces this offer and is worth `market`: both fields at least an
    /// eighth higher. Refused above the cap, and far above the market.
    pub fn bumped(self, market: Self, cap: u128) -> Result<Self, OverCap> {
        let max_fee = eighth_more(self.max_fee).max(market.max_fee);
        let priority_fee = eighth_more(self.priority_fee).max(market.priority_fee).min(max_fee);
        if max_fee > cap {
            return Err(OverCap::Absolute { wanted: max_fee, cap });
        }
        if max_fee > market.max_fee.saturating_mul(MAX_MARKET_MULTIPLE) {
            return Err(OverCap::Relative { offered: self.max_fee, market: market.max_fee });
        }
        Ok(Self { max_fee, priority_fee })
    }

    /// The same, refused above the cap.
    pub const fn within(self, cap: u128) -> Result<Self, OverCap> {
        if self.max_fee > cap {
            return Err(OverCap::Absolute { wanted: self.max_fee, cap });
        }
        Ok(self)
    }
}

/// An eighth more, rounded up, and at least one more.
fn eighth_more(fee: u128) -> u128 {
    let more = fee.saturating_mul(BUMP_NUMERATOR).div_ceil(BUMP_DENOMINATOR);
    more.max(fee.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bump_is_an_eighth_more_in_both_fields_and_worth_the_market(
            (max_fee, priority) in (0_u128..1 << 80, 0_u128..1 << 80),
            (market_fee, market_priority) in (0_u128..1 << 80, 0_u128..1 << 80),
        ) {
            let fees = GasFees { max_fee: max_fee.max(priority), priority_fee: priority };
            let market = GasFees { max_fee: market_fee.max(market_priority), priority_fee: market_priority };
            let Ok(bumped) = fees.bumped(market, u128::MAX) else {
                prop_assert!(eighth_more(fees.max_fee) > market.max_fee * MAX_MARKET_MULTIPLE);
                return Ok(());
            };
            prop_assert!(bumped.max_fee <= market.max_fee * MAX_MARKET_MULTIPLE);
            for (new, old) in [(bumped.max_fee, fees.max_fee), (bumped.priority_fee, fees.priority_fee)] {
                prop_assert!(new * 8 >= old * 9 && new > old);
            }
            prop_assert!(bumped.max_fee >= market.max_fee && bumped.priority_fee >= market.priority_fee);
            prop_assert!(bumped.priority_fee <= bumped.max_fee);
        }
    }

    #[test]
    fn nothing_is_offered_above_the_cap() {
        let fees = GasFees { max_fee: 80, priority_fee: 8 };
        assert_eq!(fees.bumped(fees, 90), Ok(GasFees { max_fee: 90, priority_fee: 9 }));
        assert_eq!(fees.bumped(fees, 89), Err(OverCap::Absolute { wanted: 90, cap: 89 }));
        assert_eq!(fees.within(79), Err(OverCap::Absolute { wanted: 80, cap: 79 }));
        assert_eq!(GasFees::for_base_fee(10, 2), GasFees { max_fee: 22, priority_fee: 2 });
    }

    /// Guards against an offer that rises without end while something else keeps a transaction
    /// from being mined.
    #[test]
    fn an_offer_ends_at_a_multiple_of_the_market() {
        let market = GasFees { max_fee: 2_000_000_000, priority_fee: 1 };
        let mut fees = market;
        let over = loop {
            match fees.bumped(market, u128::MAX) {
                Ok(more) => fees = more,
                Err(over) => break over,
            }
        };
        assert!(fees.max_fee <= 10_000_000_000);
        let words = over.to_string();
        assert!(words.starts_with("it offers 9.") && words.contains("costs 2 gwei now"), "{words}");
        let dearer = GasFees { max_fee: fees.max_fee, ..market };
        assert!(fees.bumped(dearer, u128::MAX).is_ok(), "the market has risen");
        let over = OverCap::Absolute { wanted: 1_500_000_001, cap: 1_000_000_000 };
        assert_eq!(
            over.to_string(),
            "gas costs 1.500000001 gwei, and at most 1 gwei are offered (`max_fee_gwei`)"
        );
    }
}
