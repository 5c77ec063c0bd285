//! Decimal text in the order of the numbers that it shows.
//!
//! Every text has its place: numbers come first, other text behind them, byte by byte. So
//! it is one order, whatever is in a column.

use std::cmp::Ordering;

/// The name of this order in SQL.
pub(super) const COLLATION: &str = "windlass_number";

/// An exponent beyond this is that of no number that anybody writes.
const MAX_EXPONENT: i64 = 1_000_000;

/// The order of two texts.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    match (Decimal::parse(one), Decimal::parse(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// A number: its digits from the first to the last that is not zero, and the power of ten
/// of the place before them.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    magnitude: Magnitude,
}

/// Compares as numbers do: first by the power of ten, then digit by digit. Zero has no digits
/// and the lowest power.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Magnitude {
    power: i64,
    digits: Vec<u8>,
}

impl Decimal {
    /// Reads digits with a sign, a point and an exponent; `None` for other text.
    fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            None => (text, 0),
            Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        if exponent.abs() > MAX_EXPONENT {
            return None;
        }
        let all = || whole.bytes().chain(fraction.bytes());
        let zeros = all().take_while(|digit| *digit == b'0').count();
        let mut digits: Vec<u8> = all().skip(zeros).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Some(Self { is_negative: false, magnitude: Magnitude { power: i64::MIN, digits } });
        }
        // Texts are shorter than 2^63 bytes by far.
        let power = whole.len() as i64 - zeros as i64 + exponent;
        Some(Self { is_negative, magnitude: Magnitude { power, digits } })
    }

    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude.cmp(&other.magnitude),
            (true, true) => other.magnitude.cmp(&self.magnitude),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_come_in_their_order_and_before_other_text() {
        let ordered = [
            "-115792089237316195423570985008687907853269984665640564039457584007913129639936",
            "-1e20",
            "-10.5",
            "-10",
            "-9",
            "0",
            "0.001",
            "1",
            "1.5",
            "9",
            "10",
            "1.0e+20",
            "100000000000000000001",
            "",
            "-",
            "0x10",
            "1x",
            "a",
        ];
        for (place, one) in ordered.iter().enumerate() {
            for (other_place, other) in ordered.iter().enumerate() {
                assert_eq!(compare(one, other), place.cmp(&other_place), "{one} and {other}");
            }
        }
    }

    #[test]
    fn one_number_may_be_written_in_many_ways() {
        for (one, other) in
            [("1", "1.0"), ("10", "1e1"), ("0", "-0.0"), ("007", "7"), ("+2", "2"), (".5", "0.5")]
        {
            assert_eq!(compare(one, other), Ordering::Equal, "{one} and {other}");
        }
    }

    proptest! {
        #[test]
        fn integers_compare_as_they_do(one in any::<i128>(), other in any::<i128>()) {
            prop_assert_eq!(compare(&one.to_string(), &other.to_string()), one.cmp(&other));
        }

        #[test]
        fn it_is_one_order(texts in prop::array::uniform3("[-+]?[0-9a.e]{0,4}")) {
            let [a, b, c] = &texts;
            prop_assert_eq!(compare(a, b), compare(b, a).reverse());
            if compare(a, b).is_le() && compare(b, c).is_le() {
                prop_assert!(compare(a, c).is_le(), "{a} {b} {c}");
            }
        }
    }
}
