//! Integers of up to 256 bits as bytes that sort as the numbers do.
//!
//! A first byte tells sign and length: 0x80 and the length for what is not negative,
//! 0x7f less the length for what is. Then come the big-endian bytes that the sign does
//! not tell, of a negative number as two's complement has them. So 0 and −1 are one
//! byte each, a longer number is further from zero, and SQLite's own comparison of
//! bytes is that of the numbers.

use windlass_core::chain::U256;
use windlass_core::table::I256;

/// The bytes of a number without its sign and length.
const WIDTH: usize = 32;
/// The first byte of zero.
const NOT_NEGATIVE: u8 = 0x80;
/// The first byte of −1.
const NEGATIVE: u8 = 0x7f;

/// A number in that form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exact {
    bytes: [u8; WIDTH + 1],
    start: usize,
}

impl Exact {
    pub(super) fn of_uint(number: U256) -> Self {
        Self::new(number, false)
    }

    pub(super) fn of_int(number: I256) -> Self {
        Self::new(number.into_raw(), number.is_negative())
    }

    fn new(raw: U256, is_negative: bool) -> Self {
        let told = if is_negative { !raw } else { raw };
        let len = WIDTH - told.leading_zeros() / 8;
        let mut bytes = [0; WIDTH + 1];
        bytes[1..].copy_from_slice(&raw.to_be_bytes::<WIDTH>());
        let start = WIDTH - len;
        // At most 32, so it neither wraps nor is cut.
        bytes[start] = if is_negative { NEGATIVE - len as u8 } else { NOT_NEGATIVE + len as u8 };
        Self { bytes, start }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// The number that stands there, as two's complement with its sign; `None` for other bytes.
pub(crate) fn parse(bytes: &[u8]) -> Option<(U256, bool)> {
    let (first, told) = bytes.split_first()?;
    let is_negative = *first < NOT_NEGATIVE;
    let len = if is_negative { NEGATIVE - first } else { first - NOT_NEGATIVE };
    if told.len() != usize::from(len) {
        return None;
    }
    let mut raw = [if is_negative { 0xff } else { 0 }; WIDTH];
    raw.get_mut(WIDTH.checked_sub(told.len())?..)?.copy_from_slice(told);
    Some((U256::from_be_bytes(raw), is_negative))
}

/// The unsigned number that stands there.
pub(super) fn uint(bytes: &[u8]) -> Option<U256> {
    parse(bytes).filter(|(_, is_negative)| !is_negative).map(|(raw, _)| raw)
}

/// The signed number that stands there.
pub(super) fn int(bytes: &[u8]) -> Option<I256> {
    let (raw, is_negative) = parse(bytes)?;
    let number = I256::from_raw(raw);
    (number.is_negative() == is_negative).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of every length, with many near the ends of lengths.
    fn raw() -> impl Strategy<Value = U256> {
        let near = (0usize..=256, -2i64..=2).prop_map(|(bits, by)| {
            let power = if bits == 256 { U256::ZERO } else { U256::ONE << bits };
            power.wrapping_add(I256::try_from(by).expect("it fits").into_raw())
        });
        let wide =
            (any::<[u64; 4]>(), 0usize..256).prop_map(|(limbs, shift)| U256::from_limbs(limbs) >> shift);
        prop_oneof![near, wide]
    }

    proptest! {
        #[test]
        fn unsigned_numbers_read_back_and_sort_as_bytes(one in raw(), other in raw()) {
            let (a, b) = (Exact::of_uint(one), Exact::of_uint(other));
            prop_assert_eq!(uint(a.as_slice()), Some(one));
            prop_assert_eq!(a.as_slice().cmp(b.as_slice()), one.cmp(&other));
        }

        #[test]
        fn signed_numbers_read_back_and_sort_as_bytes(one in raw(), other in raw()) {
            let (one, other) = (I256::from_raw(one), I256::from_raw(other));
            let (a, b) = (Exact::of_int(one), Exact::of_int(other));
            prop_assert_eq!(int(a.as_slice()), Some(one));
            prop_assert_eq!(a.as_slice().cmp(b.as_slice()), one.cmp(&other));
        }
    }

    #[test]
    fn small_numbers_are_short() {
        assert_eq!(Exact::of_uint(U256::ZERO).as_slice(), [0x80]);
        assert_eq!(Exact::of_uint(U256::from(255)).as_slice(), [0x81, 255]);
        assert_eq!(Exact::of_int(I256::MINUS_ONE).as_slice(), [0x7f]);
        assert_eq!(Exact::of_int(I256::MIN).as_slice().len(), 33);
    }

    #[test]
    fn other_bytes_are_no_number() {
        for bytes in [&[][..], &[0x81], &[0x80, 1], &[0x00], &[0xff; 40]] {
            assert!(parse(bytes).is_none(), "{bytes:?}");
        }
        assert_eq!(uint(Exact::of_int(I256::MINUS_ONE).as_slice()), None);
        assert_eq!(int(Exact::of_uint(U256::MAX).as_slice()), None);
    }
}
