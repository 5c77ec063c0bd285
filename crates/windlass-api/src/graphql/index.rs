//! Indexes, their tables, and how far they are.

use async_graphql::SimpleObject;
use serde::Serialize;

use super::scalar::Long;
use crate::indexes::{ColumnBody, IndexBody, ProgressBody, TableBody};
use crate::ports::{Gap, IndexHealth, IndexProven};

/// An index.
#[derive(Debug, SimpleObject)]
pub(crate) struct Index {
    name: String,
    chain: Long,
    tables: Vec<Table>,
    /// Nothing where this process does not know.
    progress: Option<Progress>,
}

/// A table of an event.
#[derive(Debug, SimpleObject)]
struct Table {
    name: String,
    event: String,
    signature: String,
    rows: Long,
    columns: Vec<Column>,
}

/// A column of an event's own.
#[derive(Debug, SimpleObject)]
struct Column {
    /// In SQL.
    name: String,
    /// As the ABI writes it.
    field: String,
    kind: String,
}

/// How far an index is.
#[derive(Debug, SimpleObject)]
struct Progress {
    state: String,
    start: Long,
    collected_through: Option<Long>,
    head: Option<Long>,
    finalized: Option<Long>,
    lag_blocks: Option<Long>,
    events_per_s: Option<f64>,
    gap_count: Long,
    /// The first hundred of the ranges that were given up.
    gaps: Vec<GapRange>,
    eta_s: Option<Long>,
    proven: Option<Proven>,
    health: Health,
}

/// How much of what is stored was proven, and how.
#[derive(Debug, SimpleObject)]
struct Proven {
    total_blocks: Long,
    /// Followed at the head: each header, and logs by its hash.
    head_blocks: Long,
    /// Backfilled, and headers of some blocks of each segment fit what is stored.
    sampled_blocks: Long,
    /// Backfilled, and every header and all logs fit what is stored.
    full_blocks: Long,
    /// Nobody can tell whether what is stored is right.
    doubtful_blocks: Long,
}

/// How collecting an index's chain goes.
#[derive(Debug, SimpleObject)]
struct Health {
    state: String,
    message: Option<String>,
    /// `windlass explain` knows it.
    code: Option<String>,
    /// Since when, in milliseconds since 1970.
    since_ms: Option<Long>,
}

/// Blocks that were given up, ends included.
#[derive(Debug, SimpleObject)]
struct GapRange {
    from: Long,
    to: Long,
}

/// The word by which JSON knows a plain value.
fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

impl From<IndexBody> for Index {
    fn from(index: IndexBody) -> Self {
        Self {
            name: index.index,
            chain: Long(index.chain),
            tables: index.tables.into_iter().map(Table::from).collect(),
            progress: index.progress.map(Progress::from),
        }
    }
}

impl From<TableBody> for Table {
    fn from(table: TableBody) -> Self {
        let column =
            |column: ColumnBody| Column { name: column.name, field: column.field, kind: word(column.kind) };
        Self {
            name: table.name,
            event: table.event,
            signature: table.signature,
            rows: Long(table.rows),
            columns: table.columns.into_iter().map(column).collect(),
        }
    }
}

impl From<ProgressBody> for Progress {
    fn from(progress: ProgressBody) -> Self {
        let gap = |gap: Gap| GapRange { from: Long(gap.from), to: Long(gap.to) };
        Self {
            state: word(progress.state),
            start: Long(progress.start),
            collected_through: progress.collected_through.map(Long),
            head: progress.head.map(Long),
            finalized: progress.finalized.map(Long),
            lag_blocks: progress.lag_blocks.map(Long),
            events_per_s: progress.events_per_s,
            gap_count: Long(progress.gap_count as u64),
            gaps: progress.gaps.into_iter().map(gap).collect(),
            eta_s: progress.eta_s.map(Long),
            proven: progress.proven.map(Proven::from),
            health: progress.health.into(),
        }
    }
}

impl From<IndexProven> for Proven {
    fn from(proven: IndexProven) -> Self {
        let IndexProven { total_blocks, head_blocks, sampled_blocks, full_blocks, doubtful_blocks } = proven;
        Self {
            total_blocks: Long(total_blocks),
            head_blocks: Long(head_blocks),
            sampled_blocks: Long(sampled_blocks),
            full_blocks: Long(full_blocks),
            doubtful_blocks: Long(doubtful_blocks),
        }
    }
}

impl From<IndexHealth> for Health {
    fn from(health: IndexHealth) -> Self {
        let IndexHealth { state, message, code, since_ms } = health;
        let since_ms = since_ms.and_then(|since| u64::try_from(since).ok()).map(Long);
        Self { state: word(state), message, code, since_ms }
    }
}
