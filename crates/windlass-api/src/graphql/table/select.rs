//! The selected fields of an object whose values are known.

use async_graphql::indexmap::IndexMap;
use async_graphql::{Name, SelectionField, Value};

use crate::error::ApiResult;

/// An object with the fields that are selected, in their order and under their aliases.
pub(super) fn object<'a>(
    selected: SelectionField<'a>,
    type_name: &str,
    value: impl Fn(SelectionField<'a>) -> ApiResult<Value>,
) -> ApiResult<Value> {
    let mut fields = IndexMap::new();
    for field in selected.selection_set() {
        let answer = if field.name() == "__typename" { Value::from(type_name) } else { value(field)? };
        let key = Name::new(field.alias().unwrap_or(field.name()));
        match fields.get_mut(&key) {
            Some(known) => merge(known, answer),
            None => {
                fields.insert(key, answer);
            }
        }
    }
    Ok(Value::Object(fields))
}

/// Adds to an object what another selection of the same has.
fn merge(known: &mut Value, more: Value) {
    match (known, more) {
        (Value::Object(known), Value::Object(more)) => {
            for (name, value) in more {
                match known.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => {
                        known.insert(name, value);
                    }
                }
            }
        }
        (Value::List(known), Value::List(more)) => {
            known.iter_mut().zip(more).for_each(|(known, more)| merge(known, more));
        }
        // The same value, selected twice.
        _ => {}
    }
}
