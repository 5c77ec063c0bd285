//! From `where` to conditions.
//!
//! A filter that is null is refused: an answer with all rows would hide that a variable was
//! left out by mistake.

use async_graphql::Value;
use windlass_core::row_query::Condition;

use super::TypedTable;
use super::column::TypedColumn;
use crate::error::{ApiError, ApiResult};
use crate::filter::{Operator, push_condition};

impl TypedTable {
    /// The conditions of `where`.
    pub(super) fn conditions(&self, given: Option<&Value>) -> ApiResult<Vec<Condition>> {
        let mut conditions = Vec::new();
        let filters = match given {
            None | Some(Value::Null) => return Ok(conditions),
            Some(Value::Object(filters)) => filters,
            Some(_) => return Err(ApiError::invalid("where", "it is one object of filters")),
        };
        for (name, value) in filters {
            let Some((column, operator)) = self.filter(name) else {
                return Err(ApiError::invalid("where", format!("there is no filter `{name}`")));
            };
            let texts = texts(name, value)?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            push_condition(&self.spec, &mut conditions, name, column.place.clone(), operator, &texts)?;
        }
        Ok(conditions)
    }

    /// The column and the comparison of a filter, by its name.
    fn filter(&self, name: &str) -> Option<(&TypedColumn, Operator)> {
        let mut of_column = self.columns.iter().filter(|column| name.starts_with(&column.name));
        of_column.find_map(|column| {
            let (_, operator) = column.filters().find(|(filter, _)| filter == name)?;
            Some((column, operator))
        })
    }
}

/// The values of a filter as text, exact.
fn texts(name: &str, value: &Value) -> ApiResult<Vec<String>> {
    match value {
        Value::List(values) => values.iter().map(|value| text(name, value)).collect(),
        value => Ok(vec![text(name, value)?]),
    }
}

fn text(name: &str, value: &Value) -> ApiResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Boolean(is) => Ok(is.to_string()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
        // The parser has rounded a number that 64 bits do not hold.
        Value::Number(_) => Err(ApiError::invalid(name, "a number is whole and has up to 64 bits")
            .hint("write a larger integer as a string: \"18446744073709551616\"")),
        Value::Null => Err(ApiError::invalid(name, "a filter cannot be null")
            .hint("leave it out; where it depends on the caller, pass all of `where` as a variable")),
        _ => Err(ApiError::invalid(name, "this is not a value")),
    }
}
