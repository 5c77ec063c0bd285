//! What stands in a column, as people and programs read it: cells of text, rows of
//! JSON, and back from text where somebody filters by it.
//!
//! Integers are exact everywhere: as text they are decimal, in JSON those that need
//! more than 64 bits are strings.

mod parse;

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

pub use self::parse::{ValueError, parse_value};
use crate::table::{ColumnKind, EventRow, HEAD_COLUMNS, RowHead, TableSpec, Value};

/// A value as text: one cell of CSV, before quoting. [`parse_value`] reads it back.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Uint(uint) => uint.fmt(f),
            Self::Int(int) => int.fmt(f),
            Self::Bool(is) => is.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A row as JSON: an object that begins with [`HEAD_COLUMNS`], and then has each field
/// under the name that the ABI writes. It borrows, so that rows are written one by one
/// without a copy.
#[derive(Debug, Clone, Copy)]
pub struct RowJson<'a> {
    table: &'a TableSpec,
    head: &'a RowHead,
    values: &'a [Value],
}

impl<'a> RowJson<'a> {
    /// A row of that table.
    pub const fn new(table: &'a TableSpec, head: &'a RowHead, values: &'a [Value]) -> Self {
        Self { table, head, values }
    }

    /// A row of that table, as it was read.
    pub fn of(table: &'a TableSpec, row: &'a EventRow) -> Self {
        Self::new(table, &row.head, &row.values)
    }
}

impl Serialize for RowJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [block_number, log_index, block_hash, block_timestamp, transaction_hash, address] = HEAD_COLUMNS;
        let mut map = serializer.serialize_map(Some(HEAD_COLUMNS.len() + self.values.len()))?;
        map.serialize_entry(block_number, &self.head.block.number)?;
        map.serialize_entry(log_index, &self.head.log_index)?;
        map.serialize_entry(block_hash, &self.head.block.hash)?;
        map.serialize_entry(block_timestamp, &self.head.timestamp_s)?;
        map.serialize_entry(transaction_hash, &self.head.transaction_hash)?;
        map.serialize_entry(
            address,
            &ValueJson::new(ColumnKind::Address, &Value::Address(self.head.address)),
        )?;
        for (column, value) in self.table.columns.iter().zip(self.values) {
            map.serialize_entry(&column.field, &ValueJson::new(column.kind, value))?;
        }
        map.end()
    }
}

/// A value as JSON: [`ColumnKind::Integer`] as a number, wider integers as decimal
/// strings, addresses checksummed, bytes as `0x…`, arrays and tuples as what they are.
#[derive(Debug, Clone, Copy)]
pub struct ValueJson<'a> {
    kind: ColumnKind,
    value: &'a Value,
}

impl<'a> ValueJson<'a> {
    /// A value of a column of that kind.
    pub const fn new(kind: ColumnKind, value: &'a Value) -> Self {
        Self { kind, value }
    }
}

impl Serialize for ValueJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Integer(integer) => serializer.serialize_i64(*integer),
            Value::Bool(is) => serializer.serialize_bool(*is),
            Value::Text(text) if self.kind == ColumnKind::Json => serialize_json(text, serializer),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Address(address) => serializer.serialize_str(address.to_checksum_buffer(None).as_str()),
            exact @ (Value::Uint(_) | Value::Int(_) | Value::Bytes(_)) => serializer.collect_str(exact),
        }
    }
}

