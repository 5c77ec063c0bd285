//! A router with what is asked for by it, and what its sorting is written as.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::chain::{Address, ChainId};
use windlass_core::commit::Write;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::LogFilter;
use windlass_core::route::{Router, Sorted, Source};
use windlass_core::table::{Identifier, TableSpec};

/// With more contracts than that, logs are asked for by their events alone.
const MAX_ADDRESSES: usize = 500;

/// What sorts the logs of some sources.
#[derive(Debug)]
pub(super) struct Routing {
    router: Router,
    /// What gets their logs from a chain.
    pub(super) filter: LogFilter,
    /// The tables they go to, and the contracts that fill each here.
    pub(super) tables: Vec<(Arc<TableSpec>, Vec<Address>)>,
}

impl Routing {
    pub(super) fn new(chain: ChainId, sources: &[Source]) -> Self {
        let router = Router::new(chain, sources);
        let mut tables: BTreeMap<&Identifier, (Arc<TableSpec>, Vec<Address>)> = BTreeMap::new();
        for source in sources {
            let empty = || (source.table.clone(), Vec::new());
            let (_, contracts) = tables.entry(&source.table.name).or_insert_with(empty);
            contracts.extend(source.addresses.iter());
        }
        let mut filter = router.filter();
        if filter.addresses.len() > MAX_ADDRESSES && !filter.topics.is_empty() {
            // Endpoints take only so many; what others have emitted is sorted out here.
            filter.addresses.clear();
        }
        Self { filter, router, tables: tables.into_values().collect() }
    }

    /// Sorts logs into what was sorted before.
    pub(super) fn sort<'a>(&self, logs: impl IntoIterator<Item = &'a LogEvent>, into: &mut Sorted) {
        logs.into_iter().for_each(|log| self.router.route(log, into));
    }

    /// What takes out everything that these sources have in some blocks, and nobody else's.
    pub(super) fn erasing(&self, chain: ChainId, blocks: BlockRange) -> impl Iterator<Item = Write> {
        // Without a contract it would be everybody's.
        let filled = self.tables.iter().filter(|(_, contracts)| !contracts.is_empty());
        let rows = filled.map(move |(table, contracts)| Write::EraseRows {
            table: table.name.clone(),
            blocks,
            contracts: contracts.clone(),
        });
        let contracts: BTreeSet<Address> =
            self.tables.iter().flat_map(|(_, contracts)| contracts.iter().copied()).collect();
        let raw = (!contracts.is_empty()).then(|| Write::EraseEvents {
            chain,
            blocks,
            contracts: contracts.into_iter().collect(),
        });
        rows.chain(raw)
    }

    /// Sorts logs.
    pub(super) fn sorted<'a>(&self, logs: impl IntoIterator<Item = &'a LogEvent>) -> Sorted {
        let mut sorted = Sorted::default();
        self.sort(logs, &mut sorted);
        sorted
    }
}

/// What sorted logs are written as. Those that do not fit are kept as they came.
pub(super) fn writes(sorted: Sorted) -> impl Iterator<Item = Write> {
    if let Some(misfit) = sorted.misfits.first() {
        tracing::warn!(
            count = sorted.misfit_count,
            table = %misfit.table,
            address = %misfit.address,
            block = misfit.key.block,
            log = misfit.key.log_index,
            reason = %misfit.reason,
            "logs do not fit their event and are kept as they came; `windlass index misfits` lists them, this is the first"
        );
    }
    let raw = Some(sorted.raw).filter(|raw| !raw.is_empty()).map(Write::Events);
    sorted.tables.into_iter().map(Write::Rows).chain(raw)
}
