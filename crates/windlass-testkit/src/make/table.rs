//! Typed tables and rows for them.

use std::convert::Infallible;
use std::sync::Arc;

use windlass_core::chain::{Address, BlockRef, U256};
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery, SumQuery};
use windlass_core::table::{
    Column, ColumnKind, EventRow, I256, Identifier, RowHead, RowKey, Rows, TableSpec, Value,
};

use super::{block_hash, chain};

/// One column of every kind.
pub const EVERY_KIND: [(&str, ColumnKind); 8] = [
    ("small", ColumnKind::Integer),
    ("amount", ColumnKind::Uint),
    ("delta", ColumnKind::Int),
    ("flag", ColumnKind::Bool),
    ("who", ColumnKind::Address),
    ("raw", ColumnKind::Bytes),
    ("note", ColumnKind::Text),
    ("list", ColumnKind::Json),
];

/// The name of a table or column.
pub fn identifier(text: &str) -> Identifier {
    Identifier::new(text).expect("cases use valid names")
}

/// A table with one column of every kind.
pub fn table(name: &str, chain_id: u64) -> Arc<TableSpec> {
    table_of(name, chain_id, &EVERY_KIND)
}

/// A table with these columns.
pub fn table_of(name: &str, chain_id: u64, columns: &[(&str, ColumnKind)]) -> Arc<TableSpec> {
    let column = |(name, kind): &(&str, ColumnKind)| Column {
        name: identifier(name),
        field: format!("{name}Field"),
        kind: *kind,
    };
    Arc::new(TableSpec {
        name: identifier(name),
        chain: chain(chain_id),
        index: identifier("cases"),
        event: "Happened".to_owned(),
        signature: format!("Happened({})", columns.len()),
        columns: columns.iter().map(column).collect(),
    })
}

/// A contract; every second row is of another.
pub fn contract(number: u32) -> Address {
    Address::repeat_byte(0xc0 + number as u8)
}

/// Where a log of a fork stands.
pub fn row_head(number: u64, log_index: u32, fork: u8) -> RowHead {
    RowHead {
        block: BlockRef { number, hash: block_hash(number, fork) },
        log_index,
        timestamp_s: 1_600_000_000 + number,
        transaction_hash: block_hash(number, 0x77),
        address: contract(log_index % 2),
    }
}

/// A row of [`table`], with values of every length and both signs.
pub fn row(number: u64, log_index: u32, fork: u8) -> EventRow {
    let n = number * 7 + u64::from(log_index);
    let wide = U256::from(n) << ((n * 13) % 248);
    let delta = I256::from_raw(wide >> 1);
    let values = vec![
        Value::Integer(n as i64 - 20),
        Value::Uint(wide),
        Value::Int(if n.is_multiple_of(2) { delta } else { -delta }),
        Value::Bool(n.is_multiple_of(3)),
        Value::Address(Address::with_last_byte((n % 3) as u8)),
        Value::Bytes(vec![n as u8; n as usize % 4].into()),
        Value::Text(format!("note {}", n % 5)),
        Value::Text(format!("[\"{n}\"]")),
    ];
    EventRow { head: row_head(number, log_index, fork), values }
}

/// Rows for a table.
pub fn rows(table: &Arc<TableSpec>, rows: impl IntoIterator<Item = EventRow>) -> Rows {
    let mut all = Rows::new(table.clone());
    for EventRow { head, values } in rows {
        let put = |into: &mut Vec<Value>| {
            into.extend(values);
            Ok::<_, Infallible>(())
        };
        assert_eq!(all.push_with(head, put), Ok(true), "cases use rows that fit");
    }
    all
}

/// A condition on a column of the event's own.
pub fn condition(column: &str, comparison: Comparison, values: impl Into<Vec<Value>>) -> Condition {
    Condition { place: Place::Column(identifier(column)), comparison, values: values.into() }
}

/// The first page of a table, oldest first.
pub fn page(table: &str, limit: u32) -> RowQuery {
    let order = RowOrder::OldestFirst;
    RowQuery { table: identifier(table), conditions: Vec::new(), order, after: None, limit }
}

/// The total of a column.
pub fn sum(table: &str, column: &str) -> SumQuery {
    let (table, column) = (identifier(table), identifier(column));
    SumQuery { table, conditions: Vec::new(), column, by: None, limit: 100 }
}

/// A row's key.
pub const fn row_key(block: u64, log_index: u32) -> RowKey {
    RowKey { block, log_index }
}