/// JSON that was kept as text, as it is; text that is none (nobody writes such) as a string.
fn serialize_json<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(json) => json.serialize(serializer),
        Err(_) => serializer.serialize_str(text),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::I256;
    use proptest::prelude::*;

    use super::*;
    use crate::chain::{B256, BlockRef, Bytes, ChainId, U256};
    use crate::table::{Column, Identifier};

    const CHECKSUMMED: &str = "0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9";

    fn value() -> impl Strategy<Value = (ColumnKind, Value)> {
        let word = || any::<[u8; 32]>().prop_map(U256::from_be_bytes);
        prop_oneof![
            any::<i64>().prop_map(|it| (ColumnKind::Integer, Value::Integer(it))),
            word().prop_map(|it| (ColumnKind::Uint, Value::Uint(it))),
            any::<u64>().prop_map(|it| (ColumnKind::Uint, Value::Uint(U256::from(it)))),
            word().prop_map(|it| (ColumnKind::Int, Value::Int(I256::from_raw(it)))),
            any::<bool>().prop_map(|it| (ColumnKind::Bool, Value::Bool(it))),
            any::<[u8; 20]>().prop_map(|it| (ColumnKind::Address, Value::Address(it.into()))),
            any::<Vec<u8>>().prop_map(|it| (ColumnKind::Bytes, Value::Bytes(it.into()))),
            "[^\0]*".prop_map(|it| (ColumnKind::Text, Value::Text(it))),
        ]
    }

    fn row_of(kinds: &[(ColumnKind, Value)]) -> (TableSpec, EventRow) {
        let column = |(place, (kind, _)): (usize, &(ColumnKind, Value))| Column {
            name: Identifier::new(format!("c{place}")).expect("a name"),
            field: format!("C{place}"),
            kind: *kind,
        };
        let table = TableSpec {
            name: Identifier::new("t").expect("a name"),
            chain: ChainId::new(1).expect("an id"),
            index: Identifier::new("i").expect("a name"),
            event: "E".into(),
            signature: "E()".into(),
            columns: kinds.iter().enumerate().map(column).collect(),
        };
        let head = RowHead {
            block: BlockRef { number: 7, hash: B256::repeat_byte(1) },
            log_index: 3,
            timestamp_s: 1_700_000_000,
            transaction_hash: B256::repeat_byte(2),
            address: CHECKSUMMED.parse().expect("an address"),
        };
        (table, EventRow { head, values: kinds.iter().map(|(_, value)| value.clone()).collect() })
    }

    #[test]
    fn a_row_of_json_is_what_the_api_promises() {
        let (table, row) = row_of(&[
            (ColumnKind::Uint, Value::Uint(U256::MAX)),
            (ColumnKind::Int, Value::Int(I256::MINUS_ONE)),
            (ColumnKind::Integer, Value::Integer(-5)),
            (ColumnKind::Bool, Value::Bool(true)),
            (ColumnKind::Address, Value::Address(CHECKSUMMED.parse().expect("an address"))),
            (ColumnKind::Bytes, Value::Bytes(Bytes::from_static(&[0xab, 1]))),
            (ColumnKind::Text, Value::Text("a\"b".into())),
            (ColumnKind::Json, Value::Text(r#"{"x":["1",true]}"#.into())),
            (ColumnKind::Json, Value::Text("not json".into())),
        ]);
        let json = serde_json::to_string(&RowJson::of(&table, &row)).expect("plain data");
        let hash = |digit: u8| format!("0x{}", format!("{digit:02x}").repeat(32));
        assert_eq!(
            json,
            format!(
                concat!(
                    r#"{{"block_number":7,"log_index":3,"block_hash":"{}","block_timestamp":1700000000,"#,
                    r#""transaction_hash":"{}","address":"{}","C0":"{}","C1":"-1","C2":-5,"C3":true,"#,
                    r#""C4":"{}","C5":"0xab01","C6":"a\"b","C7":{{"x":["1",true]}},"C8":"not json"}}"#
                ),
                hash(1),
                hash(2),
                CHECKSUMMED,
                U256::MAX,
                CHECKSUMMED
            )
        );
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back((kind, value) in value()) {
            prop_assert_eq!(parse_value(kind, &value.to_string()), Ok(value));
        }

        #[test]
        fn no_text_is_too_odd(text in any::<String>()) {
            for kind in [ColumnKind::Integer, ColumnKind::Uint, ColumnKind::Int, ColumnKind::Bool,
                ColumnKind::Address, ColumnKind::Bytes, ColumnKind::Text, ColumnKind::Json] {
                if let Ok(value) = parse_value(kind, &text) {
                    prop_assert!(value.fits(kind));
                }
            }
        }
    }
}
