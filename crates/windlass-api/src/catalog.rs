//! Which table an index and an event name.

use windlass_core::store::{Store, TableInfo};

use crate::error::{ApiError, ApiResult, ErrorCode};

/// The table of an event: by the event's name, or by the table's where the index has
/// several events of that name.
pub(crate) async fn find_table(store: &dyn Store, index: &str, event: &str) -> ApiResult<TableInfo> {
    let tables = tables_of(store, index).await?;
    if let Some(table) = tables.iter().find(|table| table.spec.name.as_str() == event) {
        return Ok(table.clone());
    }
    let mut named: Vec<TableInfo> =
        tables.iter().filter(|table| table.spec.event == event).cloned().collect();
    match (named.pop(), named.is_empty()) {
        (Some(table), true) => Ok(table),
        (Some(last), false) => Err(ambiguous(index, event, named.iter().chain([&last]))),
        (None, _) => {
            let known = tables.iter().map(|table| table.spec.event.as_str());
            let told = format!("index `{index}` has no event `{event}`");
            Err(ApiError::new(ErrorCode::NotFound, told).nearest(event, known))
        }
    }
}

/// The tables of an index; there is at least one.
pub(crate) async fn tables_of(store: &dyn Store, index: &str) -> ApiResult<Vec<TableInfo>> {
    let all = store.list_tables().await?;
    let of_index: Vec<TableInfo> =
        all.iter().filter(|table| table.spec.index.as_str() == index).cloned().collect();
    if of_index.is_empty() {
        let known = all.iter().map(|table| table.spec.index.as_str());
        let told = format!("there is no index `{index}`");
        return Err(ApiError::new(ErrorCode::NotFound, told).nearest(index, known));
    }
    Ok(of_index)
}

fn ambiguous<'a>(index: &str, event: &str, tables: impl Iterator<Item = &'a TableInfo>) -> ApiError {
    let names: Vec<String> = tables.map(|table| format!("`{}`", table.spec.name)).collect();
    ApiError::new(ErrorCode::InvalidParameter, format!("index `{index}` has several events `{event}`"))
        .hint(format!("name a table instead: {}", names.join(", ")))
}
