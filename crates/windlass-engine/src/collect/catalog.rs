//! The sources that this process can collect for: what its configuration names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::abi::Decoder;
use windlass_core::chain::{Address, ChainId};
use windlass_core::plan::SourceId;
use windlass_core::route::Source;
use windlass_core::table::{Identifier, TableSpec};

use super::routing::Routing;

/// One event of one contract.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// The table that its logs go to.
    pub table: Arc<TableSpec>,
    /// What reads them.
    pub decoder: Arc<Decoder>,
    /// The contract.
    pub contract: Address,
    /// The first block of interest.
    pub start: u64,
}

/// The sources of one chain.
#[derive(Debug, Clone)]
pub struct Catalog {
    chain: ChainId,
    entries: BTreeMap<SourceId, CatalogEntry>,
}

impl Catalog {
    /// The sources of a chain; those of others are left out.
    pub fn new(chain: ChainId, entries: impl IntoIterator<Item = CatalogEntry>) -> Self {
        let entries = entries
            .into_iter()
            .filter(|entry| entry.table.chain == chain)
            .map(|entry| {
                let (table, contract) = (entry.table.name.clone(), Some(entry.contract));
                (SourceId { table, contract }, entry)
            })
            .collect();
        Self { chain, entries }
    }

    /// Every source.
    pub fn iter(&self) -> impl Iterator<Item = (&SourceId, &CatalogEntry)> {
        self.entries.iter()
    }

    /// The tables, each once.
    pub fn tables(&self) -> Vec<Arc<TableSpec>> {
        let tables: BTreeMap<&Identifier, &Arc<TableSpec>> =
            self.entries.values().map(|entry| (&entry.table.name, &entry.table)).collect();
        tables.into_values().cloned().collect()
    }

    /// The indexes, each once.
    pub fn indexes(&self) -> BTreeSet<Identifier> {
        self.entries.values().map(|entry| entry.table.index.clone()).collect()
    }

    /// What sorts the logs of these sources; `None` when one of them is not known here.
    pub(super) fn routing<'a>(&self, sources: impl IntoIterator<Item = &'a SourceId>) -> Option<Routing> {
        let sources = sources.into_iter().map(|id| self.entries.get(id).map(CatalogEntry::source));
        Some(Routing::new(self.chain, &sources.collect::<Option<Vec<_>>>()?))
    }
}

impl CatalogEntry {
    fn source(&self) -> Source {
        Source {
            table: self.table.clone(),
            decoder: self.decoder.clone(),
            addresses: Arc::new([self.contract]),
        }
    }
}
