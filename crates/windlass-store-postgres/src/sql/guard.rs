//! Which functions and tables a statement may use.
//!
//! Functions are found by their names: whatever comes before a parenthesis and is called
//! like a function of the database must be on the list. Tables are found in the plan that the
//! server makes, so no view, alias or comment hides one.

use deadpool_postgres::ClientWrapper;
use serde_json::Value;
use windlass_core::sql::SqlTable;
use windlass_core::sql::lexer::{Dialect, Token, TokenKind, tokens};

use super::Failed;
use super::functions::is_allowed;

/// The functions of the database that are among these names.
const CALLED: &str =
    "SELECT DISTINCT proname::TEXT FROM pg_catalog.pg_proc WHERE proname = ANY ($1) ORDER BY 1";
/// What everything of a plan is nested in.
const MAX_PLAN_DEPTH: usize = 1_000;

/// Refuses names of the server's own views, and calls of functions that are not on the list.
pub(super) async fn check_names(client: &ClientWrapper, statement: &str) -> Result<(), Failed> {
    let names = called(statement)?;
    let names: Vec<&String> = names.iter().filter(|name| !is_allowed(name)).collect();
    // What is no function is a keyword, a type or a name that the statement gives itself.
    let rows = if names.is_empty() { Vec::new() } else { client.query(CALLED, &[&names]).await? };
    if let Some(row) = rows.first() {
        return Err(not_allowed(&row.try_get::<_, String>(0)?));
    }
    match all_names(statement)?.into_iter().find(|name| is_of_server(name)) {
        None => Ok(()),
        Some(name) => Err(not_a_table(&name)),
    }
}

/// Whether a name is one of the server's own: a view of those may call functions that show
/// in no plan.
fn is_of_server(name: &str) -> bool {
    name.starts_with("pg_") || name == "information_schema"
}

fn not_allowed(function: &str) -> Failed {
    Failed::Refused(format!("the function {function}() is not among those that a statement may call"))
}

fn not_a_table(name: &str) -> Failed {
    Failed::Refused(format!("{name} is not a table of events, nor a view of one"))
}

fn own_tokens(statement: &str) -> Result<Vec<Token<'_>>, Failed> {
    let all = tokens(statement, Dialect::Postgres).map_err(|error| Failed::Refused(error.to_string()))?;
    Ok(all.into_iter().filter(|token| token.kind != TokenKind::Space).collect())
}

fn all_names(statement: &str) -> Result<Vec<String>, Failed> {
    Ok(own_tokens(statement)?.iter().filter_map(Token::name).collect())
}

/// The names before parentheses, as the server compares them.
fn called(statement: &str) -> Result<Vec<String>, Failed> {
    let own = own_tokens(statement)?;
    let calls = own.windows(2).filter(|pair| pair[1].is_symbol("("));
    Ok(calls.filter_map(|pair| pair[0].name()).collect())
}

/// Refuses tables that are no tables of events, and functions in the place of tables.
pub(super) async fn check_plan(
    client: &ClientWrapper,
    statement: &str,
    tables: &[SqlTable],
) -> Result<(), Failed> {
    let explain = format!("EXPLAIN (FORMAT JSON, VERBOSE, COSTS OFF) {statement}");
    let plan: Plan = client.query_one(&explain, &[]).await?.try_get(0)?;
    let mut used = Used::default();
    used.collect(&plan.0, 0)?;
    if let Some(function) = used.functions.iter().find(|name| !is_allowed(name)) {
        return Err(not_allowed(function));
    }
    let schema: String = client.query_one("SELECT current_schema()::TEXT", &[]).await?.try_get(0)?;
    let is_ours = |name: &str| tables.iter().any(|table| table.name == name);
    match used.relations.iter().find(|(of, name)| *of != schema || !is_ours(name)) {
        None => Ok(()),
        Some((_, name)) => Err(not_a_table(name)),
    }
}

/// What a plan uses.
#[derive(Default)]
struct Used {
    /// Tables, each with its schema.
    relations: Vec<(String, String)>,
    /// Functions whose rows are read.
    functions: Vec<String>,
}

impl Used {
    fn collect(&mut self, plan: &Value, depth: usize) -> Result<(), Failed> {
        if depth > MAX_PLAN_DEPTH {
            return Err(Failed::Refused("the statement is nested too deeply".to_owned()));
        }
        match plan {
            Value::Array(all) => all.iter().try_for_each(|one| self.collect(one, depth + 1)),
            Value::Object(fields) => {
                let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
                if let Some(name) = text("Relation Name") {
                    self.relations.push((text("Schema").unwrap_or_default(), name));
                }
                self.functions.extend(text("Function Name"));
                fields.values().try_for_each(|one| self.collect(one, depth + 1))
            }
            _ => Ok(()),
        }
    }
}

/// A plan as the server writes it: JSON, read as text.
struct Plan(Value);

impl<'a> tokio_postgres::types::FromSql<'a> for Plan {
    fn from_sql(
        _: &tokio_postgres::types::Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(serde_json::from_slice(raw)?))
    }

    tokio_postgres::types::accepts!(JSON);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_seen_however_they_are_written() {
        let names = |statement: &str| called(statement).ok().expect("tokens");
        assert_eq!(names("SELECT PG_Sleep(1)"), ["pg_sleep"]);
        assert_eq!(names("SELECT pg_catalog . \"pg_sleep\" /* ( */ -- \n (1)"), ["pg_sleep"]);
        assert_eq!(names("SELECT 'pg_sleep(1)', \"a(b\", 1 -- f(1)"), Vec::<String>::new());
        assert_eq!(names("SELECT count(*) FROM t WHERE a IN (1)"), ["count", "in"]);
        assert!(called("SELECT U&\"pg\\005fsleep\"(1)").is_err());
        assert!(called("SELECT $$a$$").is_err());
    }

    #[test]
    fn everything_that_a_plan_uses_is_found() {
        let plan = serde_json::json!([{"Plan": {"Node Type": "Hash Join", "Plans": [
            {"Relation Name": "fees", "Schema": "public"},
            {"Node Type": "Hash", "Plans": [{"Relation Name": "api_key", "Schema": "public"}]},
            {"Node Type": "Function Scan", "Function Name": "pg_show_all_settings"},
        ]}}]);
        let mut used = Used::default();
        assert!(used.collect(&plan, 0).is_ok());
        let names: Vec<&str> = used.relations.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["fees", "api_key"]);
        assert_eq!(used.functions, ["pg_show_all_settings"]);
    }
}
