//! Integers of up to 256 bits as NUMERIC.
//!
//! On the wire NUMERIC is a count of digits to the base 10,000, the power of the
//! first of them, a sign, a count of decimals, and the digits, highest first. Zeros at
//! either end are left out.

use std::error::Error;

use bytes::{Buf, BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use windlass_core::chain::U256;
use windlass_core::table::I256;

/// What a digit counts to.
const BASE: u64 = 10_000;
/// Four digits: what is cut off at once.
const GROUP: u64 = BASE.pow(4);
const GROUP_DIGITS: usize = 4;
/// 2^256 has 78 decimal places, so it takes five groups.
const MAX_GROUPS: usize = 5;
const MAX_DIGITS: usize = MAX_GROUPS * GROUP_DIGITS;
/// A field's length, the words before the digits, and the most of both with digits.
const LENGTH_BYTES: usize = 4;
const HEAD_BYTES: usize = 8;
const MAX_BYTES: usize = LENGTH_BYTES + HEAD_BYTES + 2 * MAX_DIGITS;
const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;

/// An integer: how much, and on which side of zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exact {
    magnitude: U256,
    is_negative: bool,
}

impl Exact {
    pub(super) const fn of_uint(magnitude: U256) -> Self {
        Self { magnitude, is_negative: false }
    }

    pub(super) fn of_int(number: I256) -> Self {
        Self { magnitude: number.unsigned_abs(), is_negative: number.is_negative() }
    }

    /// As an unsigned number, if it is one.
    pub(super) fn uint(self) -> Option<U256> {
        (!self.is_negative || self.magnitude.is_zero()).then_some(self.magnitude)
    }

    /// As a signed number, if it fits one.
    pub(super) fn int(self) -> Option<I256> {
        let raw = if self.is_negative { self.magnitude.wrapping_neg() } else { self.magnitude };
        let number = I256::from_raw(raw);
        (number.is_negative() == (self.is_negative && !self.magnitude.is_zero())).then_some(number)
    }

    /// Writes it as a field: its length, then what NUMERIC is on the wire.
    pub(super) fn put_field(self, row: &mut BytesMut) {
        row.put_slice(self.encode().as_field());
    }

    fn encode(self) -> Encoded {
        let digits = Digits::of(self.magnitude);
        let told = digits.told();
        let mut encoded = Encoded { bytes: [0; MAX_BYTES], len: LENGTH_BYTES + HEAD_BYTES + 2 * told.len() };
        // There are at most 20 digits: none of these is cut.
        let words = [told.len() as u16, digits.len.saturating_sub(1) as u16, self.sign(), 0];
        let words = words.iter().chain(told.iter().rev());
        for (place, word) in encoded.bytes[LENGTH_BYTES..].as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
        let length = (encoded.len - LENGTH_BYTES) as u32;
        encoded.bytes[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        encoded
    }

    const fn sign(self) -> u16 {
        if self.is_negative { NEGATIVE } else { POSITIVE }
    }
}

/// A number as it is written, without an allocation.
struct Encoded {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl Encoded {
    /// With its length before it.
    fn as_field(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn as_value(&self) -> &[u8] {
        &self.bytes[LENGTH_BYTES..self.len]
    }
}

/// Digits to the base 10,000, lowest first.
struct Digits {
    digits: [u16; MAX_DIGITS],
    /// How many there are up to the highest that is not zero.
    len: usize,
    /// How many of them are zero at the low end.
    zeros: usize,
}

impl Digits {
    fn of(magnitude: U256) -> Self {
        let mut digits = [0; MAX_DIGITS];
        let mut len = 0;
        let mut rest = magnitude.into_limbs();
        for group_digits in digits.as_chunks_mut::<GROUP_DIGITS>().0 {
            if rest == [0; 4] {
                break;
            }
            let mut group = cut_group(&mut rest);
            for digit in group_digits {
                // Below the base, so it is not cut.
                *digit = (group % BASE) as u16;
                group /= BASE;
            }
            len += GROUP_DIGITS;
        }
        while len > 0 && digits[len - 1] == 0 {
            len -= 1;
        }
        let zeros = digits[..len].iter().take_while(|digit| **digit == 0).count();
        Self { digits, len, zeros }
    }

