//! SQL that a person writes: one statement that reads the tables of events, on either store.
//!
//! A statement goes from [`statement`], which refuses what is no single query, to a
//! [`SqlReader`], which runs it within limits of time, rows and bytes. What it can read are
//! the typed tables and their views ([`crate::table_view`]); the store's own tables, with
//! hashes of keys and signed transactions in them, are out of its reach.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`lexer`] | a statement as tokens, as both databases read them |
//! | [`statement`] | which statements are run |

pub mod lexer;
pub mod statement;

use std::time::Duration;

use async_trait::async_trait;

use crate::error::StoreError;
use crate::sql::statement::Statement;
use crate::store::TableInfo;
use crate::table::{ColumnKind, HEAD_COLUMNS};

/// The longest statement, in bytes.
pub const MAX_STATEMENT_BYTES: usize = 64 << 10;
/// The most rows that one statement returns.
pub const MAX_SQL_ROWS: u32 = 1_000_000;
/// The most bytes that the rows of one statement have together.
pub const MAX_SQL_BYTES: usize = 256 << 20;
/// The longest time that a statement may run: a reader holds up the clean-up of old rows.
pub const MAX_SQL_TIMEOUT: Duration = Duration::from_secs(3_600);

/// A statement and its limits.
#[derive(Debug, Clone)]
pub struct SqlQuery {
    /// What is asked.
    pub statement: Statement,
    /// How long it may run, up to [`MAX_SQL_TIMEOUT`].
    pub timeout: Duration,
    /// How many rows are returned, up to [`MAX_SQL_ROWS`].
    pub max_rows: u32,
}

/// What a statement returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlRows {
    /// The names of its columns, as the database gives them.
    pub columns: Vec<String>,
    /// A value for each column.
    pub rows: Vec<Vec<SqlValue>>,
    /// Why there may be more rows than these.
    pub cut: Option<SqlCut>,
}

/// The limit at which rows were cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlCut {
    /// [`SqlQuery::max_rows`].
    Rows,
    /// [`MAX_SQL_BYTES`].
    Bytes,
}

/// A value as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlValue {
    /// No value.
    Null,
    /// An integer of up to 64 bits.
    Integer(i64),
    /// A floating-point number, as the database writes it.
    Real(String),
    /// True or false.
    Bool(bool),
    /// Text; amounts as decimal text, bytes as 0x text.
    Text(String),
}

impl SqlValue {
    /// How many bytes it takes, roughly.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Bool(_) => size_of::<Self>(),
            Self::Real(text) | Self::Text(text) => size_of::<Self>() + text.len(),
        }
    }
}

/// A table of events as statements see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlTable {
    /// The table's name.
    pub name: String,
    /// The name of its view; `None` where it has none.
    pub view: Option<String>,
    /// Its columns and what they hold.
    pub columns: Vec<(String, ColumnKind)>,
    /// How many rows it has.
    pub rows: u64,
}

impl SqlTable {
    /// A table and the name of its view.
    pub fn of(table: &TableInfo, view: Option<String>) -> Self {
        let head = HEAD_COLUMNS.into_iter().map(|name| (name.to_owned(), head_kind(name)));
        let own = table.spec.columns.iter().map(|column| (column.name.to_string(), column.kind));
        Self { name: table.spec.name.to_string(), view, columns: head.chain(own).collect(), rows: table.rows }
    }
}

/// What a column holds that every table begins with.
fn head_kind(name: &str) -> ColumnKind {
    match name {
        "block_hash" | "transaction_hash" => ColumnKind::Bytes,
        "address" => ColumnKind::Address,
        _ => ColumnKind::Integer,
    }
}

/// Why a statement returned nothing.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// It was not given to the database, or only to be looked at.
    #[error("{0}")]
    Refused(String),
    /// The database did not take it; these are its words.
    #[error("{0}")]
    Rejected(String),
    /// It ran for too long.
    #[error("the statement was stopped after {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The database is in trouble.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs statements that read.
#[async_trait]
pub trait SqlReader: Send + Sync {
    /// Runs one statement. Nothing is written, no lock is waited for by those who write.
    /// Dropping the future stops the statement.
    async fn run_sql(&self, query: &SqlQuery) -> Result<SqlRows, SqlError>;

    /// The tables that statements can read, by name.
    async fn sql_tables(&self) -> Result<Vec<SqlTable>, SqlError>;
}
