//! Which statements are run: one that reads, and begins like one.
//!
//! That nothing is written is held by the database. This says no sooner, and in clearer
//! words, to what is no query.

use std::fmt;

use super::lexer::{Dialect, Token, TokenKind, tokens};
use super::{MAX_STATEMENT_BYTES, SqlError};

/// What a statement that reads begins with.
pub const FIRST_WORDS: [&str; 3] = ["SELECT", "WITH", "VALUES"];
/// How many digits a 0x text has that is an address or a hash.
const HEX_DIGITS: [usize; 2] = [40, 64];

/// One statement, without a semicolon behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    text: String,
}

impl Statement {
    /// Takes a statement that reads. Addresses and hashes in it become lower-case, as the
    /// views show them: a wallet shows an address in mixed case.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, SqlError> {
        if text.len() > MAX_STATEMENT_BYTES {
            return Err(refused(format_args!("a statement has at most {MAX_STATEMENT_BYTES} bytes")));
        }
        let all = tokens(text, dialect).map_err(refused)?;
        let mut own: &[Token<'_>] = &all;
        while let Some((last, before)) = own.split_last()
            && (last.kind == TokenKind::Space || last.is_symbol(";"))
        {
            own = before;
        }
        let first = own.iter().find(|token| token.kind != TokenKind::Space);
        let Some(first) = first else { return Err(refused("there is no statement")) };
        if own.iter().any(|token| token.is_symbol(";")) {
            return Err(refused("only one statement is run at a time"));
        }
        if !FIRST_WORDS.iter().any(|word| first.is_word(word)) {
            let first = first.text;
            return Err(refused(format_args!(
                "`{first}` is not run: a statement begins with SELECT, WITH or VALUES"
            )));
        }
        Ok(Self { text: own.iter().map(lowered).collect() })
    }

    /// The statement as SQL.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A token, an address or hash in lower case.
fn lowered(token: &Token<'_>) -> String {
    let is_hash = |text: &str| {
        let digits = text.strip_prefix("'0x").and_then(|text| text.strip_suffix('\''));
        digits.is_some_and(|digits| {
            HEX_DIGITS.contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
        })
    };
    match token.kind {
        TokenKind::Text if is_hash(token.text) => token.text.to_ascii_lowercase(),
        _ => token.text.to_owned(),
    }
}

fn refused(why: impl fmt::Display) -> SqlError {
    SqlError::Refused(why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Statement, String> {
        Statement::parse(text, Dialect::Postgres).map_err(|error| error.to_string())
    }

    #[test]
    fn one_query_is_taken_as_it_is() {
        for text in ["SELECT 1", "with a as (select 1) select * from a", "-- why\nVALUES (';')"] {
            let statement = parse(&format!("{text} ;\n-- done\n; ")).expect(text);
            assert_eq!(statement.as_str(), text);
        }
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        let refused = [
            ("", "no statement"),
            (" -- only a comment", "no statement"),
            (";;", "no statement"),
            ("SELECT 1; DROP TABLE fees", "one statement"),
            ("COMMIT; SELECT 1", "one statement"),
            ("DROP TABLE fees", "`DROP` is not run"),
            ("PRAGMA query_only = 0", "`PRAGMA` is not run"),
            ("ATTACH 'x' AS y", "`ATTACH` is not run"),
            ("COPY fees TO PROGRAM 'sh'", "`COPY` is not run"),
            ("SET statement_timeout = 0", "`SET` is not run"),
            ("SELECT 'a", "a string has no end"),
        ];
        for (text, words) in refused {
            let why = parse(text).expect_err(text);
            assert!(why.contains(words), "{text}: {why}");
        }
        let long = format!("SELECT '{}'", "x".repeat(MAX_STATEMENT_BYTES));
        assert!(parse(&long).expect_err("long").contains("at most"));
    }

    #[test]
    fn addresses_and_hashes_become_lower_case_and_nothing_else_does() {
        let address = "'0xBD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9'";
        let statement = parse(&format!("SELECT {address}, 'A', '0xAB', \"X\"")).expect("a statement");
        assert_eq!(
            statement.as_str(),
            format!("SELECT {}, 'A', '0xAB', \"X\"", address.to_ascii_lowercase())
        );
    }
}
