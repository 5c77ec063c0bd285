//! A router with what is asked for by it, and what its sorting is written as.
//!
//! A router knows only the sources that some blocks are read for. Whether nobody wants a
//! log is decided by everybody: one that fits a table of another source is no misfit, though
//! that one's rows are written by others. So what is kept does not depend on which sources
//! were collected together, or when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use windlass_core::chain::{Address, ChainId};
use windlass_core::commit::Write;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::LogFilter;
use windlass_core::route::{Router, Sorted, Source};
use windlass_core::table::{Identifier, TableSpec};

use super::misfit_log::MisfitLog;

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
    everybody: Everybody,
}

/// Every source there is, these and others. Only misfits are shown to them.
#[derive(Debug)]
struct Everybody {
    chain: ChainId,
    sources: Vec<Source>,
    router: OnceLock<Router>,
}

impl Everybody {
    /// Whether a log has a place in a table.
    fn has_place_for(&self, log: &LogEvent) -> bool {
        let mut sorted = Sorted::default();
        self.router.get_or_init(|| Router::new(self.chain, &self.sources)).route(log, &mut sorted);
        sorted.row_count() > 0
    }
}

impl Routing {
    /// What sorts the logs of some sources, `everybody` being those and all others.
    pub(super) fn new(chain: ChainId, sources: &[Source], everybody: Vec<Source>) -> Self {
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
        let everybody = Everybody { chain, sources: everybody, router: OnceLock::new() };
        Self { filter, router, tables: tables.into_values().collect(), everybody }
    }

    /// Sorts logs into what was sorted before.
    pub(super) fn sort<'a>(&self, logs: impl IntoIterator<Item = &'a LogEvent>, into: &mut Sorted) {
        for log in logs {
            let (raw, misfits, count) = (into.raw.len(), into.misfits.len(), into.misfit_count);
            self.router.route(log, into);
            if into.raw.len() > raw && self.everybody.has_place_for(log) {
                into.raw.truncate(raw);
                into.misfits.truncate(misfits);
                into.misfit_count = count;
            }
        }
    }

    /// What takes out everything that these sources have in some blocks, and the logs that
    /// others keep of the same contracts: [`Self::taken_along`] says which to put back.
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

    /// Whether these sources keep a log as it came: it is theirs, and does not fit. The
    /// filter does not tell: it may name no contract at all, and others share its events.
    pub(super) fn keeps(&self, log: &LogEvent) -> bool {
        !self.sorted([log]).raw.is_empty()
    }

    /// Whether a log that is kept as it came has a place in one of these tables: it was
    /// a misfit before somebody came for it.
    pub(super) fn outgrows(&self, log: &LogEvent) -> bool {
        let sorted = self.sorted([log]);
        sorted.row_count() > 0 && sorted.raw.is_empty()
    }

    /// Of logs that are kept as they came those that erasing takes along, though they are
    /// kept for others: of the same contract, and not these sources' own.
    pub(super) fn taken_along(&self, kept: impl IntoIterator<Item = LogEvent>) -> Vec<LogEvent> {
        let is_erased =
            |log: &LogEvent| self.tables.iter().any(|(_, listened)| listened.contains(&log.address));
        let stays = |log: &LogEvent| is_erased(log) && !self.keeps(log) && !self.outgrows(log);
        kept.into_iter().filter(stays).collect()
    }

    /// Whether others listen for events of the same first topic: then logs that have a
    /// place here may have been kept as misfits of theirs.
    pub(super) fn has_neighbours(&self) -> bool {
        let is_here = |source: &&Source| self.tables.iter().any(|(table, _)| table.name == source.table.name);
        let others = self.everybody.sources.iter().filter(|source| !is_here(source));
        let topics: BTreeSet<_> = others.filter_map(|source| source.decoder.topic0()).collect();
        let mut here = self.everybody.sources.iter().filter(is_here);
        here.any(|source| source.decoder.topic0().is_some_and(|topic0| topics.contains(&topic0)))
    }

    /// What takes out the logs of some blocks that are kept as they came and have a place
    /// here now. The others of the same contracts are put back.
    pub(super) fn outgrown(&self, chain: ChainId, blocks: BlockRange, kept: Vec<LogEvent>) -> Vec<Write> {
        let (gone, mut stay): (Vec<_>, Vec<_>) = kept.into_iter().partition(|log| self.outgrows(log));
        let contracts: BTreeSet<Address> = gone.iter().map(|log| log.address).collect();
        if contracts.is_empty() {
            return Vec::new();
        }
        stay.retain(|log| contracts.contains(&log.address));
        let erased = Write::EraseEvents { chain, blocks, contracts: contracts.into_iter().collect() };
        [erased].into_iter().chain((!stay.is_empty()).then_some(Write::Events(stay))).collect()
    }

    /// Sorts logs.
    pub(super) fn sorted<'a>(&self, logs: impl IntoIterator<Item = &'a LogEvent>) -> Sorted {
        let mut sorted = Sorted::default();
        self.sort(logs, &mut sorted);
        sorted
    }
}

/// What sorted logs are written as. Those that do not fit are kept as they came.
pub(super) fn writes(sorted: Sorted, log: &MisfitLog) -> impl Iterator<Item = Write> {
    log.note(&sorted);
    let raw = Some(sorted.raw).filter(|raw| !raw.is_empty()).map(Write::Events);
    sorted.tables.into_iter().map(Write::Rows).chain(raw)
}
