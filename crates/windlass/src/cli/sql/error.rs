//! Why a statement has no rows, with the names that it could have used.

use windlass_core::code::Code;
use windlass_core::sql::lexer::tokens;
use windlass_core::sql::{SqlError, SqlTable};

use crate::compose::store::SqlStore;
use crate::failure::Failure;

/// So many tables are named.
const MAX_NAMED_TABLES: usize = 10;

/// The failure that is shown.
pub(super) async fn explained(error: SqlError, store: &SqlStore, statement: &str) -> Failure {
    match error {
        SqlError::Store(error) => error.into(),
        SqlError::TimedOut(_) => Failure::coded(Code::StatementRefused, error)
            .hint("--timeout 5m gives it longer; a condition on `block_number` lets it read less"),
        SqlError::Refused(_) | SqlError::Rejected(_) => {
            let failure = Failure::coded(Code::StatementRefused, error);
            // Without them the message is still there.
            let tables = store.reader.sql_tables().await.unwrap_or_default();
            failure.hint(hint(statement, &tables, store))
        }
    }
}

/// The columns of the tables that a statement names, or the tables there are.
fn hint(statement: &str, tables: &[SqlTable], store: &SqlStore) -> String {
    let names: Vec<String> = tokens(statement, store.dialect)
        .map(|all| all.iter().filter_map(|token| token.name()).collect())
        .unwrap_or_default();
    let is_named = |name: &str| names.iter().any(|named| named == name);
    let named = tables
        .iter()
        .filter(|table| is_named(&table.name) || table.view.as_deref().is_some_and(is_named))
        .take(MAX_NAMED_TABLES);
    let of_named: Vec<String> = named
        .map(|table| {
            let columns: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
            format!("{} has {}", table.name, columns.join(", "))
        })
        .collect();
    match (of_named.is_empty(), tables.is_empty()) {
        (false, _) => of_named.join("; "),
        (true, true) => {
            "there are no tables of events yet: `windlass index add` and `windlass run` make them".to_owned()
        }
        (true, false) => {
            let more = if tables.len() > MAX_NAMED_TABLES { ", …" } else { "" };
            let names: Vec<&str> =
                tables.iter().take(MAX_NAMED_TABLES).map(|table| table.name.as_str()).collect();
            format!("tables are {}{more}; `windlass sql --tables` shows their columns", names.join(", "))
        }
    }
}
