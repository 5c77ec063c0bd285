//! The sources that this process can collect for: what its configuration names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::abi::{Decoder, EventShape};
use windlass_core::chain::{Address, ChainId};
use windlass_core::index::{Contracts, IndexSpec};
use windlass_core::plan::SourceId;
use windlass_core::route::Source;
use windlass_core::table::{Identifier, TableSpec};

use super::children::{Children, Creations};
use super::routing::Routing;

/// One event of one contract.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    /// The table that its logs go to.
    pub table: Arc<TableSpec>,
    /// What reads them.
    pub decoder: Arc<Decoder>,
    /// Who emits them.
    pub emitter: Emitter,
    /// The first block of interest.
    pub start: u64,
}

/// Who emits an event.
#[derive(Debug, Clone)]
pub enum Emitter {
    /// This contract.
    Contract(Address),
    /// The contracts that a factory has created.
    Created(Creations),
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
                let contract = match &entry.emitter {
                    Emitter::Contract(contract) => Some(*contract),
                    Emitter::Created(_) => None,
                };
                (SourceId { table: entry.table.name.clone(), contract }, entry)
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
    pub(super) fn routing<'a>(
        &self,
        sources: impl IntoIterator<Item = &'a SourceId>,
        children: &Children,
    ) -> Option<Routing> {
        let sources = sources.into_iter().map(|id| self.entries.get(id).map(|entry| entry.source(children)));
        let everybody = self.entries.values().map(|entry| entry.source(children)).collect();
        Some(Routing::new(self.chain, &sources.collect::<Option<Vec<_>>>()?, everybody))
    }

    /// Where the creations of these sources are told, each table once.
    pub(super) fn creations<'a>(
        &self,
        sources: impl IntoIterator<Item = &'a SourceId>,
    ) -> BTreeMap<Identifier, Creations> {
        let entries = sources.into_iter().filter_map(|id| self.entries.get(id));
        let creations = entries.filter_map(|entry| match &entry.emitter {
            Emitter::Created(creations) => Some((creations.table.name.clone(), creations.clone())),
            Emitter::Contract(_) => None,
        });
        creations.collect()
    }
}

impl CatalogEntry {
    /// The sources of an index: the events of each of its contracts; or, of factories,
    /// their creations, and the events of whatever they have created. `start` is the
    /// first block of a contract that the index names.
    pub fn of_index(spec: &IndexSpec, start: impl Fn(Address) -> u64) -> Vec<Self> {
        let entry = |(event, table): (&EventShape, &Arc<TableSpec>), emitter, start| Self {
            table: table.clone(),
            decoder: Arc::new(Decoder::new(event)),
            emitter,
            start,
        };
        let of_contracts = |contracts: &[Address], event: (&EventShape, &Arc<TableSpec>)| -> Vec<Self> {
            contracts.iter().map(|one| entry(event, Emitter::Contract(*one), start(*one))).collect()
        };
        let events = spec.events.iter().map(|(event, table)| (event, table));
        match (&spec.contracts, &spec.creation) {
            (Contracts::Created { by, event, .. }, Some(creation)) => {
                let first = by.iter().map(|factory| start(*factory)).min().unwrap_or(0);
                let creations = Creations { table: creation.table.clone(), column: creation.column };
                let created = events.map(|event| entry(event, Emitter::Created(creations.clone()), first));
                of_contracts(by, (event, &creation.table)).into_iter().chain(created).collect()
            }
            (Contracts::Fixed(contracts) | Contracts::Created { by: contracts, .. }, _) => {
                events.flat_map(|event| of_contracts(contracts, event)).collect()
            }
        }
    }

    fn source(&self, children: &Children) -> Source {
        let addresses = match &self.emitter {
            Emitter::Contract(contract) => Arc::new([*contract]) as Arc<[Address]>,
            Emitter::Created(creations) => {
                children.get(&creations.table.name).cloned().unwrap_or_else(|| Arc::new([]))
            }
        };
        Source { table: self.table.clone(), decoder: self.decoder.clone(), addresses }
    }
}
