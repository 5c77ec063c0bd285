//! Values as parameters, and what their columns are in PostgreSQL.

use std::borrow::Cow;

use tokio_postgres::types::{ToSql, Type};
use windlass_core::table::{ColumnKind, Value};
use windlass_core::table_rules::storable_text;

use super::exact::Exact;

/// A parameter and its type.
pub(super) struct Bound<'a> {
    pub(super) value: Box<dyn ToSql + Sync + Send + 'a>,
    pub(super) type_of: Type,
}

impl<'a> Bound<'a> {
    pub(super) fn new(value: impl ToSql + Sync + Send + 'a, type_of: Type) -> Self {
        Self { value: Box::new(value), type_of }
    }
}

/// A column's type. Text is compared byte by byte ("C"), as everything else is.
pub(super) const fn column_type(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Integer => "BIGINT",
        ColumnKind::Uint | ColumnKind::Int => "NUMERIC",
        ColumnKind::Bool => "BOOLEAN",
        ColumnKind::Address | ColumnKind::Bytes => "BYTEA",
        ColumnKind::Text | ColumnKind::Json => "TEXT COLLATE \"C\"",
    }
}

/// The type of an array of such a column's values.
pub(super) const fn array_type(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Integer => "BIGINT[]",
        ColumnKind::Uint | ColumnKind::Int => "NUMERIC[]",
        ColumnKind::Bool => "BOOLEAN[]",
        ColumnKind::Address | ColumnKind::Bytes => "BYTEA[]",
        ColumnKind::Text | ColumnKind::Json => "TEXT[]",
    }
}

/// One value.
pub(super) fn one(value: &Value) -> Bound<'_> {
    match value {
        Value::Integer(number) => Bound::new(*number, Type::INT8),
        Value::Uint(number) => Bound::new(Exact::of_uint(*number), Type::NUMERIC),
        Value::Int(number) => Bound::new(Exact::of_int(*number), Type::NUMERIC),
        Value::Bool(flag) => Bound::new(*flag, Type::BOOL),
        Value::Address(address) => Bound::new(address.as_slice(), Type::BYTEA),
        Value::Bytes(bytes) => Bound::new(bytes.as_ref(), Type::BYTEA),
        Value::Text(text) => Bound::new(storable_text(text), Type::TEXT),
    }
}

/// Values of one column, as an array. That they fit was checked.
pub(super) fn list<'a>(kind: ColumnKind, values: impl Iterator<Item = &'a Value>) -> Bound<'a> {
    match kind {
        ColumnKind::Integer => Bound::new(picked(values, integer), Type::INT8_ARRAY),
        ColumnKind::Uint | ColumnKind::Int => Bound::new(picked(values, exact), Type::NUMERIC_ARRAY),
        ColumnKind::Bool => Bound::new(picked(values, flag), Type::BOOL_ARRAY),
        ColumnKind::Address | ColumnKind::Bytes => Bound::new(picked(values, bytes), Type::BYTEA_ARRAY),
        ColumnKind::Text | ColumnKind::Json => Bound::new(picked(values, text), Type::TEXT_ARRAY),
    }
}

fn picked<'a, T>(values: impl Iterator<Item = &'a Value>, pick: fn(&'a Value) -> Option<T>) -> Vec<T> {
    values.filter_map(pick).collect()
}

const fn integer(value: &Value) -> Option<i64> {
    if let Value::Integer(number) = value { Some(*number) } else { None }
}

fn exact(value: &Value) -> Option<Exact> {
    match value {
        Value::Uint(number) => Some(Exact::of_uint(*number)),
        Value::Int(number) => Some(Exact::of_int(*number)),
        _ => None,
    }
}

const fn flag(value: &Value) -> Option<bool> {
    if let Value::Bool(flag) = value { Some(*flag) } else { None }
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Address(address) => Some(address.as_slice()),
        Value::Bytes(bytes) => Some(bytes.as_ref()),
        _ => None,
    }
}

fn text(value: &Value) -> Option<Cow<'_, str>> {
    if let Value::Text(text) = value { Some(storable_text(text)) } else { None }
}
