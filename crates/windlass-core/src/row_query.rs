//! Questions to a table of events: which rows, in which order, how many, how much in all.

use crate::table::{Identifier, RowKey, Value};

/// The most rows a page returns.
pub const MAX_ROW_PAGE: u32 = 10_000;
/// The most conditions of one question.
pub const MAX_CONDITIONS: usize = 32;
/// The most values one condition lists.
pub const MAX_LISTED_VALUES: usize = 100;
/// The most groups a sum returns.
pub const MAX_SUM_GROUPS: u32 = 10_000;

/// What a condition looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The block's number; compared with [`Value::Integer`].
    Block,
    /// The log's place in its block; compared with [`Value::Integer`].
    LogIndex,
    /// The block's hash; compared with [`Value::Bytes`].
    BlockHash,
    /// The block's time in seconds; compared with [`Value::Integer`].
    Timestamp,
    /// The transaction's hash; compared with [`Value::Bytes`].
    TransactionHash,
    /// The contract; compared with [`Value::Address`].
    Address,
    /// A column of the event's own; compared with values that fit it.
    Column(Identifier),
}

/// How it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// One of the values.
    Is,
    /// None of the values.
    IsNot,
    /// Above the value.
    Above,
    /// The value or above.
    AtLeast,
    /// Below the value.
    Below,
    /// The value or below.
    AtMost,
}

/// A condition that a row has to meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// What is looked at.
    pub place: Place,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what: one value, or for [`Comparison::Is`] and [`Comparison::IsNot`] up to
    /// [`MAX_LISTED_VALUES`].
    pub values: Vec<Value>,
}

/// In which order rows come, by their natural key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RowOrder {
    /// As the chain made them.
    #[default]
    OldestFirst,
    /// The other way round.
    NewestFirst,
}

/// A page of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowQuery {
    /// Of which table.
    pub table: Identifier,
    /// All of them have to be met.
    pub conditions: Vec<Condition>,
    /// In which order.
    pub order: RowOrder,
    /// Only rows behind this one, in that order: where the page before ended.
    pub after: Option<RowKey>,
    /// At most so many, up to [`MAX_ROW_PAGE`].
    pub limit: u32,
}

/// The total of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumQuery {
    /// Of which table.
    pub table: Identifier,
    /// All of them have to be met.
    pub conditions: Vec<Condition>,
    /// Of which column: an integer of any width.
    pub column: Identifier,
    /// One total for each value of this column, or of the contract.
    pub by: Option<Place>,
    /// At most so many groups, those of the lowest values, up to [`MAX_SUM_GROUPS`].
    pub limit: u32,
}

/// A total. Exact: it may need more than 256 bits, so it is decimal text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumGroup {
    /// The value that its rows share; `None` where nothing was grouped.
    pub by: Option<Value>,
    /// The total.
    pub sum: String,
    /// Of how many rows.
    pub rows: u64,
}
