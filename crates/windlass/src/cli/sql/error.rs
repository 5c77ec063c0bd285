//! Why a statement has no rows, with the names that it could have used.

use windlass_core::code::Code;
use windlass_core::sql::lexer::{Token, TokenKind, tokens};
use windlass_core::sql::statement::FIRST_WORDS;
use windlass_core::sql::{SqlError, SqlTable};

use crate::compose::store::SqlStore;
use crate::failure::Failure;

/// So many tables are named.
const MAX_NAMED_TABLES: usize = 10;

/// What to do about an address without quotes.
const QUOTE_HINT: &str = "write addresses and hashes as text, in single quotes: '0x…'";
/// How long an address and a hash are, with their `0x`.
const BARE_LENGTHS: [usize; 2] = [42, 66];

/// The failure that is shown.
pub(super) async fn explained(error: SqlError, store: &SqlStore, statement: &str) -> Failure {
    match error {
        SqlError::Store(error) => error.into(),
        SqlError::TimedOut(_) => Failure::coded(Code::StatementRefused, error)
            .hint("--timeout 5m gives it longer; a condition on `block_number` lets it read less"),
        SqlError::Refused(_) | SqlError::Rejected(_) => {
            let failure = Failure::coded(Code::StatementRefused, error);
            let all = tokens(statement, store.dialect).unwrap_or_default();
            if let Some(hint) = hint_of_words(&all) {
                return failure.hint(hint);
            }
            // Without them the message is still there.
            let tables = store.reader.sql_tables().await.unwrap_or_default();
            failure.hint(hint(statement, &tables, store))
        }
    }
}

/// What to do about a statement that is wrong whatever tables there are.
fn hint_of_words(all: &[Token<'_>]) -> Option<&'static str> {
    let first = all.iter().find(|token| token.kind != TokenKind::Space)?;
    if !FIRST_WORDS.iter().any(|word| first.is_word(word)) {
        return Some("statements only read: nothing can be written, changed or deleted with them");
    }
    all.iter().any(is_bare_address).then_some(QUOTE_HINT)
}

/// An address or a hash without quotes: to a database it is a number that is too large.
fn is_bare_address(token: &Token<'_>) -> bool {
    let is_hex = token.text.starts_with("0x") || token.text.starts_with("0X");
    token.kind == TokenKind::Number && is_hex && BARE_LENGTHS.contains(&token.text.len())
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

#[cfg(test)]
mod tests {
    use windlass_core::sql::lexer::Dialect;

    use super::*;

    fn hint(statement: &str) -> Option<&'static str> {
        hint_of_words(&tokens(statement, Dialect::Postgres).expect("tokens"))
    }

    #[test]
    fn an_address_without_quotes_is_to_be_quoted() {
        let address = "0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9";
        assert_eq!(hint(&format!("SELECT 1 FROM fees WHERE token = {address}")), Some(QUOTE_HINT));
        assert_eq!(hint(&format!("SELECT 1 FROM fees WHERE token = '{address}'")), None);
        assert_eq!(hint("SELECT 0x12"), None);
    }

    #[test]
    fn a_statement_that_writes_is_told_that_statements_read() {
        for statement in ["DELETE FROM fees", "  drop table fees", "-- why\nUPDATE fees SET a = 1"] {
            assert!(hint(statement).is_some_and(|hint| hint.contains("only read")), "{statement}");
        }
    }
}
