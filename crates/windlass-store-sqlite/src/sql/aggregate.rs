//! `sum` and `avg` over amounts, exact, in the place of SQLite's own, which turn them into
//! floating-point numbers. Both give decimal text, and nothing for no values, as PostgreSQL does.

use rusqlite::functions::{Aggregate, Context, FunctionFlags, WindowAggregate};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

use crate::table::total::Total;

/// So many digits of a quotient count at least, as in PostgreSQL.
const MIN_DIGITS: i64 = 16;
/// PostgreSQL counts them in groups of four.
const GROUP: i64 = 4;

/// Puts the functions in the place of SQLite's.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_window_function("sum", 1, flags, Amounts { name: "sum", result: Running::sum })?;
    connection.create_window_function("avg", 1, flags, Amounts { name: "avg", result: Running::average })
}

/// An aggregate over amounts.
struct Amounts {
    name: &'static str,
    result: fn(&Running) -> Option<String>,
}

/// The total and the number of values so far.
#[derive(Default)]
struct Running {
    total: Total,
    count: u64,
}

impl Running {
    fn sum(&self) -> Option<String> {
        (self.count > 0).then(|| self.total.text())
    }

    fn average(&self) -> Option<String> {
        (self.count > 0).then(|| quotient(&self.total.text(), self.count))
    }
}

impl Amounts {
    /// The next value; nothing where it is NULL.
    fn value(&self, context: &Context<'_>) -> rusqlite::Result<Option<Total>> {
        let not_an_integer = |shown: String| {
            let words = format!("{}() takes integers, and {shown} is none", self.name);
            Error::UserFunctionError(words.into())
        };
        match context.get_raw(0) {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(Total::of_integer(number))),
            ValueRef::Text(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                Total::parse(&text).map(Some).ok_or_else(|| not_an_integer(format!("`{text:.80}`")))
            }
            ValueRef::Real(number) => Err(not_an_integer(number.to_string())),
            ValueRef::Blob(_) => Err(not_an_integer("a blob".to_owned())),
        }
    }
}

impl Aggregate<Running, Option<String>> for Amounts {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Running> {
        Ok(Running::default())
    }

    fn step(&self, context: &mut Context<'_>, running: &mut Running) -> rusqlite::Result<()> {
        if let Some(value) = self.value(context)? {
            running.total.add(value);
            running.count += 1;
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, running: Option<Running>) -> rusqlite::Result<Option<String>> {
        Ok(running.as_ref().and_then(self.result))
    }
}

impl WindowAggregate<Running, Option<String>> for Amounts {
    fn value(&self, running: Option<&mut Running>) -> rusqlite::Result<Option<String>> {
        Ok(running.and_then(|running| (self.result)(running)))
    }

    fn inverse(&self, context: &mut Context<'_>, running: &mut Running) -> rusqlite::Result<()> {
        if let Some(value) = Self::value(self, context)? {
            running.total.add(value.negated());
            running.count -= 1;
        }
        Ok(())
    }
}

/// An integer in decimal digits, divided, with as many decimals as PostgreSQL would give,
/// rounded half away from zero, without zeros at the end.
fn quotient(dividend: &str, divisor: u64) -> String {
    let (sign, digits) = dividend.strip_prefix('-').map_or(("", dividend), |digits| ("-", digits));
    let scale = scale(digits, &divisor.to_string());
    let mut divided = Vec::with_capacity(digits.len() + scale);
    let mut rest = 0_u128;
    for digit in digits.bytes().chain(std::iter::repeat_n(b'0', scale)) {
        rest = rest * 10 + u128::from(digit - b'0');
        // The rest is below ten times the divisor.
        divided.push((rest / u128::from(divisor)) as u8);
        rest %= u128::from(divisor);
    }
    if rest * 2 >= u128::from(divisor) {
        round_up(&mut divided);
    }
    let text: String = divided.iter().map(|digit| char::from(b'0' + digit)).collect();
    let (whole, fraction) = text.split_at(text.len() - scale);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    match (whole, fraction) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

/// Adds one at the last place.
fn round_up(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

/// How many decimals PostgreSQL gives a quotient: it reckons with the groups of digits of
/// both, and with the first group of each.
fn scale(dividend: &str, divisor: &str) -> usize {
    let (weight, first) = leading_group(dividend);
    let (other_weight, other_first) = leading_group(divisor);
    let estimate = weight - other_weight - i64::from(first <= other_first);
    usize::try_from(MIN_DIGITS - estimate * GROUP).unwrap_or(0)
}

/// How many groups there are behind the first of a number, and what that is.
fn leading_group(digits: &str) -> (i64, u32) {
    if digits == "0" {
        return (0, 0);
    }
    // Numbers have far fewer digits than 2^63.
    let behind = (digits.len() as i64 - 1) / GROUP;
    let first = &digits[..digits.len() - (behind * GROUP) as usize];
    (behind, first.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What PostgreSQL 15 answers to `avg` over numbers of that sum and count.
    #[test]
    fn averages_are_those_of_postgresql() {
        let known = [
            ("3", 2, "1.5"),
            ("10", 3, "3.3333333333333333"),
            ("1", 3, "0.33333333333333333333"),
            ("2", 3, "0.66666666666666666667"),
            ("-2", 3, "-0.66666666666666666667"),
            ("0", 7, "0"),
            ("12", 4, "3"),
            ("100000", 3, "33333.333333333333"),
            ("99999999999999999999", 7, "14285714285714285714"),
        ];
        for (sum, count, average) in known.iter() {
            assert_eq!(quotient(sum, *count), *average, "{sum} / {count}");
        }
    }

    #[test]
    fn rounding_may_add_a_digit() {
        let mut digits = vec![9, 9];
        round_up(&mut digits);
        assert_eq!(digits, [1, 0, 0]);
    }
}
