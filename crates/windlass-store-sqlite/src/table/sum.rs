//! Totals, exact however large: an aggregate function of our own, because SQLite's
//! stops at 64 bits.

use std::fmt::Write as _;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};
use windlass_core::error::StoreResult;

use super::exact;
use crate::error::Translate;

/// The function's name in SQL.
pub(super) const FUNCTION: &str = "windlass_sum";
/// 384 bits hold the sum of more 256-bit numbers than a table can have rows.
const LIMBS: usize = 6;
/// The largest power of ten that fits a limb, and how many digits it cuts off.
const CHUNK: u64 = 10_u64.pow(CHUNK_DIGITS as u32);
const CHUNK_DIGITS: usize = 19;

/// Makes the function known to a connection.
pub(crate) fn register(connection: &Connection) -> StoreResult<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_aggregate_function(FUNCTION, 1, flags, Sum).translate()
}

struct Sum;

/// A total so far, in two's complement, lowest limb first.
#[derive(Default)]
struct Total([u64; LIMBS]);

impl Total {
    fn add(&mut self, number: [u64; 4], is_negative: bool) {
        let sign = if is_negative { u64::MAX } else { 0 };
        let mut carry = false;
        for (place, limb) in self.0.iter_mut().enumerate() {
            (*limb, carry) = limb.carrying_add(number.get(place).copied().unwrap_or(sign), carry);
        }
    }

    /// The total in decimal digits.
    fn text(&self) -> String {
        let is_negative = self.0[LIMBS - 1] >> 63 == 1;
        let mut limbs = self.0;
        if is_negative {
            let mut carry = true;
            for limb in &mut limbs {
                (*limb, carry) = (!*limb).carrying_add(0, carry);
            }
        }
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

impl Aggregate<Total, String> for Sum {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Total> {
        Ok(Total::default())
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Total) -> rusqlite::Result<()> {
        match context.get_raw(0) {
            // As two's complement: the sign fills the limbs above.
            ValueRef::Integer(number) => {
                let sign = if number < 0 { u64::MAX } else { 0 };
                total.add([number as u64, sign, sign, sign], number < 0);
            }
            ValueRef::Blob(bytes) => {
                let (raw, is_negative) = exact::parse(bytes).ok_or_else(not_a_number)?;
                total.add(raw.into_limbs(), is_negative);
            }
            _ => return Err(not_a_number()),
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Total>) -> rusqlite::Result<String> {
        Ok(total.unwrap_or_default().text())
    }
}

fn not_a_number() -> Error {
    Error::UserFunctionError("a value to be summed is not a number".into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::chain::U256;
    use windlass_core::table::I256;

    use super::*;

    fn total(numbers: &[(U256, bool)]) -> String {
        let mut total = Total::default();
        numbers.iter().for_each(|(raw, is_negative)| total.add(raw.into_limbs(), *is_negative));
        total.text()
    }

    #[test]
    fn totals_pass_256_bits_both_ways() {
        assert_eq!(total(&[]), "0");
        let twice = format!("{}", U256::MAX) + "0";
        assert_eq!(total(&[(U256::MAX, false); 10]), twice);
        let lowest = (I256::MIN.into_raw(), true);
        assert_eq!(
            total(&[lowest; 2]),
            "-115792089237316195423570985008687907853269984665640564039457584007913129639936"
        );
        assert_eq!(total(&[lowest, (I256::MIN.into_raw(), false)]), "0");
    }

    proptest! {
        #[test]
        fn small_totals_are_those_of_128_bits(numbers in prop::collection::vec(any::<i64>(), 0..20)) {
            let exact: Vec<(U256, bool)> = numbers
                .iter()
                .map(|number| (I256::try_from(*number).expect("it fits").into_raw(), *number < 0))
                .collect();
            let sum: i128 = numbers.iter().map(|number| i128::from(*number)).sum();
            prop_assert_eq!(total(&exact), sum.to_string());
        }
    }
}
