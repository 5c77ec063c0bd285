//! The fields of `index`, each of which gets a database index: whether an event has them, and
//! whether they can have one.

use windlass_core::index::IndexSpec;
use windlass_core::table::TableSpec;
use windlass_core::table_index::{MAX_INDEXED_COLUMNS, is_indexable};

use super::check::Trouble;
use crate::config::problem::nearest;

/// The first thing that is wrong with the list.
pub(super) fn trouble(spec: &IndexSpec, fields: &[String]) -> Option<Trouble> {
    if fields.len() > MAX_INDEXED_COLUMNS {
        let message =
            format!("{} fields are named, and {MAX_INDEXED_COLUMNS} at most have an index", fields.len());
        return Some(Trouble::new("index", message, "name those that most questions filter by"));
    }
    fields.iter().enumerate().find_map(|(place, field)| {
        let key = format!("index[{place}]");
        wrong_field(spec, &key, field).or_else(|| {
            let same = fields[..place].iter().find(|other| is_same(spec, other, field))?;
            let message = match same == field {
                true => format!("`{field}` is named twice"),
                false => format!("`{field}` and `{same}` are one field"),
            };
            Some(Trouble::new(key, message, "name it once"))
        })
    })
}

/// Whether two names are of one field: each is known by its name in the event and in the table.
fn is_same(spec: &IndexSpec, one: &str, other: &str) -> bool {
    let place = |table: &TableSpec, name| table.column(name).map(|(place, _)| place);
    spec.events.iter().all(|(_, table)| place(table, one) == place(table, other))
}

/// What is wrong with a field, if something is.
fn wrong_field(spec: &IndexSpec, key: &str, name: &str) -> Option<Trouble> {
    let mut is_there = false;
    for (event, table) in &spec.events {
        let Some((place, _)) = table.column(name) else { continue };
        is_there = true;
        if event.fields().get(place).is_some_and(|field| !is_indexable(field)) {
            let message = format!("`{name}` may be long, and a database index takes short values only");
            let hint =
                "addresses, integers, `bool`, `bytes1` to `bytes32` and whatever is `indexed` are short";
            return Some(Trouble::new(key, message, hint));
        }
    }
    if is_there {
        return None;
    }
    let known: Vec<&str> = spec
        .events
        .iter()
        .flat_map(|(_, table)| table.columns.iter().map(|column| column.field.as_str()))
        .collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    Some(Trouble::new(key, format!("no event has a field `{name}`"), hint))
}
