//! Typed tables of events: one for each event of an index, a column for each of
//! its fields.
//!
//! A log belongs to a table at most once, so its natural key there is (block
//! number, log index): the order in which the chain made it, in which it is
//! stored, and in which it is read.

use std::fmt;
use std::sync::Arc;

pub use alloy_primitives::I256;
use serde::{Deserialize, Serialize};

use crate::chain::{Address, B256, BlockRef, Bytes, ChainId, U256};

/// The longest name of a table or column, in bytes: PostgreSQL cuts longer ones.
pub const MAX_IDENTIFIER_BYTES: usize = 63;
/// The most columns of an event's own: the ABI has no limit, tables have.
pub const MAX_COLUMNS: usize = 200;

/// The columns that every table begins with, in this order.
pub const HEAD_COLUMNS: [&str; 6] =
    ["block_number", "log_index", "block_hash", "block_timestamp", "transaction_hash", "address"];

/// The name of a table or column: lower-case letters, digits and `_`, a letter first.
/// Still to be quoted, for it may be a word of SQL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Identifier(Arc<str>);

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name for a table or column: \
     use up to {MAX_IDENTIFIER_BYTES} lower-case letters, digits and `_`, a letter first"
)]
pub struct IdentifierError(String);

impl Identifier {
    /// Checks and takes an identifier.
    pub fn new(text: impl Into<String>) -> Result<Self, IdentifierError> {
        let text: String = text.into();
        let fits = |(place, c): (usize, char)| {
            c.is_ascii_lowercase() || (place > 0 && (c.is_ascii_digit() || c == '_'))
        };
        if text.is_empty() || text.len() > MAX_IDENTIFIER_BYTES || !text.chars().enumerate().all(fits) {
            return Err(IdentifierError(text));
        }
        Ok(Self(text.into()))
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The identifier as SQL has it.
    pub fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Identifier {
    type Error = IdentifierError;
    fn try_from(text: String) -> Result<Self, IdentifierError> {
        Self::new(text)
    }
}

impl From<Identifier> for String {
    fn from(identifier: Identifier) -> String {
        identifier.0.as_ref().to_owned()
    }
}

/// What a column holds, and so how each store keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// An integer that fits 64 bits with a sign (`uint8` to `uint56`, `int8` to `int64`).
    Integer,
    /// Any other unsigned integer, up to 256 bits, exact.
    Uint,
    /// Any other signed integer, up to 256 bits, exact.
    Int,
    /// True or false.
    Bool,
    /// An address.
    Address,
    /// Bytes, of a fixed length or any; and the hash that stands for an indexed
    /// value that is longer than a topic.
    Bytes,
    /// Text. A string that is not UTF-8 has its bad parts replaced.
    Text,
    /// Arrays and tuples, as JSON text; integers in it are decimal strings.
    Json,
}

/// A column of an event's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in SQL.
    pub name: Identifier,
    /// The name of the event's field, as the ABI writes it.
    pub field: String,
    /// What it holds.
    pub kind: ColumnKind,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSpec {
    /// Its name.
    pub name: Identifier,
    /// The chain whose logs it holds.
    pub chain: ChainId,
    /// The index it belongs to.
    pub index: Identifier,
    /// The event's name, as the ABI writes it.
    pub event: String,
    /// The event with its types and `indexed`, without names: a table of another one cannot take its place.
    pub signature: String,
    /// The columns behind [`HEAD_COLUMNS`].
    pub columns: Vec<Column>,
}

impl TableSpec {
    /// A column of the event's own, by its SQL name or the name of its field.
    pub fn column(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, column)| column.name.as_str() == name || column.field == name)
    }
}

/// What stands in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// For [`ColumnKind::Integer`].
    Integer(i64),
    /// For [`ColumnKind::Uint`].
    Uint(U256),
    /// For [`ColumnKind::Int`].
    Int(I256),
    /// For [`ColumnKind::Bool`].
    Bool(bool),
    /// For [`ColumnKind::Address`].
    Address(Address),
    /// For [`ColumnKind::Bytes`].
    Bytes(Bytes),
    /// For [`ColumnKind::Text`] and [`ColumnKind::Json`].
    Text(String),
}

impl Value {
    /// Whether a column of that kind takes it.
    pub const fn fits(&self, kind: ColumnKind) -> bool {
        matches!(
            (self, kind),
            (Self::Integer(_), ColumnKind::Integer)
                | (Self::Uint(_), ColumnKind::Uint)
                | (Self::Int(_), ColumnKind::Int)
                | (Self::Bool(_), ColumnKind::Bool)
                | (Self::Address(_), ColumnKind::Address)
                | (Self::Bytes(_), ColumnKind::Bytes)
                | (Self::Text(_), ColumnKind::Text | ColumnKind::Json)
        )
    }
}

