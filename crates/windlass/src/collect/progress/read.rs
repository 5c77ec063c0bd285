//! A look at the store.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use windlass_core::block_set::BlockSet;
use windlass_core::chain::ChainId;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobFilter, MAX_LISTED_JOBS, QueueCounts};
use windlass_core::lease::Lease;
use windlass_core::mode::Mode;
use windlass_core::name::{NameError, Queue, StateKey};
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::Identifier;
use windlass_engine::collect::chain::Halt;
use windlass_engine::collect::names::{ChainNames, paused_key};
use windlass_engine::collect::sight::Sight;

use crate::config::Config;
use crate::config::index::start::Start;
use crate::config::index::{Index, IndexName};

use super::coverage::{Coverage, Ledger, Ranges};
use super::{ChainView, HaltView, IndexState, IndexView, Overview, TableView};

/// No more ranges of a campaign are looked at.
const MAX_LISTED_RANGES: usize = 10_000;
/// What counts as being near the head where no configuration says so.
const USUAL_BATCH: u64 = 100;

/// What the configuration says there is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) chains: Vec<KnownChain>,
    pub(crate) indexes: Vec<KnownIndex>,
}

/// A configured chain.
#[derive(Debug, Clone)]
pub(crate) struct KnownChain {
    pub(crate) name: String,
    pub(crate) id: ChainId,
    pub(crate) batch_size: u64,
}

/// A configured index.
#[derive(Debug, Clone)]
pub(crate) struct KnownIndex {
    pub(crate) name: Identifier,
    pub(crate) chain: ChainId,
    /// Its first block, if that is written down.
    pub(crate) start: Option<u64>,
}

impl Known {
    /// What a configuration says.
    pub(crate) fn of(config: &Config) -> Self {
        let chains = config.chain.iter().map(|(name, chain)| KnownChain {
            name: name.to_string(),
            id: chain.id,
            batch_size: chain.batch_size.get(),
        });
        let index = |(name, section): (&IndexName, &Index)| {
            let start = if let Start::Block(block) = section.start { Some(block) } else { None };
            let chain = config.chain.get(&section.chain)?.id;
            Some(KnownIndex { name: name.identifier().clone(), chain, start })
        };
        Self { chains: chains.collect(), indexes: config.index.iter().filter_map(index).collect() }
    }
}

/// Looks how far everything is.
pub(crate) async fn read(store: &dyn Store, known: &Known) -> StoreResult<Overview> {
    let tables = store.list_tables().await?;
    let shared = Shared { counts: store.count_jobs().await?, leases: store.list_leases().await? };
    let configured = known.chains.iter().map(|chain| chain.id);
    let ids: BTreeSet<ChainId> = configured.chain(tables.iter().map(|info| info.spec.chain)).collect();
    let mut overview = Overview::default();
    let mut ledgers = BTreeMap::new();
    for id in ids {
        let name = known.chains.iter().find(|chain| chain.id == id).map(|chain| chain.name.clone());
        let (view, ledger) = chain(store, &shared, id, name).await?;
        overview.chains.push(view);
        ledgers.insert(id, ledger);
    }
    for (name, chain) in index_names(known, &tables) {
        let Some((ledger, view)) = ledgers.get(&chain).zip(overview.chains.iter().find(|v| v.id == chain))
        else {
            continue;
        };
        let is_paused = store.state(&paused_key(name.as_str()).map_err(unnamed)?).await?.is_some();
        let look = IndexLook { known, tables: &tables, ledger, chain: view, is_paused };
        overview.indexes.push(look.view(name));
    }
    Ok(overview)
}

/// Every index that is configured or has a table, in the order of names.
fn index_names(known: &Known, tables: &[TableInfo]) -> BTreeSet<(Identifier, ChainId)> {
    let configured = known.indexes.iter().map(|index| (index.name.clone(), index.chain));
    configured.chain(tables.iter().map(|info| (info.spec.index.clone(), info.spec.chain))).collect()
}

/// What is listed once for all chains.
struct Shared {
    counts: Vec<QueueCounts>,
    leases: Vec<Lease>,
}

impl Shared {
    fn counts(&self, queue: &Queue) -> Option<&QueueCounts> {
        self.counts.iter().find(|counts| counts.queue == *queue)
    }
}

