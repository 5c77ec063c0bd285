//! The name of a table in a statement means its view, as it does on SQLite: bytes are
//! compared as the 0x text that they are shown as.
//!
//! The statement begins with a definition of each table that it names. The server merges it
//! into the plan.

use windlass_core::sql::SqlTable;
use windlass_core::sql::lexer::{Dialect, LexError, Token, TokenKind, tokens};

/// The statement with the definitions before it.
pub(super) fn shadowed(statement: &str, tables: &[SqlTable]) -> Result<String, LexError> {
    let all = tokens(statement, Dialect::Postgres)?;
    let own: Vec<&Token<'_>> = all.iter().filter(|token| token.kind != TokenKind::Space).collect();
    let definitions: Vec<String> = tables
        .iter()
        .filter(|table| is_named(&own, &table.name))
        .filter_map(|table| Some(definition(&table.name, table.view.as_ref()?)))
        .collect();
    if definitions.is_empty() {
        return Ok(statement.to_owned());
    }
    // A definition may name itself then; none of these does.
    let mut text = format!("WITH RECURSIVE {}", definitions.join(", "));
    let mut rest = all.iter().skip_while(|token| token.kind == TokenKind::Space).peekable();
    if rest.next_if(|token| token.is_word("WITH")).is_some() {
        text.push(',');
        let mut is_first = true;
        let rest: String = rest
            .filter(|token| {
                let is_recursive = is_first && token.is_word("RECURSIVE");
                is_first &= token.kind == TokenKind::Space;
                !is_recursive
            })
            .map(|token| token.text)
            .collect();
        return Ok(text + &rest);
    }
    text.push(' ');
    text.extend(rest.map(|token| token.text));
    Ok(text)
}

fn definition(table: &str, view: &str) -> String {
    format!("\"{table}\" AS NOT MATERIALIZED (SELECT * FROM \"{view}\")")
}

/// Whether a statement names a table and does not define the name itself.
fn is_named(own: &[&Token<'_>], table: &str) -> bool {
    let is_it = |token: &Token<'_>| token.name().is_some_and(|name| name == table);
    let is_definition = |behind: &[&Token<'_>]| match behind {
        [open, ..] if open.is_symbol("(") => true,
        [first, next, ..] if first.is_word("AS") => {
            next.is_symbol("(") || next.is_word("MATERIALIZED") || next.is_word("NOT")
        }
        _ => false,
    };
    let places = || own.iter().enumerate().filter(|(_, token)| is_it(token)).map(|(place, _)| place);
    places().next().is_some() && !places().any(|place| is_definition(&own[place + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(statement: &str) -> String {
        let table = |name: &str| SqlTable {
            name: name.to_owned(),
            view: Some(format!("{name}_view")),
            columns: Vec::new(),
            rows: 0,
        };
        let text = shadowed(statement, &[table("t"), table("u")]).expect(statement);
        let [t, u] = ["t", "u"].map(|name| definition(name, &format!("{name}_view")));
        text.replace(&t, "[t]").replace(&u, "[u]")
    }

    #[test]
    fn only_tables_that_are_named_are_defined() {
        let cases = [
            ("SELECT 1", "SELECT 1"),
            ("SELECT * FROM t_view", "SELECT * FROM t_view"),
            ("SELECT * FROM T", "WITH RECURSIVE [t] SELECT * FROM T"),
            ("SELECT 't' FROM \"u\", t AS x", "WITH RECURSIVE [t], [u] SELECT 't' FROM \"u\", t AS x"),
            ("WITH x AS (SELECT * FROM t) SELECT 1", "WITH RECURSIVE [t], x AS (SELECT * FROM t) SELECT 1"),
            (
                "with recursive x as (select 1 from u) select 1",
                "WITH RECURSIVE [u],  x as (select 1 from u) select 1",
            ),
            ("WITH t AS (SELECT 1) SELECT * FROM t", "WITH t AS (SELECT 1) SELECT * FROM t"),
            ("WITH t (a) AS (SELECT 1) SELECT * FROM t", "WITH t (a) AS (SELECT 1) SELECT * FROM t"),
        ];
        for (statement, expected) in cases {
            assert_eq!(shown(statement), expected);
        }
    }
}
