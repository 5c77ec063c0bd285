//! Rows as a table, as JSON and as CSV.

use std::collections::HashSet;
use std::io::{self, Write};

use windlass_core::sql::{SqlRows, SqlValue};

use crate::failure::Failure;
use crate::output::{self, table, table::Side};

/// Prints a table for people. What a contract has written cannot move their cursor.
pub(super) fn table(rows: &SqlRows) -> Result<(), Failure> {
    let names: Vec<String> = rows.columns.iter().map(|name| harmless(name)).collect();
    let header: Vec<(&str, Side)> =
        names.iter().enumerate().map(|(place, name)| (name.as_str(), side(rows, place))).collect();
    let cells = rows.rows.iter().map(|row| row.iter().map(|value| harmless(&text(value))).collect());
    Ok(output::print(&table::render(&header, cells))?)
}

/// Prints an array with an object a row, each on a line of its own. Amounts are strings: a
/// number of JSON has fewer digits in most programs.
pub(super) fn json(rows: &SqlRows) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    if let Some(name) = rows.columns.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Failure::refused(format_args!("two columns are called `{name}`"))
            .hint("give each a name of its own: SELECT a.x AS one, b.x AS other"));
    }
    let mut text = String::from("[");
    for (place, row) in rows.rows.iter().enumerate() {
        text.push_str(if place == 0 { "\n  {" } else { ",\n  {" });
        for (place, (name, value)) in rows.columns.iter().zip(row).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            let name = serde_json::Value::from(name.as_str());
            text.push_str(&format!("{comma}{name}: {}", json_value(value)));
        }
        text.push('}');
    }
    text.push_str(if rows.rows.is_empty() { "]\n" } else { "\n]\n" });
    Ok(output::print(&text)?)
}

fn json_value(value: &SqlValue) -> serde_json::Value {
    match value {
        SqlValue::Null => serde_json::Value::Null,
        SqlValue::Integer(number) => (*number).into(),
        SqlValue::Bool(flag) => (*flag).into(),
        // NaN and the infinities are no numbers of JSON.
        SqlValue::Real(text) => text
            .parse::<serde_json::Number>()
            .map_or_else(|_| text.as_str().into(), serde_json::Value::Number),
        SqlValue::Text(text) => text.as_str().into(),
    }
}

/// Prints a line of names and a line a row, as RFC 4180 has them. What is missing is empty.
pub(super) fn csv(rows: &SqlRows) -> Result<(), Failure> {
    // Not through the printer for people: it takes colours out of what goes to a file.
    let mut out = io::stdout().lock();
    let mut writer = csv::Writer::from_writer(&mut out);
    let written = (|| {
        writer.write_record(&rows.columns)?;
        for row in &rows.rows {
            writer.write_record(row.iter().map(|value| match value {
                SqlValue::Null => String::new(),
                value => text(value),
            }))?;
        }
        writer.flush()?;
        Ok(())
    })();
    drop(writer);
    let written: Result<(), csv::Error> = written;
    written.map_err(io::Error::from)?;
    Ok(out.flush()?)
}

/// The columns that have floating-point numbers.
pub(super) fn rounded(rows: &SqlRows) -> Vec<&String> {
    let is_rounded =
        |place: usize| rows.rows.iter().any(|row| matches!(row.get(place), Some(SqlValue::Real(_))));
    rows.columns.iter().enumerate().filter(|(place, _)| is_rounded(*place)).map(|(_, name)| name).collect()
}

fn text(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "NULL".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Bool(flag) => flag.to_string(),
        SqlValue::Real(text) | SqlValue::Text(text) => text.clone(),
    }
}

/// Numbers, also those that are text, are aligned to the right.
fn side(rows: &SqlRows, place: usize) -> Side {
    let is_number = |value: &SqlValue| match value {
        SqlValue::Integer(_) | SqlValue::Real(_) => true,
        SqlValue::Text(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            digits.starts_with(|c: char| c.is_ascii_digit())
                && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        }
        SqlValue::Null | SqlValue::Bool(_) => false,
    };
    let mut values =
        rows.rows.iter().filter_map(|row| row.get(place)).filter(|value| **value != SqlValue::Null);
    let is_right = values.next().is_some_and(is_number) && values.all(is_number);
    if is_right { Side::Right } else { Side::Left }
}

/// Text without what a terminal obeys: control characters and changes of direction.
fn harmless(text: &str) -> String {
    let is_obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_obeyed(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(harmless("a\u{1b}[2Jb\n\u{202e}é"), "a\\u{1b}[2Jb\\n\\u{202e}é");
    }

    #[test]
    fn amounts_stay_text_and_floating_point_numbers_become_numbers() {
        let shown = |value: &SqlValue| json_value(value).to_string();
        assert_eq!(shown(&SqlValue::Text("12".to_owned())), "\"12\"");
        assert_eq!(shown(&SqlValue::Real("0.25".to_owned())), "0.25");
        assert_eq!(shown(&SqlValue::Real("NaN".to_owned())), "\"NaN\"");
        assert_eq!(shown(&SqlValue::Integer(i64::MIN)), "-9223372036854775808");
    }
}
