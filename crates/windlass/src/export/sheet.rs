//! What is written, whatever the format: columns, and rows of cells.

use std::fmt::{self, Display};
use std::io;
use std::sync::Arc;

use windlass_core::table::{ColumnKind, EventRow, HEAD_COLUMNS, TableSpec, Value};
use windlass_core::time::Timestamp;
use windlass_core::value_text::RowJson;

use crate::output::time;

/// Rows of one kind, with the same columns in every format.
pub(super) trait Sheet: Send + Sync {
    /// A row.
    type Row: Clone + Send;

    /// What the sheet is called.
    fn name(&self) -> &str;

    /// Its columns, in order.
    fn columns(&self) -> Vec<SheetColumn>;

    /// What stands in a column of a row.
    fn cell<'r>(&self, row: &'r Self::Row, column: usize) -> Cell<'r>;

    /// Writes a row as a JSON object.
    fn write_json(&self, row: &Self::Row, out: &mut Vec<u8>) -> io::Result<()>;

    /// About how many bytes the texts of a row have.
    fn text_bytes(&self, row: &Self::Row) -> usize;
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SheetColumn {
    pub(super) name: String,
    pub(super) kind: CellKind,
    /// Whether a cell may be empty.
    pub(super) is_optional: bool,
}

/// What the cells of a column hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Text,
    Json,
    Integer,
    Bool,
    Instant,
}

/// What stands in a column of a row.
pub(super) enum Cell<'r> {
    /// Nothing.
    Empty,
    /// A text.
    Shown(&'r dyn Display),
    Integer(i64),
    Bool(bool),
    /// Seconds since 1970, which stay a number as text.
    Seconds(u64),
    /// An instant, which is RFC 3339 as text.
    Instant(Timestamp),
}

impl Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Shown(shown) => shown.fmt(f),
            Self::Integer(integer) => integer.fmt(f),
            Self::Bool(is) => is.fmt(f),
            Self::Seconds(seconds) => seconds.fmt(f),
            Self::Instant(at) => f.write_str(&time::instant(*at)),
        }
    }
}

impl Cell<'_> {
    /// A number that fits, which every block's does.
    pub(super) fn integer(number: impl TryInto<i64>) -> Self {
        Self::Integer(number.try_into().unwrap_or(i64::MAX))
    }
}

/// The rows of an event's table.
impl Sheet for Arc<TableSpec> {
    type Row = EventRow;

    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn columns(&self) -> Vec<SheetColumn> {
        let heads = HEAD_COLUMNS.into_iter().map(|name| {
            let kind = match name {
                "block_number" | "log_index" => CellKind::Integer,
                "block_timestamp" => CellKind::Instant,
                _ => CellKind::Text,
            };
            SheetColumn { name: name.to_owned(), kind, is_optional: false }
        });
        let own = self.columns.iter().map(|column| {
            let kind = match column.kind {
                ColumnKind::Integer => CellKind::Integer,
                ColumnKind::Bool => CellKind::Bool,
                ColumnKind::Json => CellKind::Json,
                _ => CellKind::Text,
            };
            SheetColumn { name: column.field.clone(), kind, is_optional: false }
        });
        heads.chain(own).collect()
    }

    fn cell<'r>(&self, row: &'r EventRow, column: usize) -> Cell<'r> {
        let head = &row.head;
        match column {
            0 => Cell::integer(head.block.number),
            1 => Cell::integer(head.log_index),
            2 => Cell::Shown(&head.block.hash),
            3 => Cell::Seconds(head.timestamp_s),
            4 => Cell::Shown(&head.transaction_hash),
            5 => Cell::Shown(&head.address),
            own => match &row.values[own - HEAD_COLUMNS.len()] {
                Value::Integer(integer) => Cell::Integer(*integer),
                Value::Bool(is) => Cell::Bool(*is),
                value => Cell::Shown(value),
            },
        }
    }

    fn write_json(&self, row: &EventRow, out: &mut Vec<u8>) -> io::Result<()> {
        Ok(serde_json::to_writer(out, &RowJson::of(self, row))?)
    }

    fn text_bytes(&self, row: &EventRow) -> usize {
        let bytes = |value: &Value| match value {
            Value::Bytes(bytes) => bytes.len(),
            Value::Text(text) => text.len(),
            _ => 0,
        };
        row.values.iter().map(bytes).sum()
    }
}