async fn chain(
    store: &dyn Store,
    shared: &Shared,
    id: ChainId,
    name: Option<String>,
) -> StoreResult<(ChainView, Ledger)> {
    let names = ChainNames::new(id).map_err(unnamed)?;
    let ledger = ledger(store, shared, &names).await?;
    let sight: Option<Sight> = kept(store, &names.sight).await?;
    let halt: Option<Halt> = kept(store, &names.halt).await?;
    let head = sight.map(|sight| sight.latest.number).max(ledger.followed);
    // Ranges of a campaign that is no more, as of an index that was dropped, are nobody's.
    let queues: Vec<Queue> =
        ledger.plan.campaigns.iter().filter_map(|campaign| names.campaign_queue(campaign.id).ok()).collect();
    let ours = || shared.counts.iter().filter(|counts| queues.contains(&counts.queue));
    let view = ChainView {
        name,
        id,
        head,
        finalized: sight.map(|sight| sight.finalized.number),
        followed: ledger.followed,
        lag_blocks: head.zip(ledger.followed).map(|(head, followed)| head.saturating_sub(followed)),
        follower: shared.leases.iter().find(|l| l.name == names.lease).map(|l| l.owner.to_string()),
        reorgs: kept(store, &names.generation).await?.unwrap_or(0),
        open_ranges: ours().map(|counts| counts.open).sum(),
        dead_ranges: ours().map(|counts| counts.dead).sum(),
        misfits: store.count_events(id).await?,
        halt: halt.map(|Halt { block, reason }| HaltView { block, reason }),
    };
    Ok((view, ledger))
}

async fn ledger(store: &dyn Store, shared: &Shared, names: &ChainNames) -> StoreResult<Ledger> {
    let plan: Plan = kept(store, &names.plan).await?.unwrap_or_default();
    let position = |cursor: windlass_core::cursor::Cursor| u64::try_from(cursor.primary()).ok();
    let mut ranges = BTreeMap::new();
    for campaign in &plan.campaigns {
        let cursor = names.campaign_cursor(campaign.id).map_err(unnamed)?;
        let queue = names.campaign_queue(campaign.id).map_err(unnamed)?;
        let counts = shared.counts(&queue);
        let of = Ranges {
            next: store.cursor(&cursor).await?.and_then(position),
            open: blocks(store, &queue, false, counts.map_or(0, |counts| counts.open)).await?,
            dead: blocks(store, &queue, true, counts.map_or(0, |counts| counts.dead)).await?,
        };
        ranges.insert(campaign.id, of);
    }
    let followed = store.cursor(&names.head).await?.and_then(position);
    Ok(Ledger { plan, ranges, followed })
}

/// The blocks of a campaign's ranges that are open, or were given up.
async fn blocks(store: &dyn Store, queue: &Queue, dead: bool, count: u64) -> StoreResult<BlockSet> {
    let mut found = BlockSet::EMPTY;
    let mut filter = JobFilter { queue: Some(queue.clone()), dead, after: None, limit: MAX_LISTED_JOBS };
    let mut listed = 0;
    while listed < MAX_LISTED_RANGES && (listed as u64) < count {
        let page = store.list_jobs(&filter).await?;
        let Some(last) = page.last() else { break };
        filter.after = Some(last.id);
        listed += page.len();
        for row in &page {
            found.insert(parse::<BlockRange>(&row.id, &row.payload)?);
        }
    }
    Ok(found)
}

/// Something that was kept as JSON.
async fn kept<T: DeserializeOwned>(store: &dyn Store, key: &StateKey) -> StoreResult<Option<T>> {
    store.state(key).await?.map(|text| parse(key, &text)).transpose()
}

fn parse<T: DeserializeOwned>(what: &impl std::fmt::Display, text: &str) -> StoreResult<T> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Other(format!("what is stored as {what} makes no sense: {error}")))
}

fn unnamed(error: NameError) -> StoreError {
    StoreError::Invalid(error.to_string())
}

/// What is known of one index.
struct IndexLook<'a> {
    known: &'a Known,
    tables: &'a [TableInfo],
    ledger: &'a Ledger,
    chain: &'a ChainView,
    is_paused: bool,
}

