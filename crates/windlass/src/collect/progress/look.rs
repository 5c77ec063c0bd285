//! How far one index is, from its chain's ledger.

use std::collections::BTreeSet;

use windlass_core::block_set::BlockSet;
use windlass_core::mode::Mode;
use windlass_core::plan::SourceId;
use windlass_core::range::BlockRange;
use windlass_core::store::TableInfo;
use windlass_core::table::Identifier;

use super::coverage::{Coverage, Ledger};
use super::known::{Known, KnownIndex};
use super::proven::Trust;
use super::{ChainView, IndexState, IndexView, TableView};

/// What counts as being near the head where no configuration says so.
const USUAL_BATCH: u64 = 100;

/// What is known of one index.
pub(super) struct IndexLook<'a> {
    pub(super) known: &'a Known,
    pub(super) tables: &'a [TableInfo],
    pub(super) ledger: &'a Ledger,
    pub(super) chain: &'a ChainView,
    pub(super) trust: &'a Trust,
    pub(super) is_paused: bool,
}

/// The sources of an index that count.
struct Sources {
    /// Those that the plan has.
    begun: BTreeSet<SourceId>,
    /// Whether there are others, of which nothing was collected yet.
    has_more: bool,
}

impl IndexLook<'_> {
    pub(super) fn view(&self, name: Identifier) -> IndexView {
        let tables = self.tables(&name);
        let configured =
            self.known.indexes.iter().find(|index| index.name == name && index.chain == self.chain.id);
        let sources = self.sources(configured, &tables);
        let coverage = self.coverage(configured, &sources);
        let head = self.chain.head;
        let start = coverage.start;
        let total = head.zip(start).map_or(0, |(head, start)| (head + 1).saturating_sub(start));
        let missing = coverage.missing.count();
        IndexView {
            chain: self.chain.id,
            chain_name: self.chain.name.clone(),
            state: self.state(configured.is_some(), !sources.begun.is_empty(), &coverage),
            start,
            collected_through: head.and_then(|head| coverage.through(head)),
            head,
            finalized: self.chain.finalized,
            lag_blocks: head.and(start).map(|_| missing),
            blocks_done: total.saturating_sub(missing),
            blocks_total: total,
            events: tables.iter().map(|table| table.rows).sum(),
            events_per_s: None,
            eta_s: None,
            gaps: coverage.gaps.ranges().to_vec(),
            proven: self.trust.proven(start),
            health: self.chain.health.clone(),
            name,
            tables,
        }
    }

    fn tables(&self, index: &Identifier) -> Vec<TableView> {
        let of_index = |info: &&TableInfo| info.spec.index == *index && info.spec.chain == self.chain.id;
        let view = |info: &TableInfo| TableView {
            name: info.spec.name.clone(),
            event: info.spec.event.clone(),
            signature: info.spec.signature.clone(),
            rows: info.rows,
        };
        self.tables.iter().filter(of_index).map(view).collect()
    }

    /// The sources that are configured; where that is not known, those of its tables that
    /// are collected, or were. What was taken out of an index is not missing in it.
    fn sources(&self, configured: Option<&KnownIndex>, tables: &[TableView]) -> Sources {
        let plan = &self.ledger.plan;
        if let Some(wanted) = configured.and_then(|index| index.sources.as_ref()) {
            let begun: BTreeSet<SourceId> = wanted
                .iter()
                .filter_map(|source| {
                    let table = tables.iter().find(|table| table.signature == source.signature)?;
                    let id = SourceId { table: table.name.clone(), contract: source.contract };
                    plan.sources.contains_key(&id).then_some(id)
                })
                .collect();
            return Sources { has_more: begun.len() < wanted.len(), begun };
        }
        let of_index = |id: &SourceId| tables.iter().any(|table| table.name == id.table);
        let collected: BTreeSet<SourceId> =
            plan.collected().map(|(id, _)| id).filter(|id| of_index(id)).cloned().collect();
        let begun = match collected.is_empty() {
            true => plan.sources.keys().filter(|id| of_index(id)).cloned().collect(),
            false => collected,
        };
        Sources { begun, has_more: false }
    }

    /// What is collected up to the head. Of a source that has not joined yet everything is missing.
    fn coverage(&self, configured: Option<&KnownIndex>, sources: &Sources) -> Coverage {
        let head = self.chain.head;
        let mut coverage = self.ledger.coverage(head.unwrap_or(0), |id| sources.begun.contains(id));
        let is_new = sources.has_more || sources.begun.is_empty();
        let written = configured.and_then(|index| index.start);
        if let Some(start) = written.or(coverage.start).filter(|_| is_new) {
            coverage.start = Some(coverage.start.map_or(start, |first| first.min(start)));
            if let Some(to) = head.filter(|head| *head >= start) {
                coverage.missing.extend(&BlockSet::from(BlockRange { from: start, to }));
            }
        }
        if head.is_none() {
            coverage.missing = BlockSet::EMPTY;
        }
        coverage
    }

    fn state(&self, is_configured: bool, is_begun: bool, coverage: &Coverage) -> IndexState {
        let configured = self.known.chain(self.chain.id);
        let batch = configured.map_or(USUAL_BATCH, |chain| chain.batch_size);
        // What was given up is no past that it still catches up with.
        let lag = coverage.missing.minus(&coverage.gaps).count();
        match (is_configured, self.is_paused, is_begun) {
            (false, _, _) => IndexState::Removed,
            _ if self.chain.halt.is_some() => IndexState::Stopped,
            (_, true, _) => IndexState::Paused,
            (_, _, false) => IndexState::New,
            _ => match Mode::Historical.after(lag, batch) {
                Mode::Historical => IndexState::Historical,
                Mode::Realtime => IndexState::Realtime,
            },
        }
    }
}
