//! What is collected, and how far.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::store::TableInfo;
use windlass_core::table::{Column, ColumnKind, Identifier};

use crate::error::{ApiError, ApiResult, ErrorBody, ErrorCode};
use crate::extract::Pairs;
use crate::limits::MAX_LISTED_GAPS;
use crate::ports::{Gap, IndexHealth, IndexProgress, IndexProven, IndexState};
use crate::state::{ApiParts, ApiState};

/// Every index.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IndexesBody {
    data: Vec<IndexBody>,
}

/// An index.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct IndexBody {
    pub(crate) index: String,
    pub(crate) chain: u64,
    pub(crate) tables: Vec<TableBody>,
    /// `null` where this process does not know.
    pub(crate) progress: Option<ProgressBody>,
}

/// A table of an event.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct TableBody {
    pub(crate) name: String,
    pub(crate) event: String,
    pub(crate) signature: String,
    pub(crate) rows: u64,
    pub(crate) columns: Vec<ColumnBody>,
}

/// A column of an event's own.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ColumnBody {
    /// In SQL.
    pub(crate) name: String,
    /// As the ABI writes it.
    pub(crate) field: String,
    #[schema(value_type = String)]
    pub(crate) kind: ColumnKind,
}

/// How far an index is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ProgressBody {
    pub(crate) state: IndexState,
    pub(crate) start: u64,
    /// Everything from the start to this block is collected.
    pub(crate) collected_through: Option<u64>,
    pub(crate) head: Option<u64>,
    pub(crate) finalized: Option<u64>,
    pub(crate) lag_blocks: Option<u64>,
    pub(crate) events_per_s: Option<f64>,
    /// How many ranges were given up.
    pub(crate) gap_count: usize,
    /// The first hundred of them.
    pub(crate) gaps: Vec<Gap>,
    pub(crate) eta_s: Option<u64>,
    /// How much of what is stored was proven, and how.
    pub(crate) proven: Option<IndexProven>,
    pub(crate) health: IndexHealth,
}

/// Lists the indexes with their tables, rows, progress and gaps.
#[utoipa::path(get, path = "/api/v1/indexes", tag = "indexes",
    responses(
        (status = 200, description = "by name", body = IndexesBody),
        (status = 400, description = "it takes no parameters", body = ErrorBody),
    ))]
pub(crate) async fn indexes(
    State(state): State<ApiState>,
    Pairs(pairs): Pairs,
) -> ApiResult<Json<IndexesBody>> {
    if let Some((name, _)) = pairs.first() {
        let told = format!("parameter `{name}` is not known: there are none here");
        return Err(ApiError::new(ErrorCode::UnknownParameter, told));
    }
    Ok(Json(IndexesBody { data: list(&state.parts).await? }))
}

/// Every index by name: those with tables, and those that are yet to have some.
pub(crate) async fn list(parts: &ApiParts) -> ApiResult<Vec<IndexBody>> {
    let mut all: BTreeMap<Identifier, IndexBody> = BTreeMap::new();
    for table in parts.store.list_tables().await? {
        let index = table.spec.index.clone();
        let body = all.entry(index).or_insert_with_key(|index| empty(index, table.spec.chain.as_u64()));
        body.tables.push(table_body(&table));
    }
    if let Some(source) = &parts.progress {
        for progress in source.progress().await {
            let index = progress.index.clone();
            let body = all.entry(index).or_insert_with_key(|index| empty(index, progress.chain.as_u64()));
            body.progress = Some(progress_body(progress));
        }
    }
    Ok(all.into_values().collect())
}

fn empty(index: &Identifier, chain: u64) -> IndexBody {
    IndexBody { index: index.to_string(), chain, tables: Vec::new(), progress: None }
}

fn table_body(table: &TableInfo) -> TableBody {
    let column = |column: &Column| ColumnBody {
        name: column.name.to_string(),
        field: column.field.clone(),
        kind: column.kind,
    };
    TableBody {
        name: table.spec.name.to_string(),
        event: table.spec.event.clone(),
        signature: table.spec.signature.clone(),
        rows: table.rows,
        columns: table.spec.columns.iter().map(column).collect(),
    }
}

fn progress_body(progress: IndexProgress) -> ProgressBody {
    let gap_count = progress.gaps.len();
    let mut gaps = progress.gaps;
    gaps.truncate(MAX_LISTED_GAPS);
    ProgressBody {
        state: progress.state,
        start: progress.start,
        collected_through: progress.collected_through,
        head: progress.head,
        finalized: progress.finalized,
        lag_blocks: progress.lag_blocks,
        events_per_s: progress.events_per_s,
        gap_count,
        gaps,
        eta_s: progress.eta_s,
        proven: progress.proven,
        health: progress.health,
    }
}
