//! Exact amounts: 256-bit integers in a token's base units, never a float.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::chain::{Address, ChainId, U256};

/// The most decimals a token may have: 10^77 is the largest power of ten in 256 bits.
pub const MAX_DECIMALS: u8 = 77;

/// The address that stands for a chain's own coin where payouts, limits and events name a token. No
/// token can be at it.
pub const NATIVE_COIN: Address = Address::ZERO;

/// A token, and how its base units are shown to people.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The chain it lives on.
    pub chain: ChainId,
    /// Its contract; `None` is the chain's native coin.
    pub contract: Option<Address>,
    /// What people call it.
    pub symbol: String,
    /// How many decimals a whole one has.
    pub decimals: u8,
}

impl Token {
    /// Whether two tokens are the same thing, whatever they are called.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.chain == other.chain && self.contract == other.contract
    }

    /// Its contract's address, or [`NATIVE_COIN`].
    pub const fn address(&self) -> Address {
        match self.contract {
            Some(contract) => contract,
            None => NATIVE_COIN,
        }
    }
}

/// So many base units of a token.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amount {
    /// Base units (wei, micro-dollars), exact.
    pub units: U256,
    /// Of what.
    pub token: Token,
}

/// Why amounts cannot be read or combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Apples and oranges.
    #[error("cannot combine {0} with {1}: they are different tokens")]
    Mixed(String, String),
    /// Above 2^256 − 1, or below zero.
    #[error("the amount does not fit 256 bits")]
    Overflow,
    /// Not digits with at most one point.
    #[error("`{0}` is not an amount: write digits, with a point before decimals")]
    Malformed(String),
    /// More decimals than the token has.
    #[error("`{text}` has more decimals than the {decimals} of {symbol}")]
    TooPrecise {
        /// What was written.
        text: String,
        /// What the token has.
        decimals: u8,
        /// The token.
        symbol: String,
    },
    /// A token with more than [`MAX_DECIMALS`] decimals.
    #[error("a token has at most {MAX_DECIMALS} decimals, not {0}")]
    Decimals(u8),
}

impl Amount {
    /// The sum, if both are of one token and it fits.
    pub fn checked_add(&self, other: &Self) -> Result<Self, MoneyError> {
        self.combine(other, U256::checked_add)
    }

    /// The difference, if both are of one token and it is not below zero.
    pub fn checked_sub(&self, other: &Self) -> Result<Self, MoneyError> {
        self.combine(other, U256::checked_sub)
    }

    fn combine(&self, other: &Self, how: fn(U256, U256) -> Option<U256>) -> Result<Self, MoneyError> {
        if !self.token.is_same_as(&other.token) {
            return Err(MoneyError::Mixed(self.token.symbol.clone(), other.token.symbol.clone()));
        }
        let units = how(self.units, other.units).ok_or(MoneyError::Overflow)?;
        Ok(Self { units, token: self.token.clone() })
    }

    /// So many whole tokens, such as `12.5`: exact, without trailing zeros.
    pub fn decimal(&self) -> String {
        let digits =
            format!("{:0>width$}", self.units.to_string(), width = usize::from(self.token.decimals) + 1);
        let (whole, fraction) = digits.split_at(digits.len() - usize::from(self.token.decimals));
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{whole}{point}{fraction}")
    }

    /// Reads a human amount such as `12.5`, exactly.
    pub fn parse(text: &str, token: Token) -> Result<Self, MoneyError> {
        let malformed = || MoneyError::Malformed(text.to_owned());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits_only = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let fraction_given = text.contains('.');
        if whole.is_empty()
            || !digits_only(whole)
            || !digits_only(fraction)
            || (fraction_given && fraction.is_empty())
        {
            return Err(malformed());
        }
        let scale = scale(token.decimals)?;
        let missing = usize::from(token.decimals).checked_sub(fraction.len()).ok_or_else(|| {
            MoneyError::TooPrecise {
                text: text.to_owned(),
                decimals: token.decimals,
                symbol: token.symbol.clone(),
            }
        })?;
        let whole = U256::from_str_radix(whole, 10).map_err(|_| MoneyError::Overflow)?;
        let padded = format!("0{fraction}{}", "0".repeat(missing));
        let fraction = U256::from_str_radix(&padded, 10).map_err(|_| MoneyError::Overflow)?;
        let units = whole.checked_mul(scale).and_then(|units| units.checked_add(fraction));
        Ok(Self { units: units.ok_or(MoneyError::Overflow)?, token })
    }
}

fn scale(decimals: u8) -> Result<U256, MoneyError> {
    if decimals > MAX_DECIMALS {
        return Err(MoneyError::Decimals(decimals));
    }
    Ok(U256::from(10).pow(U256::from(decimals)))
}

impl fmt::Display for Amount {
    /// `12.5 USDC`: exact, without trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.decimal(), self.token.symbol)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token(decimals: u8) -> Token {
        let chain = ChainId::new(137).expect("a chain id");
        Token { chain, contract: Some(Address::repeat_byte(7)), symbol: "USDC".into(), decimals }
    }

    fn amount(text: &str, decimals: u8) -> Result<Amount, MoneyError> {
        Amount::parse(text, token(decimals))
    }

    #[test]
    fn human_amounts_are_exact() {
        assert_eq!(amount("12.5", 6).map(|a| a.units), Ok(U256::from(12_500_000)));
        assert_eq!(amount("0.000001", 6).map(|a| a.to_string()), Ok("0.000001 USDC".to_owned()));
        assert_eq!(amount("7", 0).map(|a| a.to_string()), Ok("7 USDC".to_owned()));
        assert!(matches!(amount("1.0000001", 6), Err(MoneyError::TooPrecise { .. })));
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "1.2.3", " 1", "0x10", "1_000"] {
            assert_eq!(amount(text, 6), Err(MoneyError::Malformed(text.to_owned())), "{text}");
        }
        assert_eq!(amount("1", 78), Err(MoneyError::Decimals(78)));
        assert_eq!(amount(&"9".repeat(78), 0), Err(MoneyError::Overflow));
    }

    #[test]
    fn only_amounts_of_one_token_combine() {
        let mut other = amount("1", 6).expect("an amount");
        other.token.contract = None;
        assert!(matches!(amount("1", 6).expect("an amount").checked_add(&other), Err(MoneyError::Mixed(..))));
    }

    #[test]
    fn sums_do_not_wrap() {
        let most = Amount { units: U256::MAX, token: token(18) };
        let one = Amount { units: U256::from(1), token: token(18) };
        assert_eq!(most.checked_add(&one), Err(MoneyError::Overflow));
        assert_eq!(one.checked_sub(&most), Err(MoneyError::Overflow));
        assert_eq!(most.checked_sub(&most).map(|a| a.units), Ok(U256::ZERO));
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(limbs: [u64; 4], decimals in 0..=MAX_DECIMALS) {
            let shown = Amount { units: U256::from_limbs(limbs), token: token(decimals) };
            let text = shown.to_string();
            let number = text.strip_suffix(" USDC").expect("the symbol");
            prop_assert_eq!(Amount::parse(number, token(decimals)), Ok(shown));
        }

        #[test]
        fn adding_and_taking_away_cancel(a: [u64; 3], b: [u64; 3]) {
            let [a, b] = [a, b].map(|l| Amount { units: U256::from_limbs([l[0], l[1], l[2], 0]), token: token(6) });
            prop_assert_eq!(a.checked_add(&b).and_then(|sum| sum.checked_sub(&b)), Ok(a));
        }
    }
}
