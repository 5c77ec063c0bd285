//! Which tables a stream tells of.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::chain::ChainId;
use windlass_core::error::StoreResult;
use windlass_core::store::{Store, Tables};
use windlass_core::table::TableSpec;

use crate::catalog::{find_table, tables_of};
use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::limits::MAX_STREAM_CHAINS;

/// All tables, those of an index, or one.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) index: Option<String>,
    pub(super) event: Option<String>,
}

impl Wanted {
    /// The chains whose tables are wanted, in order; there is at least one.
    pub(super) async fn chains(&self, store: &dyn Store) -> ApiResult<Vec<ChainId>> {
        let tables = match (&self.index, &self.event) {
            (Some(index), Some(event)) => vec![find_table(store, index, event).await?],
            (Some(index), None) => tables_of(store, index).await?,
            (None, Some(_)) => return Err(ApiError::invalid("event", "it needs an `index`")),
            (None, None) => store.list_tables().await?,
        };
        let chains: BTreeSet<ChainId> = tables.iter().map(|table| table.spec.chain).collect();
        if chains.is_empty() {
            return Err(ApiError::new(ErrorCode::NotFound, "nothing is collected yet"));
        }
        if chains.len() > MAX_STREAM_CHAINS {
            let told = format!("a stream has at most {MAX_STREAM_CHAINS} chains, there are {}", chains.len());
            return Err(ApiError::new(ErrorCode::InvalidParameter, told).hint("name an `index`"));
        }
        Ok(chains.into_iter().collect())
    }

    /// The tables of a chain that are wanted, as they are now.
    pub(super) async fn tables(
        &self,
        store: &dyn Tables,
        chain: ChainId,
    ) -> StoreResult<Vec<Arc<TableSpec>>> {
        let is_wanted = |table: &TableSpec| {
            table.chain == chain
                && self.index.as_deref().is_none_or(|index| table.index.as_str() == index)
                && self
                    .event
                    .as_deref()
                    .is_none_or(|event| table.event == event || table.name.as_str() == event)
        };
        let tables = store.list_tables().await?.into_iter().map(|table| table.spec);
        Ok(tables.filter(|table| is_wanted(table)).collect())
    }
}
