//! Values of filters from text, within what their place can hold.
//!
//! A value that no row can have is refused, whatever it is compared by: `block.gte=-1`
//! and `kind=300` of a `uint8` are slips of whoever asks, and an answer without rows,
//! or with all of them, would hide that.

use windlass_core::chain::U256;
use windlass_core::row_query::Place;
use windlass_core::table::{ColumnKind, I256, TableSpec, Value};
use windlass_core::value_text::parse_value;

use super::name::Operator;
use super::time::Instant;
use crate::column_type::Domain;

/// The most characters of somebody's text that a message repeats.
const MAX_SHOWN_CHARS: usize = 80;

/// The value that a text means at a place; or why it means none.
pub(super) fn value(
    table: &TableSpec,
    place: &Place,
    operator: Operator,
    text: &str,
) -> Result<Value, String> {
    if *place == Place::Timestamp {
        let second = Instant::read(text)?.second(operator.comparison());
        let second = second.ok_or_else(|| format!("blocks have whole seconds, `{}` has not", shown(text)))?;
        return Ok(Value::Integer(second));
    }
    let kind = place.kind(table).map_err(|error| error.to_string())?;
    if kind == ColumnKind::Json {
        return Err("a list or tuple cannot be compared".to_owned());
    }
    let domain = Domain::of(table, place);
    match parse_value(kind, text) {
        Ok(value) if fits(&value, &domain) => Ok(value),
        read => Err(match expected(&domain) {
            Some(expected) => format!("`{}` is not {expected}", shown(text)),
            None => read.err().map_or_else(String::new, |error| error.to_string()),
        }),
    }
}

/// Somebody's text, as much of it as a message repeats.
pub(crate) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect()
}

/// Whether a place can have the value.
fn fits(value: &Value, domain: &Domain) -> bool {
    match (domain, value) {
        (Domain::Unsigned(bits), Value::Integer(number)) => {
            u64::try_from(*number).is_ok_and(|number| u64::BITS - number.leading_zeros() <= u32::from(*bits))
        }
        (Domain::Unsigned(bits), Value::Uint(number)) => number.bit_len() <= usize::from(*bits),
        (Domain::Signed(bits), Value::Integer(number)) => {
            I256::try_from(*number).is_ok_and(|it| has_bits(it, *bits))
        }
        (Domain::Signed(bits), Value::Int(number)) => has_bits(*number, *bits),
        (Domain::Bytes(len), Value::Bytes(bytes)) => bytes.len() == *len,
        (Domain::HashOf(_), Value::Bytes(bytes)) => bytes.len() == 32,
        _ => true,
    }
}

/// Whether a number with a sign fits so many bits.
fn has_bits(number: I256, bits: u16) -> bool {
    // What is left of a number without its sign: -128 has the seven bits of 127.
    let magnitude: U256 = if number.is_negative() { !number.into_raw() } else { number.into_raw() };
    magnitude.bit_len() < usize::from(bits)
}

/// What a place can have, in words; `None` where its kind says it all.
fn expected(domain: &Domain) -> Option<String> {
    let integer = |low: String, high: String| format!("an integer from {low} to {high}, decimal or `0x…`");
    let bytes = |len: usize| format!("{len} bytes: `0x` and {} hexadecimal digits", 2 * len);
    match domain {
        Domain::Unsigned(bits) => Some(integer("0".to_owned(), highest(*bits))),
        Domain::Signed(bits) => Some(integer(lowest(*bits), highest(bits - 1))),
        Domain::Bytes(len) => Some(bytes(*len)),
        Domain::HashOf(of) => Some(format!("the hash of an indexed `{of}`, which is {}", bytes(32))),
        Domain::Open => None,
    }
}

fn highest(bits: u16) -> String {
    match bits {
        0..=64 => ((1_u128 << bits) - 1).to_string(),
        _ => format!("2^{bits} - 1"),
    }
}

fn lowest(bits: u16) -> String {
    match bits {
        0..=64 => format!("-{}", 1_u128 << (bits - 1)),
        _ => format!("-2^{}", bits - 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds_are_told_as_numbers_while_people_can_read_them() {
        assert_eq!((lowest(8), highest(7)), ("-128".to_owned(), "127".to_owned()));
        assert_eq!((lowest(64), highest(64)), (i64::MIN.to_string(), u64::MAX.to_string()));
        assert_eq!((lowest(72), highest(72)), ("-2^71".to_owned(), "2^72 - 1".to_owned()));
    }

    proptest! {
        #[test]
        fn what_fits_is_what_lies_within_the_bounds(number: i64, bytes in 1..=8_u16) {
            let bits = 8 * bytes;
            let (low, high) = (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1);
            let is_within = (low..=high).contains(&i128::from(number));
            prop_assert_eq!(fits(&Value::Integer(number), &Domain::Signed(bits)), is_within);
            let wide = I256::try_from(number).unwrap();
            prop_assert_eq!(fits(&Value::Int(wide), &Domain::Signed(bits)), is_within);
            let is_within = (0..1_i128 << bits).contains(&i128::from(number));
            prop_assert_eq!(fits(&Value::Integer(number), &Domain::Unsigned(bits)), is_within);
            if let Ok(number) = u64::try_from(number) {
                prop_assert_eq!(fits(&Value::Uint(U256::from(number)), &Domain::Unsigned(bits)), is_within);
            }
        }
    }

    #[test]
    fn the_widest_integers_have_no_bounds_but_their_own() {
        for number in [I256::MIN, I256::MAX, I256::ZERO, I256::MINUS_ONE] {
            assert!(fits(&Value::Int(number), &Domain::Signed(256)), "{number}");
        }
        assert!(fits(&Value::Uint(U256::MAX), &Domain::Unsigned(256)));
        assert!(!fits(&Value::Int(I256::MIN), &Domain::Signed(248)));
    }
}
