//! Values from text, where somebody filters by them.

use std::str::FromStr;

use alloy_primitives::{I256, Sign, hex};

use crate::chain::{Address, Bytes, U256};
use crate::table::{Column, ColumnKind, Value};
use crate::table_rules::storable_text;

/// The most characters of somebody's text that a message repeats.
const MAX_SHOWN_CHARS: usize = 80;

/// Why a text is no value of a column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct ValueError {
    text: String,
    expected: &'static str,
}

impl ValueError {
    fn new(text: &str, expected: &'static str) -> Self {
        let shown = text.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect();
        Self { text: shown, expected }
    }
}

impl Column {
    /// The value that a text means in this column.
    pub fn parse(&self, text: &str) -> Result<Value, ValueError> {
        parse_value(self.kind, text)
    }
}

/// The value that a text means in a column of that kind. Integers may be decimal or
/// `0x…`; an address in upper and lower case must have its checksum.
pub fn parse_value(kind: ColumnKind, text: &str) -> Result<Value, ValueError> {
    let error = |expected| ValueError::new(text, expected);
    match kind {
        ColumnKind::Integer => integer(text).map(Value::Integer).ok_or_else(|| {
            error("an integer from -9223372036854775808 to 9223372036854775807, decimal or `0x…`")
        }),
        ColumnKind::Uint => magnitude(text)
            .map(Value::Uint)
            .ok_or_else(|| error("an integer from 0 to 2^256 - 1, decimal or `0x…`")),
        ColumnKind::Int => signed(text)
            .map(Value::Int)
            .ok_or_else(|| error("an integer from -2^255 to 2^255 - 1, decimal or `0x…`")),
        ColumnKind::Bool => bool::from_str(text).map(Value::Bool).map_err(|_| error("`true` or `false`")),
        ColumnKind::Address => address(text).map(Value::Address),
        ColumnKind::Bytes => text
            .strip_prefix("0x")
            .and_then(|digits| hex::decode(digits).ok())
            .map(|bytes| Value::Bytes(Bytes::from(bytes)))
            .ok_or_else(|| error("bytes: `0x` and an even number of hexadecimal digits")),
        ColumnKind::Text | ColumnKind::Json => Ok(Value::Text(storable_text(text).into_owned())),
    }
}

fn magnitude(text: &str) -> Option<U256> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let fits = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    if !fits {
        return None;
    }
    U256::from_str_radix(digits, u64::from(radix)).ok()
}

fn signed(text: &str) -> Option<I256> {
    match text.strip_prefix('-') {
        Some(digits) => I256::checked_from_sign_and_abs(Sign::Negative, magnitude(digits)?),
        None => I256::checked_from_sign_and_abs(Sign::Positive, magnitude(text)?),
    }
}

fn integer(text: &str) -> Option<i64> {
    i64::try_from(signed(text)?).ok()
}

fn address(text: &str) -> Result<Address, ValueError> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = || ValueError::new(text, "an address: `0x` and 40 hexadecimal digits");
    if digits.len() != 40 {
        return Err(plain());
    }
    let address = Address::from_str(digits).map_err(|_| plain())?;
    let has = |is: fn(&char) -> bool| digits.chars().any(|c| is(&c));
    let is_mixed = has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase);
    if is_mixed && address.to_checksum_buffer(None).as_str().get(2..) != Some(digits) {
        return Err(ValueError::new(text, "an address: its checksum is wrong, so it has a slip in it"));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKSUMMED: &str = "0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9";

    #[test]
    fn numbers_are_read_as_decimal_or_hexadecimal() {
        let uint = |text: &str| parse_value(ColumnKind::Uint, text);
        assert_eq!(uint("0xff"), Ok(Value::Uint(U256::from(255))));
        assert_eq!(uint(&U256::MAX.to_string()), Ok(Value::Uint(U256::MAX)));
        for wrong in ["", "-1", "+1", "1_000", " 1", "0x", "1e3", "ff", &format!("{}0", U256::MAX)] {
            assert!(uint(wrong).is_err(), "{wrong}");
        }
        let int = |text: &str| parse_value(ColumnKind::Int, text);
        assert_eq!(int(&I256::MIN.to_string()), Ok(Value::Int(I256::MIN)));
        assert_eq!(int("-0x10"), Ok(Value::Int(I256::unchecked_from(-16))));
        assert!(int(&format!("0x8{}", "0".repeat(63))).is_err());
        let integer = |text: &str| parse_value(ColumnKind::Integer, text);
        assert_eq!(integer("-9223372036854775808"), Ok(Value::Integer(i64::MIN)));
        assert!(integer("9223372036854775808").is_err());
    }

    #[test]
    fn an_address_may_be_in_any_case_but_not_with_a_slip() {
        let read = |text: &str| parse_value(ColumnKind::Address, text);
        let address = Value::Address(CHECKSUMMED.parse().expect("an address"));
        let upper = format!("0x{}", CHECKSUMMED[2..].to_uppercase());
        for text in [CHECKSUMMED, &CHECKSUMMED.to_lowercase(), &upper, &CHECKSUMMED[2..]] {
            assert_eq!(read(text), Ok(address.clone()), "{text}");
        }
        let slip = CHECKSUMMED.replace("bD6C", "Bd6C");
        assert!(read(&slip).expect_err("mixed").to_string().contains("checksum"));
        for wrong in ["", "0x", "0x12", &CHECKSUMMED[..41], &format!("{CHECKSUMMED}0"), "0xé"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_value_is_said() {
        let why = |kind, text: &str| parse_value(kind, text).expect_err("wrong").to_string();
        assert_eq!(why(ColumnKind::Bool, "yes"), "`yes` is not `true` or `false`");
        assert_eq!(
            why(ColumnKind::Bytes, "0x1"),
            "`0x1` is not bytes: `0x` and an even number of hexadecimal digits"
        );
        assert!(why(ColumnKind::Uint, &"x".repeat(1_000)).len() < 200);
    }
}