/// What every row begins with: where its log stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHead {
    /// The block it happened in.
    pub block: BlockRef,
    /// Its place among the block's logs.
    pub log_index: u32,
    /// When, in seconds, as the block says.
    pub timestamp_s: u64,
    /// The transaction that caused it.
    pub transaction_hash: B256,
    /// The contract that emitted it.
    pub address: Address,
}

impl RowHead {
    /// The row's natural key.
    pub const fn key(&self) -> RowKey {
        RowKey { block: self.block.number, log_index: self.log_index }
    }
}

/// The natural key of a row in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowKey {
    /// The block's number.
    pub block: u64,
    /// The log's place in it.
    pub log_index: u32,
}

/// A row as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Where its log stands.
    pub head: RowHead,
    /// A value for each of the table's columns.
    pub values: Vec<Value>,
}

/// Rows of one table as they are written: many, without an allocation for each.
#[derive(Clone)]
pub struct Rows {
    table: Arc<TableSpec>,
    /// A commit that may have to be tried again is cloned, and its rows are not.
    content: Arc<RowContent>,
}

#[derive(Clone, Default)]
struct RowContent {
    heads: Vec<RowHead>,
    values: Vec<Value>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowContent { heads, values } = &*self.content;
        let mut shown = f.debug_struct("Rows");
        shown.field("table", &self.table).field("heads", heads).field("values", values).finish()
    }
}

impl Rows {
    /// No rows yet.
    pub fn new(table: Arc<TableSpec>) -> Self {
        Self { table, content: Arc::default() }
    }

    /// The table they are for.
    pub const fn table(&self) -> &Arc<TableSpec> {
        &self.table
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.content.heads.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.content.heads.is_empty()
    }

    /// Adds a row whose values `put` appends. When it fails, or appends something else
    /// than one fitting value a column, there is no new row.
    pub fn push_with<E>(
        &mut self,
        head: RowHead,
        put: impl FnOnce(&mut Vec<Value>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let RowContent { heads, values } = Arc::make_mut(&mut self.content);
        let before = values.len();
        let put = put(values);
        let new = values.get(before..).unwrap_or_default();
        let fits = put.is_ok()
            && new.len() == self.table.columns.len()
            && new.iter().zip(&self.table.columns).all(|(value, column)| value.fits(column.kind));
        if fits {
            heads.push(head);
        } else {
            values.truncate(before);
        }
        put.map(|()| fits)
    }

    /// The rows, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&RowHead, &[Value])> {
        let (width, RowContent { heads, values }) = (self.table.columns.len(), &*self.content);
        heads.iter().enumerate().map(move |(place, head)| (head, &values[place * width..][..width]))
    }

    /// Bytes of text and byte strings: what has no bound of its own.
    pub fn loose_bytes(&self) -> usize {
        let bytes = |value: &Value| match value {
            Value::Bytes(bytes) => bytes.len(),
            Value::Text(text) => text.len(),
            _ => 0,
        };
        self.content.values.iter().map(bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_need_no_more_than_quotes() {
        for good in ["fees", "fees_fees_collected", "a1", "select"] {
            assert!(Identifier::new(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "_a", "Fees", "a b", "a\"b", "é", &"x".repeat(64)] {
            assert!(Identifier::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_row_that_does_not_fit_is_not_added() {
        let column = |name: &str, kind| Column {
            name: Identifier::new(name).expect("a name"),
            field: name.to_owned(),
            kind,
        };
        let table = Arc::new(TableSpec {
            name: Identifier::new("t").expect("a name"),
            chain: ChainId::new(1).expect("an id"),
            index: Identifier::new("i").expect("a name"),
            event: "E".to_owned(),
            signature: "E(uint8,bool)".to_owned(),
            columns: vec![column("a", ColumnKind::Integer), column("b", ColumnKind::Bool)],
        });
        let head = RowHead {
            block: BlockRef { number: 1, hash: B256::ZERO },
            log_index: 0,
            timestamp_s: 0,
            transaction_hash: B256::ZERO,
            address: Address::ZERO,
        };
        let mut rows = Rows::new(table);
        let mut push = |values: Vec<Value>, outcome: Result<(), &'static str>| {
            rows.push_with(head, |into| {
                into.extend(values);
                outcome
            })
        };
        assert_eq!(push(vec![Value::Integer(1), Value::Bool(true)], Ok(())), Ok(true));
        assert_eq!(push(vec![Value::Integer(1)], Ok(())), Ok(false));
        assert_eq!(push(vec![Value::Bool(true), Value::Integer(1)], Ok(())), Ok(false));
        assert_eq!(push(vec![Value::Integer(1), Value::Bool(true)], Err("no")), Err("no"));
        assert_eq!(push(vec![Value::Integer(2), Value::Bool(false)], Ok(())), Ok(true));
        let read: Vec<_> = rows.iter().map(|(_, values)| values.to_vec()).collect();
        assert_eq!(read, [[Value::Integer(1), Value::Bool(true)], [Value::Integer(2), Value::Bool(false)]]);
    }
}
