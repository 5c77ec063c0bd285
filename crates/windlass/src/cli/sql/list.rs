//! The tables and views that a statement can read.

use std::fmt::Write;

use serde::Serialize;
use windlass_core::sql::SqlTable;
use windlass_core::table::ColumnKind;

use super::error;
use crate::compose::store::SqlStore;
use crate::failure::Failure;
use crate::output::{self, human};

/// A table, as JSON.
#[derive(Debug, Serialize)]
struct TableView<'a> {
    table: &'a str,
    view: Option<&'a str>,
    rows: u64,
    columns: Vec<ColumnView<'a>>,
}

/// A column, as JSON.
#[derive(Debug, Serialize)]
struct ColumnView<'a> {
    name: &'a str,
    holds: &'static str,
}

pub(super) async fn run(store: &SqlStore, json: bool) -> Result<(), Failure> {
    let tables = match store.reader.sql_tables().await {
        Ok(tables) => tables,
        Err(error) => return Err(error::explained(error, store, "").await),
    };
    if json {
        return Ok(output::json(&tables.iter().map(view).collect::<Vec<_>>())?);
    }
    if tables.is_empty() {
        return Ok(output::print("no tables\n")?);
    }
    let shown: Vec<String> = tables.iter().map(render).collect();
    Ok(output::print(&shown.join("\n"))?)
}

fn view(table: &SqlTable) -> TableView<'_> {
    let columns = table.columns.iter().map(|(name, kind)| ColumnView { name, holds: holds(*kind) });
    TableView {
        table: &table.name,
        view: table.view.as_deref(),
        rows: table.rows,
        columns: columns.collect(),
    }
}

fn render(table: &SqlTable) -> String {
    let plural = if table.rows == 1 { "" } else { "s" };
    let view = table.view.as_ref().map_or(String::new(), |view| format!(", view {view}"));
    let mut text = format!("{}: {} row{plural}{view}\n", table.name, human::count(table.rows));
    let width = table.columns.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, kind) in &table.columns {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "  {name:<width$}  {}", holds(*kind));
    }
    text
}

/// What a column holds, in a word.
const fn holds(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Integer => "integer",
        ColumnKind::Uint | ColumnKind::Int => "amount",
        ColumnKind::Bool => "bool",
        ColumnKind::Address => "address",
        ColumnKind::Bytes => "bytes",
        ColumnKind::Text => "text",
        ColumnKind::Json => "json",
    }
}
