//! From parameters to conditions.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `name` | what a parameter's name stands for |
//! | `value` | values from text, within what their place can hold |
//! | `time` | times in parameters |
//! | `bounds` | times as bounds of blocks, so that no row is read in vain |

mod bounds;
mod name;
mod time;
mod value;

use windlass_core::row_query::{Condition, MAX_LISTED_VALUES, Place};
use windlass_core::table::{TableSpec, Value};

pub(crate) use self::bounds::within_blocks;
pub(crate) use self::name::Operator;
use self::name::{known, place, target};
pub(crate) use self::value::shown;
use self::value::value;
use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::limits::MAX_FILTERS;

/// What a request asks of a table: its own parameters, and conditions for the rest.
#[derive(Debug)]
pub(crate) struct Asked {
    controls: Vec<(String, String)>,
    /// All of them have to be met.
    pub(crate) conditions: Vec<Condition>,
}

impl Asked {
    /// Reads a query. What is not among the endpoint's own parameters is a filter.
    pub(crate) fn read(table: &TableSpec, own: &[&str], pairs: Vec<(String, String)>) -> ApiResult<Self> {
        let mut asked = Self { controls: Vec::new(), conditions: Vec::new() };
        for (name, value) in pairs {
            if !own.contains(&name.as_str()) {
                let added = add(table, &mut asked.conditions, &name, &value);
                added.map_err(|error| suggest_own(error, &name, own, table))?;
            } else if asked.control(&name).is_some() {
                return Err(ApiError::invalid(&name, "it is given twice"));
            } else {
                asked.controls.push((name, value));
            }
        }
        Ok(asked)
    }

    /// One of the endpoint's own parameters.
    pub(crate) fn control(&self, name: &str) -> Option<&str> {
        self.controls.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// One that is a number between ends.
    pub(crate) fn number(&self, name: &str, default: u32, most: u32) -> ApiResult<u32> {
        let Some(text) = self.control(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| {
            ApiError::invalid(name, format!("`{}` is not a number from 1 to {most}", shown(text)))
        })
    }
}

/// An unknown parameter may be a misspelt one of the endpoint's own.
fn suggest_own(error: ApiError, name: &str, own: &[&str], table: &TableSpec) -> ApiError {
    let is_without = error.code == ErrorCode::UnknownParameter && error.hint.is_none();
    if !is_without {
        return error;
    }
    error.nearest(name, own.iter().copied()).or_hint(|| name::fields_hint(table))
}

/// Adds what one parameter says: `integratorFee.gte=5`, `token.in=0x…,0x…`.
fn add(table: &TableSpec, conditions: &mut Vec<Condition>, parameter: &str, text: &str) -> ApiResult<()> {
    let target = target(table, parameter)?;
    let texts: Vec<&str> = match target.operator {
        Operator::In => text.split(',').collect(),
        _ => vec![text],
    };
    push_condition(table, conditions, parameter, target.place, target.operator, &texts)
}

/// Adds one comparison of a named place.
pub(crate) fn compare(
    table: &TableSpec,
    conditions: &mut Vec<Condition>,
    column: &str,
    operator: Operator,
    texts: &[&str],
) -> ApiResult<()> {
    let place = named_place(table, "filter", column)?;
    push_condition(table, conditions, column, place, operator, texts)
}

/// The place that a name stands for, which a parameter has as its value.
pub(crate) fn named_place(table: &TableSpec, parameter: &str, name: &str) -> ApiResult<Place> {
    place(table, name).ok_or_else(|| {
        let told = format!("there is no column `{}`", shown(name));
        ApiError::invalid(parameter, told).nearest(name, known(table))
    })
}

/// Adds one comparison of a place; `parameter` is its name in messages.
pub(crate) fn push_condition(
    table: &TableSpec,
    conditions: &mut Vec<Condition>,
    parameter: &str,
    place: Place,
    operator: Operator,
    texts: &[&str],
) -> ApiResult<()> {
    if conditions.len() == MAX_FILTERS {
        let told = format!("there are more than {MAX_FILTERS} filters");
        return Err(ApiError::new(ErrorCode::InvalidParameter, told));
    }
    let most = if operator == Operator::In { MAX_LISTED_VALUES } else { 1 };
    if texts.is_empty() || texts.len() > most {
        return Err(ApiError::invalid(
            parameter,
            format!("it takes 1 to {most} values, not {}", texts.len()),
        ));
    }
    let read = |text: &&str| value(table, &place, operator, text);
    let values: Result<Vec<Value>, String> = texts.iter().map(read).collect();
    let values = values.map_err(|why| ApiError::invalid(parameter, why))?;
    conditions.push(Condition { place, comparison: operator.comparison(), values });
    Ok(())
}
