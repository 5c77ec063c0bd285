//! Which limits a token can have. The vault keeps a limit in 48 bits, exact: leading digits,
//! and how many zeros stand behind them.

use crate::chain::U256;

/// The largest leading digits: any twelve fit, and some thirteen.
const MAX_DIGITS: u64 = (1 << 40) - 1;
/// The bits of the largest limit.
const MAX_BITS: usize = 120;

/// No token can have this limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Above the largest.
    #[error("a limit is at most {}, in base units", max_limit())]
    TooLarge,
    /// Too many digits that are not zero.
    #[error("a limit has up to twelve digits and then zeros, in base units: {0} would, and so would {1}")]
    TooPrecise(U256, U256),
}

/// The largest limit.
pub fn max_limit() -> U256 {
    (U256::ONE << MAX_BITS) - U256::ONE
}

/// Refuses a limit that the vault would refuse. Zero, for none, is fine.
pub fn check_limit(limit: U256) -> Result<(), LimitError> {
    if limit > max_limit() {
        return Err(LimitError::TooLarge);
    }
    let ten = U256::from(10);
    let (mut digits, mut zeros) = (limit, U256::ONE);
    while digits > U256::from(MAX_DIGITS) {
        let (left, last) = digits.div_rem(ten);
        if !last.is_zero() {
            return Err(nearest(digits, zeros));
        }
        (digits, zeros) = (left, zeros * ten);
    }
    Ok(())
}

/// The limits that fit next to one that does not.
fn nearest(mut digits: U256, mut zeros: U256) -> LimitError {
    let ten = U256::from(10);
    while digits > U256::from(MAX_DIGITS) {
        (digits, zeros) = (digits / ten, zeros * ten);
    }
    let above = match digits < U256::from(MAX_DIGITS) {
        true => digits + U256::ONE,
        false => (digits / ten + U256::ONE) * ten,
    };
    LimitError::TooPrecise(digits * zeros, above * zeros)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limit(text: &str) -> U256 {
        text.parse().expect("a number")
    }

    #[test]
    fn twelve_digits_and_then_zeros_fit() {
        for fits in [
            "0",
            "1",
            "999999999999",
            "1099511627775",
            "123456789012000000000000",
            "1000000000000000000000000000000000000",
        ] {
            assert_eq!(check_limit(limit(fits)), Ok(()), "{fits}");
        }
        assert_eq!(check_limit(max_limit() + U256::ONE), Err(LimitError::TooLarge));
        let refused = check_limit(limit("1234567890123000001"));
        assert_eq!(
            refused,
            Err(LimitError::TooPrecise(limit("1234567890120000000"), limit("1234567890130000000")))
        );
        let widest = check_limit(limit("10995116277751"));
        assert_eq!(widest, Err(LimitError::TooPrecise(limit("10995116277750"), limit("10995116277800"))));
        let words = refused.expect_err("refused").to_string();
        assert!(words.ends_with("1234567890120000000 would, and so would 1234567890130000000"), "{words}");
    }

    proptest! {
        /// What is offered instead fits, and lies on both sides.
        #[test]
        fn what_is_offered_fits(number in 0_u128..1 << 119) {
            let number = U256::from(number);
            if let Err(LimitError::TooPrecise(below, above)) = check_limit(number) {
                prop_assert!(below < number && number < above);
                prop_assert_eq!((check_limit(below), check_limit(above)), (Ok(()), Ok(())));
            }
        }

        #[test]
        fn what_has_few_digits_fits(digits in 0_u64..1_000_000_000_000, zeros in 0_u32..23) {
            let number = U256::from(digits) * U256::from(10).pow(U256::from(zeros));
            prop_assert_eq!(check_limit(number), Ok(()));
        }
    }
}
