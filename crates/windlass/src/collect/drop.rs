//! Takes away what was collected of an index.
//!
//! All of it happens under the chain's lease, so that nobody begins to collect for what
//! is about to go. The order matters: first the ledger forgets what was claimed for the
//! tables; then they go. Whatever happens between the two, an index of that name that
//! comes back is collected whole.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::Duration;

use windlass_core::chain::{Address, ChainId};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::lease::Lease;
use windlass_core::name::{LeaseName, Owner, StateKey};
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::Identifier;
use windlass_engine::collect::deployment::deployment_key;
use windlass_engine::collect::ledger::end_campaign;
use windlass_engine::collect::names::paused_key;

use super::ledger::{self, unnamed};
use crate::export;
use crate::failure::Failure;

/// How long the lease outlasts this process.
const LEASE_TTL: Duration = Duration::from_secs(30);
/// How often it is prolonged: large tables take their time.
const EXTEND_EVERY: Duration = Duration::from_secs(10);

/// Every block that a store can hold.
const EVERY_BLOCK: BlockRange = BlockRange { from: 0, to: i64::MAX as u64 };

/// How often a busy store is asked.
const MAX_TRIES: u32 = 50;
/// How long it is left alone in between.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// What is stored of an index.
#[derive(Debug)]
pub(crate) struct Stored {
    name: Identifier,
    /// Its tables.
    pub(crate) tables: Vec<TableInfo>,
    plans: BTreeMap<ChainId, Plan>,
}

impl Stored {
    /// Looks what there is; a failure where there is nothing.
    pub(crate) async fn read(store: &dyn Store, name: &Identifier) -> Result<Self, Failure> {
        let all = store.list_tables().await?;
        let known = all.iter().map(|info| info.spec.index.as_str());
        let tables: Vec<TableInfo> = all.iter().filter(|info| info.spec.index == *name).cloned().collect();
        if tables.is_empty() {
            return Err(export::missing(name, known));
        }
        let mut plans = BTreeMap::new();
        for info in &tables {
            plans.insert(info.spec.chain, ledger::plan(store, info.spec.chain).await?);
        }
        Ok(Self { name: name.clone(), tables, plans })
    }

    /// The ledger of a chain.
    pub(crate) fn plan_of(&self, chain: ChainId) -> Plan {
        self.plans.get(&chain).cloned().unwrap_or_default()
    }

    /// How many rows its tables have.
    pub(crate) fn rows(&self) -> u64 {
        self.tables.iter().map(|info| info.rows).sum()
    }

    fn has(&self, table: &Identifier) -> bool {
        self.tables.iter().any(|info| info.spec.name == *table)
    }
}

/// Removes it all.
pub(crate) async fn remove(store: &dyn Store, stored: &Stored) -> Result<(), Failure> {
    for chain in stored.plans.keys() {
        let lease = take_lease(store, &ledger::names(*chain)?.lease).await?;
        let done = async {
            forget(store, stored, *chain, &lease).await?;
            for info in stored.tables.iter().filter(|info| info.spec.chain == *chain) {
                holding(store, &lease, store.drop_table(&info.spec.name)).await?;
            }
            Ok(())
        };
        let done = done.await;
        let released = store.release_lease(&lease).await;
        done.and(released.map(drop).map_err(Failure::from))?;
    }
    Ok(())
}

/// Makes a chain's ledger forget the tables. Whoever is still at a range that served
/// nobody else can no longer store it.
async fn forget(store: &dyn Store, stored: &Stored, chain: ChainId, lease: &Lease) -> Result<(), Failure> {
    let names = ledger::names(chain)?;
    let old = ledger::plan(store, chain).await?;
    let new = without(&old, |table| stored.has(table));
    let text = serde_json::to_string(&new).map_err(Failure::unexpected)?;
    let mut writes = vec![Write::PutState { key: names.plan.clone(), value: Some(text) }];
    for gone in old.campaigns.iter().filter(|campaign| !new.has_campaign(campaign.id)) {
        writes.extend(end_campaign(store, &names, gone).await.map_err(Failure::from)?);
    }
    writes.extend(misfits(chain, &old, &new));
    writes.extend(
        forgotten_keys(stored, chain, &old)?.into_iter().map(|key| Write::PutState { key, value: None }),
    );
    store.commit(Commit::of(writes).under_lease(lease)).await?;
    Ok(())
}

