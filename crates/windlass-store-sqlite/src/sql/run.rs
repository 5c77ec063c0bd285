//! A statement's rows, until it ends or reaches a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ErrorCode, Row, Statement};
use windlass_core::error::StoreError;
use windlass_core::sql::{MAX_SQL_BYTES, SqlCut, SqlError, SqlQuery, SqlRows, SqlTable, SqlValue};

use super::connection;
use super::rewrite::{original_name, rewrite};
use crate::connect::{SqliteOptions, open_reader};
use crate::error::sqlite_error;

/// After so many steps of SQLite's machine the time is looked at.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// Runs a statement on a connection of its own.
pub(super) fn run(
    options: &SqliteOptions,
    tables: &[SqlTable],
    query: &SqlQuery,
    stop: Arc<AtomicBool>,
) -> Result<SqlRows, SqlError> {
    let mut connection = open_reader(options)?;
    connection::prepare(&mut connection, tables).map_err(sqlite_error)?;
    let deadline = Instant::now() + query.timeout;
    let is_over = move || stop.load(Ordering::Relaxed) || Instant::now() >= deadline;
    connection.progress_handler(STEPS_BETWEEN_LOOKS, Some(is_over)).map_err(sqlite_error)?;
    let sql = rewrite(query.statement.as_str(), &connection::plain_columns(tables))?;
    answer(&connection, &sql, query.max_rows).map_err(|error| match error {
        Failed::Sql(error) if is_stopped(&error) => SqlError::TimedOut(query.timeout),
        Failed::Sql(error) => rejected(error),
        Failed::Refused(why) => SqlError::Refused(why.to_owned()),
    })
}

/// Why there is no answer.
enum Failed {
    Sql(Error),
    Refused(&'static str),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Sql(error)
    }
}

fn answer(connection: &Connection, sql: &str, max_rows: u32) -> Result<SqlRows, Failed> {
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(Failed::Refused("only a statement that returns rows is run"));
    }
    if statement.parameter_count() > 0 {
        return Err(Failed::Refused("a statement has no parameters: write the values themselves"));
    }
    let columns = statement.column_names().map(original_name).collect();
    let (rows, cut) = rows(&mut statement, max_rows)?;
    Ok(SqlRows { columns, rows, cut })
}

type Cells = Vec<Vec<SqlValue>>;

fn rows(statement: &mut Statement<'_>, max_rows: u32) -> Result<(Cells, Option<SqlCut>), Error> {
    let width = statement.column_count();
    let mut found = statement.query([])?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        if rows.len() as u64 == u64::from(max_rows) {
            return Ok((rows, Some(SqlCut::Rows)));
        }
        let cells = (0..width).map(|place| value(row, place)).collect::<Result<Vec<_>, _>>()?;
        bytes += cells.iter().map(SqlValue::bytes).sum::<usize>();
        if bytes > MAX_SQL_BYTES {
            return Ok((rows, Some(SqlCut::Bytes)));
        }
        rows.push(cells);
    }
    Ok((rows, None))
}

fn value(row: &Row<'_>, place: usize) -> Result<SqlValue, Error> {
    Ok(match row.get_ref(place)? {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        // As short as reads back, with an exponent where it is long.
        ValueRef::Real(number) => SqlValue::Real(format!("{number:?}")),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            SqlValue::Text(format!("0x{digits}"))
        }
    })
}

fn is_stopped(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

/// SQLite's words about the statement, or trouble with the database.
fn rejected(error: Error) -> SqlError {
    match sqlite_error(error) {
        StoreError::Other(words) => SqlError::Rejected(words),
        // It writes nothing, so this is about what it wanted to do.
        StoreError::ReadOnly => SqlError::Rejected("the statement may only read".to_owned()),
        trouble => SqlError::Store(trouble),
    }
}
