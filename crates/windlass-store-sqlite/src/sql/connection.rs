//! The connection that a statement runs on: it cannot write, and it shows views only.
//!
//! What it does not allow, SQLite itself refuses when it compiles the statement: every read of
//! another table than a view's own, whatever it is called by, ATTACH, PRAGMA and all that
//! writes. The file is open read-only besides.

use std::collections::{HashMap, HashSet};

use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};
use windlass_core::sql::SqlTable;
use windlass_core::table::{ColumnKind, HEAD_COLUMNS};

use super::aggregate;
use super::number::{COLLATION, compare};
use crate::table::{exact, hex, total::Total};

/// The function that gives an amount's digits.
const DECIMAL: &str = "windlass_decimal";
/// The longest text or blob that a statement may make, in bytes.
const MAX_VALUE_BYTES: i32 = 16 << 20;
/// The longest pattern of LIKE and GLOB, in bytes: matching takes as many steps as it has
/// wildcards for each byte of text.
const MAX_PATTERN_BYTES: i32 = 1_000;
/// What reads neither files nor tables, and is a table all the same.
const TABLE_FUNCTIONS: [&str; 2] = ["json_each", "json_tree"];
/// What the names of SQLite's own tables begin with.
const BUILT_IN: [&str; 5] = ["sqlite_", "pragma_", "dbstat", "bytecode", "tables_used"];
/// What is refused to a statement though it writes nothing.
const REFUSED_FUNCTIONS: [&str; 2] = ["load_extension", "fts3_tokenizer"];

/// Makes a reading connection one for statements.
pub(super) fn prepare(connection: &mut Connection, tables: &[SqlTable]) -> rusqlite::Result<()> {
    register(connection)?;
    for table in tables {
        let names = [Some(&table.name), table.view.as_ref()];
        for name in names.into_iter().flatten() {
            connection.execute_batch(&view(table, name))?;
        }
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN_BYTES)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "query_only", true)?;
    let guard = Guard::new(tables, names(connection)?);
    connection.authorizer(Some(move |context: AuthContext<'_>| guard.decide(&context)))
}

fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(DECIMAL, 1, flags, |context| match context.get_raw(0) {
        ValueRef::Blob(bytes) => {
            let (raw, is_negative) = exact::parse(bytes)
                .ok_or_else(|| Error::UserFunctionError("a stored amount is no number".into()))?;
            Ok(Some(Total::of_limbs(raw.into_limbs(), is_negative).text()))
        }
        _ => Ok(None),
    })?;
    connection.create_collation(COLLATION, compare)?;
    aggregate::register(connection)
}

/// A table as statements see it, under one of its names. The affinity and the order make
/// `fee > 1000` a comparison of numbers.
fn view(table: &SqlTable, name: &str) -> String {
    let columns = table.columns.iter().map(|(column, kind)| match kind {
        ColumnKind::Uint | ColumnKind::Int => {
            format!("CAST({DECIMAL}(\"{column}\") AS TEXT) COLLATE {COLLATION} AS \"{column}\"")
        }
        ColumnKind::Address | ColumnKind::Bytes => {
            format!("{} AS \"{column}\"", hex(&format!("\"{column}\"")))
        }
        _ => format!("\"{column}\""),
    });
    let columns: Vec<String> = columns.collect();
    format!("CREATE TEMP VIEW \"{name}\" AS SELECT {} FROM main.\"{}\"", columns.join(", "), table.name)
}

/// Everything in the file that has a name.
fn names(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut statement = connection.prepare("SELECT lower(name) FROM main.sqlite_schema")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// The columns that are amounts in no table, in lower case.
pub(super) fn plain_columns(tables: &[SqlTable]) -> HashSet<String> {
    let all = || tables.iter().flat_map(|table| &table.columns);
    let is_amount = |kind: &ColumnKind| matches!(kind, ColumnKind::Uint | ColumnKind::Int);
    let amounts: HashSet<&str> =
        all().filter(|(_, kind)| is_amount(kind)).map(|(name, _)| name.as_str()).collect();
    let names = all().map(|(name, _)| name.as_str()).chain(HEAD_COLUMNS);
    names.filter(|name| !amounts.contains(name)).map(str::to_owned).collect()
}

/// What a statement may do.
struct Guard {
    /// The table that each view reads, by the view's name.
    views: HashMap<String, String>,
    /// What is in the file.
    names: HashSet<String>,
}

impl Guard {
    fn new(tables: &[SqlTable], names: HashSet<String>) -> Self {
        let of = |table: &SqlTable| {
            let names = [Some(table.name.clone()), table.view.clone()].into_iter().flatten();
            names.map(|name| (name, table.name.clone())).collect::<Vec<_>>()
        };
        Self { views: tables.iter().flat_map(of).collect(), names }
    }

    fn decide(&self, context: &AuthContext<'_>) -> Authorization {
        let is_allowed = match context.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Function { function_name } => {
                !REFUSED_FUNCTIONS.iter().any(|refused| function_name.eq_ignore_ascii_case(refused))
            }
            AuthAction::Read { table_name, column_name: "" } => self.may_count(&table_name.to_lowercase()),
            AuthAction::Read { table_name, .. } => self.may_read(table_name, context),
            _ => false,
        };
        if is_allowed { Authorization::Allow } else { Authorization::Deny }
    }

    /// Where no column is read, SQLite does not say by which view. What is a view or its table
    /// may be counted, and so may what a statement defines itself.
    fn may_count(&self, name: &str) -> bool {
        let is_built_in = BUILT_IN.iter().any(|prefix| name.starts_with(prefix));
        self.views.contains_key(name) || !(is_built_in || self.names.contains(name))
    }

    /// A view may be read, and by it its own table. A name that a statement gives to
    /// something of its own opens no more than that table.
    fn may_read(&self, table: &str, context: &AuthContext<'_>) -> bool {
        match context.database_name {
            Some("temp") => self.views.contains_key(table),
            Some("main") => {
                let by_view = context.accessor.and_then(|view| self.views.get(&view.to_lowercase()));
                by_view.is_some_and(|own| own == table) || TABLE_FUNCTIONS.contains(&table)
            }
            _ => false,
        }
    }
}
