//! A total, exact however large: 384 bits hold the sum of more 256-bit numbers than a
//! table can have rows.

use std::fmt::Write as _;

/// How many 64-bit limbs a total has.
const LIMBS: usize = 6;
/// The largest power of ten that fits a limb, and how many digits it cuts off.
const CHUNK: u64 = 10_u64.pow(CHUNK_DIGITS as u32);
const CHUNK_DIGITS: usize = 19;

/// A total so far, in two's complement, lowest limb first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Total([u64; LIMBS]);

impl Total {
    /// A number of 64 bits.
    pub(crate) fn of_integer(number: i64) -> Self {
        // As two's complement: the sign fills the limbs above.
        let sign = if number < 0 { u64::MAX } else { 0 };
        let mut limbs = [sign; LIMBS];
        limbs[0] = number as u64;
        Self(limbs)
    }

    /// A number of 256 bits, as two's complement with its sign.
    pub(crate) fn of_limbs(number: [u64; 4], is_negative: bool) -> Self {
        let mut limbs = [if is_negative { u64::MAX } else { 0 }; LIMBS];
        limbs[..4].copy_from_slice(&number);
        Self(limbs)
    }

    /// Reads decimal digits, with a sign before them or not; `None` for other text, and for
    /// what does not fit.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let mut total = Self::default();
        for digit in digits.bytes() {
            total = total.times_ten_plus(digit - b'0')?;
        }
        Some(if text.starts_with('-') { total.negated() } else { total })
    }

    fn times_ten_plus(mut self, digit: u8) -> Option<Self> {
        let mut carry = u128::from(digit);
        for limb in &mut self.0 {
            carry += u128::from(*limb) * 10;
            // The low half, which fits.
            *limb = carry as u64;
            carry >>= 64;
        }
        (carry == 0 && !self.is_negative()).then_some(self)
    }

    pub(crate) fn add(&mut self, other: Self) {
        let mut carry = false;
        for (limb, more) in self.0.iter_mut().zip(other.0) {
            (*limb, carry) = limb.carrying_add(more, carry);
        }
    }

    pub(crate) fn negated(mut self) -> Self {
        let mut carry = true;
        for limb in &mut self.0 {
            (*limb, carry) = (!*limb).carrying_add(0, carry);
        }
        self
    }

    const fn is_negative(&self) -> bool {
        self.0[LIMBS - 1] >> 63 == 1
    }

    /// The total in decimal digits.
    pub(crate) fn text(&self) -> String {
        let is_negative = self.is_negative();
        let mut limbs = if is_negative { self.negated().0 } else { self.0 };
        let mut chunks = Vec::new();
        while limbs.iter().any(|limb| *limb != 0) {
            chunks.push(cut_chunk(&mut limbs));
        }
        let mut text = if is_negative { "-" } else { "" }.to_owned();
        let mut chunks = chunks.into_iter().rev();
        // Writing to a string cannot fail.
        let _ = write!(text, "{}", chunks.next().unwrap_or(0));
        for chunk in chunks {
            let _ = write!(text, "{chunk:0CHUNK_DIGITS$}");
        }
        text
    }
}

/// Divides by [`CHUNK`]; returns what is left over.
fn cut_chunk(limbs: &mut [u64; LIMBS]) -> u64 {
    let mut rest = 0;
    for limb in limbs.iter_mut().rev() {
        let dividend = (u128::from(rest) << 64) | u128::from(*limb);
        // The rest is below the divisor, so both fit a limb.
        *limb = (dividend / u128::from(CHUNK)) as u64;
        rest = (dividend % u128::from(CHUNK)) as u64;
    }
    rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::chain::U256;
    use windlass_core::table::I256;

    use super::*;

    fn sum(numbers: &[(U256, bool)]) -> String {
        let mut total = Total::default();
        for (raw, is_negative) in numbers {
            total.add(Total::of_limbs(raw.into_limbs(), *is_negative));
        }
        total.text()
    }

    #[test]
    fn totals_pass_256_bits_both_ways() {
        assert_eq!(sum(&[]), "0");
        let ten_times = format!("{}", U256::MAX) + "0";
        assert_eq!(sum(&[(U256::MAX, false); 10]), ten_times);
        assert_eq!(Total::parse(&ten_times).expect("a number").text(), ten_times);
        let lowest = (I256::MIN.into_raw(), true);
        assert_eq!(
            sum(&[lowest; 2]),
            "-115792089237316195423570985008687907853269984665640564039457584007913129639936"
        );
        assert_eq!(sum(&[lowest, (I256::MIN.into_raw(), false)]), "0");
    }

    #[test]
    fn what_is_no_integer_or_too_long_is_not_read() {
        for text in ["", "-", "1.5", "1e3", "+1", " 1", "0x1", "--1", &"9".repeat(116)] {
            assert_eq!(Total::parse(text), None, "{text}");
        }
        let long = "9".repeat(115);
        assert_eq!(Total::parse(&long).map(|total| total.text()), Some(long));
    }

    proptest! {
        #[test]
        fn small_totals_are_those_of_128_bits(numbers in prop::collection::vec(any::<i64>(), 0..20)) {
            let mut total = Total::default();
            numbers.iter().for_each(|number| total.add(Total::of_integer(*number)));
            let sum: i128 = numbers.iter().map(|number| i128::from(*number)).sum();
            prop_assert_eq!(total.text(), sum.to_string());
            prop_assert_eq!(Total::parse(&sum.to_string()), Some(total));
            prop_assert_eq!(total.negated().text(), (-sum).to_string());
        }
    }
}