impl IndexLook<'_> {
    fn view(&self, name: Identifier) -> IndexView {
        let tables = self.tables(&name);
        let names: BTreeSet<&Identifier> = tables.iter().map(|table| &table.name).collect();
        let head = self.chain.head.unwrap_or(0);
        let coverage = self.ledger.coverage(head, |source| names.contains(&source.table));
        let configured =
            self.known.indexes.iter().find(|index| index.name == name && index.chain == self.chain.id);
        let start = coverage.start.or_else(|| configured.and_then(|index| index.start));
        let blocks_total = start.map_or(0, |start| (head + 1).saturating_sub(start));
        let missing = if coverage.start.is_some() { coverage.missing.count() } else { blocks_total };
        let is_begun = self.ledger.plan.collected().any(|(source, _)| names.contains(&source.table));
        IndexView {
            chain: self.chain.id,
            chain_name: self.chain.name.clone(),
            state: self.state(configured.is_some(), is_begun, &coverage),
            start,
            collected_through: self.chain.head.and_then(|head| coverage.through(head)),
            head: self.chain.head,
            finalized: self.chain.finalized,
            lag_blocks: self.chain.head.and(start).map(|_| missing),
            blocks_done: blocks_total.saturating_sub(missing),
            blocks_total,
            events: tables.iter().map(|table| table.rows).sum(),
            events_per_s: None,
            eta_s: None,
            gaps: coverage.gaps.ranges().to_vec(),
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

    fn state(&self, is_configured: bool, is_begun: bool, coverage: &Coverage) -> IndexState {
        let configured = self.known.chains.iter().find(|chain| chain.id == self.chain.id);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use windlass_core::commit::{Commit, Write};
    use windlass_core::job::{JobClaim, JobFailure, NewJob};
    use windlass_core::name::{LaneKey, Owner};
    use windlass_core::plan::{SourceId, Standing};
    use windlass_core::range::RANGE_CURSOR_SECONDARY;
    use windlass_core::retry::Verdict;
    use windlass_core::store::{Door, Health, Jobs, Tables};
    use windlass_core::table::TableSpec;
    use windlass_store_sqlite::{SqliteOptions, SqliteStore};

    use super::*;

    fn identifier(text: &str) -> Identifier {
        Identifier::new(text).expect("a name")
    }

    fn chain() -> ChainId {
        ChainId::new(137).expect("an id")
    }

    fn cursor(at: i64, which: &str) -> windlass_core::cursor::Cursor {
        windlass_core::cursor::Cursor::new(at, which).expect("a cursor")
    }

    /// Blocks 10 to 100 in a campaign that is claimed up to 69; the range 20 to 29 was given up, and
    /// 60 to 69 is open. The head stands at 110.
    async fn store() -> SqliteStore {
        let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
        let table = TableSpec {
            name: identifier("fees_e"),
            chain: chain(),
            index: identifier("fees"),
            event: "E".to_owned(),
            signature: "E()".to_owned(),
            columns: Vec::new(),
        };
        store.create_tables(&[Arc::new(table)]).await.expect("a table");
        let names = ChainNames::new(chain()).expect("names");
        let source = SourceId { table: identifier("fees_e"), contract: None };
        let standing = Standing { head: 100, ..Standing::default() };
        let plan = Plan::default().replan(&BTreeMap::from([(source, 10)]), &standing);
        let queue = names.campaign_queue(0).expect("a name");
        let job = |from: u64, to: u64| {
            let range = BlockRange { from, to };
            let payload = serde_json::to_string(&range).expect("json");
            NewJob::new(queue.clone(), LaneKey::new(range.lane_key()).expect("a name"), payload)
        };
        let text = serde_json::to_string(&plan).expect("json");
        let seed =
            |name: &windlass_core::name::CursorName, start| Write::SeedCursor { name: name.clone(), start };
        let writes = vec![
            Write::PutState { key: names.plan.clone(), value: Some(text) },
            seed(&names.head, cursor(110, &"0x00".repeat(16))),
            seed(&names.campaign_cursor(0).expect("a name"), cursor(70, RANGE_CURSOR_SECONDARY)),
            Write::Enqueue(vec![job(20, 29), job(60, 69)]),
        ];
        store.commit(Commit::of(writes)).await.expect("written");
        give_up_first(&store, queue).await;
        store
    }

    async fn give_up_first(store: &SqliteStore, queue: Queue) {
        let claim = JobClaim {
            queue,
            owner: Owner::new("worker").expect("a name"),
            ttl: Duration::from_secs(60),
            max_jobs: 1,
            max_per_lane: 1,
            max_attempts: 10,
        };
        let claimed = store.claim_jobs(&claim).await.expect("claimed");
        let failure =
            JobFailure { ticket: claimed[0].ticket, error: "no".to_owned(), verdict: Verdict::Dead };
        store.fail_job(&failure).await.expect("failed");
    }

    fn known() -> Known {
        let name = "polygon".to_owned();
        Known {
            chains: vec![KnownChain { name, id: chain(), batch_size: 100 }],
            indexes: vec![KnownIndex { name: identifier("fees"), chain: chain(), start: Some(10) }],
        }
    }

    #[tokio::test]
    async fn gaps_open_ranges_and_the_lag_are_told() {
        let store = store().await;
        let overview = read(&store, &known()).await.expect("an overview");
        let chain = &overview.chains[0];
        assert_eq!((chain.head, chain.dead_ranges, chain.open_ranges), (Some(110), 1, 1));
        let index = &overview.indexes[0];
        assert_eq!(index.gaps, [BlockRange { from: 20, to: 29 }]);
        assert_eq!(index.collected_through, Some(19));
        assert_eq!(index.lag_blocks, Some(10 + 10 + 31), "given up, open, not claimed");
        assert_eq!((index.blocks_done, index.blocks_total), (50, 101));
        assert_eq!(index.state, IndexState::Realtime, "what is left to do is less than a batch");
        let few =
            Known { chains: vec![KnownChain { batch_size: 10, ..known().chains[0].clone() }], ..known() };
        let overview = read(&store, &few).await.expect("an overview");
        assert_eq!(overview.indexes[0].state, IndexState::Historical);
        store.close().await;
    }

    #[tokio::test]
    async fn what_is_not_configured_is_shown_as_removed() {
        let store = store().await;
        let overview = read(&store, &Known::default()).await.expect("an overview");
        assert_eq!(
            (overview.chains[0].name.as_deref(), overview.indexes[0].state),
            (None, IndexState::Removed)
        );
        store.close().await;
    }
}