    /// Those that are written.
    fn told(&self) -> &[u16] {
        &self.digits[self.zeros..self.len]
    }
}

/// Divides by [`GROUP`]; returns what is left over. Most numbers are short, so only
/// limbs that hold something are worked on.
fn cut_group(limbs: &mut [u64; 4]) -> u64 {
    let mut rest = 0;
    for limb in limbs.iter_mut().rev() {
        if rest == 0 {
            rest = *limb % GROUP;
            *limb /= GROUP;
            continue;
        }
        let dividend = (u128::from(rest) << 64) | u128::from(*limb);
        // The rest is below the divisor, so both fit a limb.
        *limb = (dividend / u128::from(GROUP)) as u64;
        rest = (dividend % u128::from(GROUP)) as u64;
    }
    rest
}

impl ToSql for Exact {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(self.encode().as_value());
        Ok(IsNull::No)
    }

    accepts!(NUMERIC);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Exact {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        parse(raw).ok_or_else(|| "a NUMERIC that is no integer of 256 bits".into())
    }

    accepts!(NUMERIC);
}

fn parse(mut raw: &[u8]) -> Option<Exact> {
    let count = raw.try_get_u16().ok()?;
    let weight = raw.try_get_i16().ok()?;
    let is_negative = match raw.try_get_u16().ok()? {
        POSITIVE => false,
        NEGATIVE => true,
        _ => return None,
    };
    raw.try_get_u16().ok()?;
    // Digits below the point would be decimals.
    if raw.len() != 2 * usize::from(count) || i32::from(count) > i32::from(weight) + 1 {
        return None;
    }
    let mut magnitude = U256::ZERO;
    if count > 0 {
        for _ in 0..=weight {
            let digit = raw.try_get_u16().unwrap_or(0);
            magnitude = magnitude.checked_mul(U256::from(BASE))?.checked_add(U256::from(digit))?;
        }
    }
    Some(Exact { magnitude, is_negative })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of every length, many of them with zeros at the end.
    fn numbers() -> impl Strategy<Value = U256> {
        let wide =
            (any::<[u64; 4]>(), 0usize..256).prop_map(|(limbs, shift)| U256::from_limbs(limbs) >> shift);
        let round = (any::<u64>(), 0usize..=57)
            .prop_map(|(number, zeros)| U256::from(number) * U256::from(10).pow(U256::from(zeros)));
        prop_oneof![wide, round]
    }

    fn written(number: Exact) -> BytesMut {
        let mut out = BytesMut::new();
        number.to_sql(&Type::NUMERIC, &mut out).expect("it is written");
        out
    }

    proptest! {
        #[test]
        fn numbers_read_back(magnitude in numbers(), is_negative in any::<bool>()) {
            let number = Exact { magnitude, is_negative };
            prop_assert_eq!(parse(&written(number)), Some(number));
        }
    }

    #[test]
    fn zeros_at_either_end_are_left_out() {
        assert_eq!(written(Exact::of_uint(U256::ZERO))[..], [0; 8]);
        let ether = Exact::of_uint(U256::from(10_u64.pow(18)));
        assert_eq!(written(ether)[..], [0, 1, 0, 4, 0, 0, 0, 0, 0, 100]);
        assert_eq!(written(Exact::of_uint(U256::MAX)).len(), HEAD_BYTES + 2 * MAX_DIGITS);
    }

    #[test]
    fn what_is_no_integer_of_256_bits_is_refused() {
        let half = [0, 1, 0xff, 0xff, 0, 0, 0, 1, 0x13, 0x88];
        let not_a_number = [0, 0, 0, 0, 0xc0, 0, 0, 0];
        let too_large = [0, 1, 0, 20, 0, 0, 0, 0, 0, 1];
        for raw in [&half[..], &not_a_number, &too_large, &[]] {
            assert_eq!(parse(raw), None, "{raw:?}");
        }
        assert_eq!(Exact::of_int(I256::MINUS_ONE).uint(), None);
        assert_eq!(Exact::of_uint(U256::MAX).int(), None);
        assert_eq!(Exact::of_int(I256::MIN).int(), Some(I256::MIN));
    }
}
