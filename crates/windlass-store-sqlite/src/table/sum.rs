//! Totals in SQL: an aggregate function of our own, because SQLite's stops at 64 bits.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};
use windlass_core::error::StoreResult;

use super::exact;
use super::total::Total;
use crate::error::Translate;

/// The function's name in SQL.
pub(super) const FUNCTION: &str = "windlass_sum";

/// Makes the function known to a connection.
pub(crate) fn register(connection: &Connection) -> StoreResult<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_aggregate_function(FUNCTION, 1, flags, Sum).translate()
}

struct Sum;

impl Aggregate<Total, String> for Sum {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Total> {
        Ok(Total::default())
    }

    fn step(&self, context: &mut Context<'_>, total: &mut Total) -> rusqlite::Result<()> {
        match context.get_raw(0) {
            ValueRef::Integer(number) => total.add(Total::of_integer(number)),
            ValueRef::Blob(bytes) => {
                let (raw, is_negative) = exact::parse(bytes).ok_or_else(not_a_number)?;
                total.add(Total::of_limbs(raw.into_limbs(), is_negative));
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
