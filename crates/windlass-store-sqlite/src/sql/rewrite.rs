//! A statement as SQLite is given it.
//!
//! In the views an amount is text that compares as a number does, by its column's affinity
//! and collation. What a function makes of it has neither, so SQLite would order sums as
//! text. Hence what aggregates give back is given both again:
//! `sum(fee)` becomes `CAST(sum(fee) AS TEXT) COLLATE windlass_number`. An integer of more
//! than 64 bits becomes text too, since SQLite would read it as a floating-point number.
//!
//! Only tokens are looked at. A statement that SQLite reads in another way is still held by
//! what the connection allows.

use std::collections::HashSet;

use windlass_core::sql::SqlError;
use windlass_core::sql::lexer::{Dialect, Token, TokenKind, tokens};

use super::number::COLLATION;

/// What always gives amounts.
const SUMS: [&str; 2] = ["sum", "avg"];
/// What gives one of the values that it is given.
const PICKS: [&str; 7] = ["min", "max", "first_value", "last_value", "nth_value", "lag", "lead"];
/// What is put before such a call. The comments tell it from what a person has written.
const OPEN: &str = "CAST(/*w*/";

/// What is put behind such a call.
fn close() -> String {
    format!(" AS TEXT/*w*/) COLLATE {COLLATION}")
}

/// A column's name as the statement has it.
pub(super) fn original_name(name: &str) -> String {
    name.replace(OPEN, "").replace(&close(), "")
}

/// The statement for SQLite. `plain` are the columns that are amounts in no table.
pub(super) fn rewrite(statement: &str, plain: &HashSet<String>) -> Result<String, SqlError> {
    let all = tokens(statement, Dialect::Sqlite).map_err(|error| SqlError::Refused(error.to_string()))?;
    let own: Vec<usize> = (0..all.len()).filter(|place| all[*place].kind != TokenKind::Space).collect();
    let tokens = Tokens { all: &all, own: &own };
    let (mut before, mut behind) = (vec![0; all.len()], vec![0; all.len()]);
    for place in 0..own.len() {
        if let Some(end) = tokens.amount_call(place, plain) {
            before[own[place]] += 1;
            behind[own[end]] += 1;
        }
    }
    let mut text = String::with_capacity(statement.len());
    for (place, token) in all.iter().enumerate() {
        text.push_str(&OPEN.repeat(before[place]));
        if is_wide(token) {
            text.push_str(&format!("'{}'", token.text));
        } else {
            text.push_str(token.text);
        }
        text.push_str(&close().repeat(behind[place]));
    }
    Ok(text)
}

/// Whether it is an integer of more than 64 bits.
fn is_wide(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Number
        && token.text.bytes().all(|digit| digit.is_ascii_digit())
        && token.text.parse::<i64>().is_err()
}

/// Tokens, and the places of those that are no space.
struct Tokens<'a> {
    all: &'a [Token<'a>],
    own: &'a [usize],
}

impl Tokens<'_> {
    fn get(&self, place: usize) -> Option<&Token<'_>> {
        self.own.get(place).map(|place| &self.all[*place])
    }

    fn is_symbol(&self, place: usize, symbol: &str) -> bool {
        self.get(place).is_some_and(|token| token.is_symbol(symbol))
    }

    /// Where the call ends that begins here and may give an amount.
    fn amount_call(&self, place: usize, plain: &HashSet<String>) -> Option<usize> {
        let token = self.get(place).filter(|token| token.kind == TokenKind::Word)?;
        let name = token.name()?;
        let (is_sum, is_pick) = (SUMS.contains(&name.as_str()), PICKS.contains(&name.as_str()));
        let is_column = place > 0 && self.is_symbol(place - 1, ".");
        if !(is_sum || is_pick) || is_column || !self.is_symbol(place + 1, "(") {
            return None;
        }
        let end = self.closing(place + 1)?;
        if is_pick && self.is_plain(place + 2, end, plain) {
            return None;
        }
        Some(self.end_of_clauses(end))
    }

    /// Where the parenthesis that opens here is closed.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for place in open..self.own.len() {
            if self.is_symbol(place, "(") {
                depth += 1;
            } else if self.is_symbol(place, ")") {
                depth -= 1;
                if depth == 0 {
                    return Some(place);
                }
            }
        }
        None
    }

    /// Whether a call is of one column that is an amount in no table.
    fn is_plain(&self, from: usize, to: usize, plain: &HashSet<String>) -> bool {
        let last = match to.checked_sub(from) {
            Some(1) => from,
            Some(3) if self.is_symbol(from + 1, ".") => from + 2,
            _ => return false,
        };
        let name = self.get(last).and_then(Token::name);
        name.is_some_and(|name| plain.contains(&name.to_lowercase()))
    }

    /// The end of the clauses behind a call: `FILTER (…)`, `OVER (…)`, `OVER name`.
    fn end_of_clauses(&self, mut end: usize) -> usize {
        for clause in ["FILTER", "OVER"] {
            if !self.get(end + 1).is_some_and(|token| token.is_word(clause)) {
                continue;
            }
            if self.is_symbol(end + 2, "(") {
                end = self.closing(end + 2).unwrap_or(end);
            } else if clause == "OVER" && self.get(end + 2).is_some_and(|token| token.name().is_some()) {
                end += 2;
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(statement: &str) -> String {
        let plain = ["block_number", "small"].map(str::to_owned).into();
        let text = rewrite(statement, &plain).expect(statement);
        text.replace(OPEN, "<").replace(&close(), ">")
    }

    #[test]
    fn what_aggregates_give_back_is_marked_with_its_clauses() {
        let cases = [
            ("SELECT sum(fee) FROM v", "SELECT <sum(fee)> FROM v"),
            ("SELECT Sum ( f(a, b) ) AS s", "SELECT <Sum ( f(a, b) )> AS s"),
            (
                "SELECT sum(fee) FILTER (WHERE (a)) OVER (ORDER BY b)",
                "SELECT <sum(fee) FILTER (WHERE (a)) OVER (ORDER BY b)>",
            ),
            ("SELECT avg(fee) OVER w FROM v", "SELECT <avg(fee) OVER w> FROM v"),
            ("SELECT max(sum(fee)) OVER ()", "SELECT <max(<sum(fee)>) OVER ()>"),
            ("SELECT coalesce(sum(fee), 0)", "SELECT coalesce(<sum(fee)>, 0)"),
            ("SELECT (SELECT max(s) FROM t)", "SELECT (SELECT <max(s)> FROM t)"),
        ];
        for (given, expected) in cases {
            assert_eq!(rewritten(given), expected);
            let original = rewrite(given, &HashSet::new()).expect(given);
            assert_eq!(original_name(&original), given);
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for statement in [
            "SELECT max(block_number), min(v.\"small\"), count(*) FROM v",
            "SELECT sum, t.sum(1), \"sum\"(2), 'sum(3)' -- sum(4)",
            "SELECT sum(1",
            "SELECT group_concat(fee), 9223372036854775807, 1.5, 1e30, 0xffffffffffffffff",
        ] {
            assert_eq!(rewritten(statement), statement);
        }
        assert_eq!(rewritten("a > 9223372036854775808"), "a > '9223372036854775808'");
    }
}