/// What takes out logs that fitted no event of contracts that nobody listens to any more.
/// Which contracts a factory has created is not known here: where there is one, they stay.
fn misfits(chain: ChainId, old: &Plan, new: &Plan) -> Option<Write> {
    let listened: BTreeSet<Address> = new.sources.keys().map(|id| id.contract).collect::<Option<_>>()?;
    let had: BTreeSet<Address> = old.sources.keys().filter_map(|id| id.contract).collect();
    let contracts: Vec<Address> = had.difference(&listened).copied().collect();
    // Without a contract it would be everybody's.
    (!contracts.is_empty()).then_some(Write::EraseEvents { chain, blocks: EVERY_BLOCK, contracts })
}

/// Prolongs the lease for as long as some work takes; ends it when the lease is lost.
async fn holding<T>(
    store: &dyn Store,
    lease: &Lease,
    work: impl Future<Output = StoreResult<T>>,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    loop {
        match tokio::time::timeout(EXTEND_EVERY, &mut work).await {
            Ok(done) => return Ok(done?),
            Err(_) => match store.extend_lease(lease, LEASE_TTL).await {
                // A store that is busy with the work itself lets nobody else in either.
                Ok(_) | Err(StoreError::Busy) => {}
                Err(error) => return Err(error.into()),
            },
        }
    }
}

