//! Hexadecimal to fixed arrays and numbers, without a detour.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, Visitor};

/// What a hexadecimal text can become.
pub(crate) trait FromHex: Sized {
    const EXPECTED: &'static str;
    /// Reads the digits behind `0x`.
    fn from_digits(digits: &[u8]) -> Option<Self>;
}

impl FromHex for u64 {
    const EXPECTED: &'static str = "a number as `0x1f`";
    fn from_digits(digits: &[u8]) -> Option<Self> {
        if digits.is_empty() || digits.len() > 16 {
            return None;
        }
        digits.iter().try_fold(0, |number: u64, digit| Some(number << 4 | u64::from(nibble(*digit)?)))
    }
}

/// A number of a block, or a time: stores keep them in 63 bits, and no chain needs more.
pub(crate) struct Storable(pub(crate) u64);

impl FromHex for Storable {
    const EXPECTED: &'static str = "a number as `0x1f` of at most 63 bits";
    fn from_digits(digits: &[u8]) -> Option<Self> {
        u64::from_digits(digits).filter(|number| i64::try_from(*number).is_ok()).map(Self)
    }
}

impl FromHex for u128 {
    const EXPECTED: &'static str = "a number as `0x1f`";
    fn from_digits(digits: &[u8]) -> Option<Self> {
        if digits.is_empty() || digits.len() > 32 {
            return None;
        }
        digits.iter().try_fold(0, |number: u128, digit| Some(number << 4 | u128::from(nibble(*digit)?)))
    }
}

impl<const N: usize> FromHex for [u8; N] {
    const EXPECTED: &'static str = "a hexadecimal text of its length";
    fn from_digits(digits: &[u8]) -> Option<Self> {
        let mut bytes = [0; N];
        alloy_primitives::hex::decode_to_slice(digits, &mut bytes).ok()?;
        Some(bytes)
    }
}

impl FromHex for Vec<u8> {
    const EXPECTED: &'static str = "a hexadecimal text";
    fn from_digits(digits: &[u8]) -> Option<Self> {
        alloy_primitives::hex::decode(digits).ok()
    }
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Reads `0x…` text.
pub(crate) fn parse<T: FromHex>(text: &str) -> Option<T> {
    T::from_digits(text.as_bytes().strip_prefix(b"0x")?)
}

/// For `#[serde(deserialize_with)]`: `0x…` into `T`.
pub(crate) fn de<'de, D: Deserializer<'de>, T: FromHex>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_str(HexVisitor(PhantomData))
}

struct HexVisitor<T>(PhantomData<T>);

impl<T: FromHex> Visitor<'_> for HexVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        parse(text).ok_or_else(|| E::custom(format_args!("expected {}", T::EXPECTED)))
    }
}

/// A value read from `0x…`, for lists and options.
pub(crate) struct Hex<T>(pub(crate) T);

impl<'de, T: FromHex> serde::Deserialize<'de> for Hex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        de(deserializer).map(Self)
    }
}

/// Where the bytes of `0x…` go: an array of that length, or the end of a buffer.
pub(crate) struct FillHex<T>(pub(crate) T);

/// What takes the bytes of a hexadecimal text.
pub(crate) trait TakeHex {
    /// Takes the digits behind `0x`; `None` when they are none, or not as many as it needs.
    fn take(self, digits: &[u8]) -> Option<()>;
}

impl<const N: usize> TakeHex for &mut [u8; N] {
    fn take(self, digits: &[u8]) -> Option<()> {
        alloy_primitives::hex::decode_to_slice(digits, self).ok()
    }
}

impl TakeHex for &mut Vec<u8> {
    fn take(self, digits: &[u8]) -> Option<()> {
        let start = self.len();
        self.resize(start + digits.len() / 2, 0);
        alloy_primitives::hex::decode_to_slice(digits, &mut self[start..]).ok()
    }
}

impl<'de, T: TakeHex> DeserializeSeed<'de> for FillHex<T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T: TakeHex> Visitor<'_> for FillHex<T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hexadecimal text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let taken = text.as_bytes().strip_prefix(b"0x").and_then(|digits| self.0.take(digits));
        taken.ok_or_else(|| E::custom("expected a hexadecimal text of its length"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_arrays_are_read_strictly() {
        assert_eq!(parse("0x0"), Some(0_u64));
        assert_eq!(parse("0xffffffffffffffff"), Some(u64::MAX));
        assert_eq!(parse(&format!("0x{}", "f".repeat(32))), Some(u128::MAX));
        assert_eq!(parse::<u128>(&format!("0x1{}", "0".repeat(32))), None);
        assert_eq!(parse("0x00ff"), Some([0_u8, 255]));
        assert_eq!(parse("0x"), Some(Vec::<u8>::new()));
        for text in ["", "0x", "ff", "0x10000000000000000", "0xg", "-0x1", "0x+1"] {
            assert_eq!(parse::<u64>(text), None, "{text}");
        }
        for text in ["0x00", "0x0", "0x000000", "0x00gg"] {
            assert_eq!(parse::<[u8; 2]>(text), None, "{text}");
        }
    }
}