/// Takes the chain's lease. A busy store gives nothing at once, and is asked again.
async fn take_lease(store: &dyn Store, name: &LeaseName) -> Result<Lease, Failure> {
    let owner = format!("{}-{:08x}/drop", std::process::id(), rand::random::<u32>());
    let owner = Owner::new(owner).map_err(unnamed)?;
    for _ in 0..MAX_TRIES {
        if let Some(lease) = store.acquire_lease(name, &owner, LEASE_TTL).await? {
            return Ok(lease);
        }
        if let Some(held) = store.list_leases().await?.into_iter().find(|lease| lease.name == *name) {
            return Err(Failure::refused(format_args!("a process is collecting the chain: {}", held.owner))
                .hint("stop `windlass run` first; one that died keeps its lease for `lease_ttl`"));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    Err(StoreError::Busy.into())
}

/// What else was kept for the index: whether it is paused, and where its contracts came to be.
fn forgotten_keys(stored: &Stored, chain: ChainId, plan: &Plan) -> Result<Vec<StateKey>, Failure> {
    let name = stored.name.as_str();
    let contracts = plan.sources.keys().filter(|id| stored.has(&id.table)).filter_map(|id| id.contract);
    let mut keys = vec![paused_key(name).map_err(unnamed)?];
    for contract in contracts {
        let key = deployment_key(name, chain, contract).map_err(unnamed)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// A plan that knows nothing of some tables. A campaign that served nobody else is gone.
fn without(plan: &Plan, is_gone: impl Fn(&Identifier) -> bool) -> Plan {
    let mut plan = Plan { version: plan.version + 1, ..plan.clone() };
    plan.sources.retain(|id, _| !is_gone(&id.table));
    let kept: BTreeSet<u32> = plan.sources.values().map(|source| source.number).collect();
    for campaign in &mut plan.campaigns {
        campaign.sources.retain(|number| kept.contains(&number));
    }
    plan.campaigns.retain(|campaign| !campaign.sources.is_empty());
    plan
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use windlass_core::cursor::Cursor;
    use windlass_core::plan::{SourceId, Standing};
    use windlass_core::range::{RANGE_CURSOR_SECONDARY, RangeClaim};
    use windlass_core::store::{Door, Health, Jobs, Ranges, Tables};
    use windlass_core::table::TableSpec;
    use windlass_store_sqlite::{SqliteOptions, SqliteStore};

    use super::*;

    fn source(table: &str) -> SourceId {
        SourceId { table: Identifier::new(table).expect("a name"), contract: None }
    }

    #[test]
    fn a_plan_forgets_a_table_and_the_campaigns_that_served_it_alone() {
        let wanted = BTreeMap::from([(source("a"), 0), (source("b"), 50)]);
        let plan = Plan::default().replan(&wanted, &Standing { head: 100, ..Standing::default() });
        assert_eq!(plan.campaigns.len(), 2, "blocks 0 to 49 for one, 50 to 100 for both");
        let left = without(&plan, |table| table.as_str() == "a");
        assert_eq!(left.sources.keys().collect::<Vec<_>>(), [&source("b")]);
        assert_eq!(left.campaigns.len(), 1);
        let served = left.sources_of(&left.campaigns[0].sources);
        assert_eq!(served.collect::<Vec<_>>(), [&source("b")]);
        assert!(left.version > plan.version);
    }

    /// Guards against a worker that knows the old plan and claims a range of what is gone.
    #[tokio::test]
    async fn nothing_can_be_claimed_of_a_campaign_that_is_gone() {
        let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
        let chain = ChainId::new(137).expect("an id");
        let name = |text| Identifier::new(text).expect("a name");
        let table = TableSpec {
            name: name("fees_e"),
            chain,
            index: name("fees"),
            event: "E".to_owned(),
            signature: "E()".to_owned(),
            columns: Vec::new(),
        };
        store.create_tables(&[Arc::new(table)]).await.expect("a table");
        let names = ledger::names(chain).expect("names");
        let plan = Plan::default()
            .replan(&BTreeMap::from([(source("fees_e"), 10)]), &Standing { head: 99, ..Standing::default() });
        let text = serde_json::to_string(&plan).expect("json");
        let cursor = names.campaign_cursor(0).expect("a name");
        let start = Cursor::new(10, RANGE_CURSOR_SECONDARY).expect("a cursor");
        let writes = vec![
            Write::PutState { key: names.plan.clone(), value: Some(text) },
            Write::SeedCursor { name: cursor.clone(), start },
        ];
        store.commit(Commit::of(writes)).await.expect("written");
        let claim = RangeClaim {
            cursor,
            queue: names.campaign_queue(0).expect("a name"),
            size: 10,
            max_block: plan.campaigns[0].blocks.to,
            owner: Owner::new("late").expect("a name"),
            ttl: Duration::from_secs(60),
        };
        assert!(store.claim_range(&claim).await.expect("an answer").is_some());
        let stored = Stored::read(&store, &name("fees")).await.expect("an index");
        remove(&store, &stored).await.expect("removed");
        assert_eq!(store.claim_range(&claim).await.expect("an answer"), None);
        assert_eq!(store.count_jobs().await.expect("counts"), []);
        store.close().await;
    }

    #[test]
    fn misfits_go_with_the_last_who_listened() {
        let chain = ChainId::new(1).expect("an id");
        let of = |table, contract: u8| SourceId {
            contract: Some(Address::repeat_byte(contract)),
            ..source(table)
        };
        let plan = |sources: &[SourceId]| {
            let wanted = sources.iter().map(|id| (id.clone(), 0)).collect();
            Plan::default().replan(&wanted, &Standing::default())
        };
        let old = plan(&[of("a", 1), of("a", 2), of("b", 2)]);
        let gone = |new: &[SourceId]| match misfits(chain, &old, &plan(new)) {
            Some(Write::EraseEvents { contracts, .. }) => contracts,
            _ => Vec::new(),
        };
        assert_eq!(gone(&[of("b", 2)]), [Address::repeat_byte(1)]);
        assert_eq!(gone(&[]), [Address::repeat_byte(1), Address::repeat_byte(2)]);
        assert_eq!(gone(&[source("c")]), Vec::<Address>::new(), "whose contracts those are is not known");
        assert!(misfits(chain, &plan(&[source("c")]), &plan(&[])).is_none(), "nobody's are not everybody's");
    }
}
