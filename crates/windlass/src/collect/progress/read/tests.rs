//! What is read of a store that somebody works on, or did.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::chain::{Address, B256, BlockRef};
use windlass_core::commit::{Commit, Write};
use windlass_core::job::{DeletedJobs, JobClaim, JobFailure, NewJob};
use windlass_core::name::{LaneKey, Owner};
use windlass_core::plan::{SourceId, Standing};
use windlass_core::range::{RANGE_CURSOR_SECONDARY, RangeClaim};
use windlass_core::retry::Verdict;
use windlass_core::store::{Door, Health, Jobs, Ranges as _, Tables};
use windlass_core::table::{RowHead, Rows, TableSpec};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use super::super::IndexState;
use super::super::known::{KnownChain, KnownIndex, KnownSource};
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

fn table() -> TableSpec {
    TableSpec {
        name: identifier("fees_e"),
        chain: chain(),
        index: identifier("fees"),
        event: "E".to_owned(),
        signature: "E()".to_owned(),
        columns: Vec::new(),
    }
}

/// The chain as it was seen at block 110.
const SEEN: &str = r#"{
    "latest": { "number": 110, "hash": "0x0000000000000000000000000000000000000000000000000000000000000000" },
    "latest_s": 1, "finalized": { "number": 100, "timestamp_s": 1,
        "hash": "0x0000000000000000000000000000000000000000000000000000000000000000",
        "parent_hash": "0x0000000000000000000000000000000000000000000000000000000000000000" }
}"#;

/// Blocks 10 to 100 in a campaign that is claimed up to 69; the range 20 to 29 was given up, and
/// 60 to 69 is open. The head stands at 110.
async fn store() -> SqliteStore {
    let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
    store.create_tables(&[Arc::new(table())]).await.expect("a table");
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
        Write::PutState { key: names.sight.clone(), value: Some(SEEN.to_owned()) },
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
        deleted: DeletedJobs::Skip,
    };
    let claimed = store.claim_jobs(&claim).await.expect("claimed");
    let failure = JobFailure { ticket: claimed[0].ticket, error: "no".to_owned(), verdict: Verdict::Dead };
    store.fail_job(&failure).await.expect("failed");
}

fn known() -> Known {
    let name = "polygon".to_owned();
    Known {
        chains: vec![KnownChain { name, id: chain(), batch_size: 100, grace: Duration::ZERO }],
        indexes: vec![KnownIndex {
            name: identifier("fees"),
            chain: chain(),
            start: Some(10),
            sources: Some(vec![KnownSource { signature: "E()".to_owned(), contract: None }]),
        }],
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
    let few = Known { chains: vec![KnownChain { batch_size: 10, ..known().chains[0].clone() }], ..known() };
    let overview = read(&store, &few).await.expect("an overview");
    assert_eq!(overview.indexes[0].state, IndexState::Historical);
    store.close().await;
}

/// Guards against counting ranges as collected that nobody has looked at.
#[tokio::test]
async fn what_is_too_much_to_be_listed_is_missing() {
    let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
    store.create_tables(&[Arc::new(table())]).await.expect("a table");
    let names = ChainNames::new(chain()).expect("names");
    let source = SourceId { table: identifier("fees_e"), contract: None };
    let standing = Standing { head: 100, ..Standing::default() };
    let mut plan = Plan::default().replan(&BTreeMap::from([(source, 10)]), &standing);
    let end = 10 + 2 * MAX_LISTED_RANGES as u64 + 99;
    plan.campaigns[0].blocks.to = end;
    plan.sources.values_mut().for_each(|source| source.head_from = Some(end + 1));
    let queue = names.campaign_queue(0).expect("a name");
    let job = |from: u64| {
        let range = BlockRange { from, to: from };
        let payload = serde_json::to_string(&range).expect("json");
        NewJob::new(queue.clone(), LaneKey::new(range.lane_key()).expect("a name"), payload)
    };
    let text = serde_json::to_string(&plan).expect("json");
    let seen = SEEN.replace("110", &end.to_string());
    let seed =
        |name: &windlass_core::name::CursorName, start| Write::SeedCursor { name: name.clone(), start };
    let at = |block: u64| i64::try_from(block).expect("small");
    let writes = vec![
        Write::PutState { key: names.plan.clone(), value: Some(text) },
        Write::PutState { key: names.sight.clone(), value: Some(seen) },
        seed(&names.head, cursor(at(end), &"0x00".repeat(16))),
        seed(&names.campaign_cursor(0).expect("a name"), cursor(at(end + 1), RANGE_CURSOR_SECONDARY)),
        // Every second block from 20 on; more of them than are listed.
        Write::Enqueue((0..=MAX_LISTED_RANGES as u64).map(|number| job(20 + 2 * number)).collect()),
    ];
    store.commit(Commit::of(writes)).await.expect("written");
    let overview = read(&store, &known()).await.expect("an overview");
    let index = &overview.indexes[0];
    assert_eq!(index.collected_through, Some(19));
    assert_eq!(index.lag_blocks, Some(end - 19), "nobody knows which of them are there");
    assert_eq!((index.gaps.len(), overview.chains[0].open_ranges), (0, MAX_LISTED_RANGES as u64 + 1));
    store.close().await;
}

/// Guards against `0 of 1 blocks` before a chain was seen.
#[tokio::test]
async fn of_a_chain_that_nobody_has_seen_nothing_is_told() {
    let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
    let overview = read(&store, &known()).await.expect("an overview");
    let index = &overview.indexes[0];
    assert_eq!((index.state, index.start, index.head), (IndexState::New, Some(10), None));
    assert_eq!((index.blocks_done, index.blocks_total, index.lag_blocks), (0, 0, None));
    store.close().await;
}

/// The same store, for an index that has another event as well, or other contracts.
#[tokio::test]
async fn what_has_not_joined_is_missing_whole_and_what_was_taken_out_is_not() {
    let store = store().await;
    let with = |sources: Vec<KnownSource>| {
        let mut known = known();
        known.indexes[0].sources = Some(sources);
        known
    };
    let source = |signature: &str| KnownSource { signature: signature.to_owned(), contract: None };
    let more = read(&store, &with(vec![source("E()"), source("F()")])).await.expect("an overview");
    assert_eq!((more.indexes[0].lag_blocks, more.indexes[0].blocks_done), (Some(101), 0));
    assert_eq!(more.indexes[0].collected_through, None);
    let other = read(&store, &with(vec![source("F()")])).await.expect("an overview");
    assert_eq!((other.indexes[0].state, other.indexes[0].lag_blocks), (IndexState::New, Some(101)));
    assert_eq!(other.indexes[0].gaps, [], "what was given up was of the event that is gone");
    store.close().await;
}

#[tokio::test]
async fn what_is_not_configured_is_shown_as_removed() {
    let store = store().await;
    let overview = read(&store, &Known::default()).await.expect("an overview");
    assert_eq!((overview.chains[0].name.as_deref(), overview.indexes[0].state), (None, IndexState::Removed));
    store.close().await;
}

/// Blocks that are collected one by one while somebody looks.
const BUSY_BLOCKS: u64 = 300;

/// So many of them are claimed before the first of them is stored.
const HELD_RANGES: usize = 20;

/// Collects every block of the only campaign: claims it, and later stores a row and ends its job.
async fn collect(store: &SqliteStore, table: &Arc<TableSpec>) {
    let names = ChainNames::new(chain()).expect("names");
    let claim = RangeClaim {
        cursor: names.campaign_cursor(0).expect("a name"),
        queue: names.campaign_queue(0).expect("a name"),
        size: 1,
        max_block: BUSY_BLOCKS,
        owner: Owner::new("worker").expect("a name"),
        ttl: Duration::from_secs(60),
    };
    loop {
        let mut held = Vec::new();
        while held.len() < HELD_RANGES
            && let Some(range) = store.claim_range(&claim).await.expect("claimed")
        {
            held.push(range);
        }
        if held.is_empty() {
            return;
        }
        for (range, job) in held {
            let mut rows = Rows::new(table.clone());
            rows.push_with(row(range.from), |_| Ok::<_, std::convert::Infallible>(())).expect("a row");
            let writes = vec![Write::Rows(rows), Write::CompleteJob(job.ticket)];
            store.commit(Commit::of(writes)).await.expect("stored");
        }
    }
}

fn row(number: u64) -> RowHead {
    RowHead {
        block: BlockRef { number, hash: B256::ZERO },
        log_index: 0,
        timestamp_s: 0,
        transaction_hash: B256::ZERO,
        address: Address::ZERO,
    }
}

/// Guards against ranges that were claimed, and rows that were counted, before or behind
/// what is told with them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whenever_somebody_looks_no_more_is_told_than_is_stored() {
    let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
    let table = Arc::new(table());
    store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
    let names = ChainNames::new(chain()).expect("names");
    let source = SourceId { table: table.name.clone(), contract: None };
    let standing = Standing { head: BUSY_BLOCKS, ..Standing::default() };
    let plan = Plan::default().replan(&BTreeMap::from([(source, 1)]), &standing);
    let text = serde_json::to_string(&plan).expect("json");
    let head = cursor(BUSY_BLOCKS.cast_signed(), &"0x00".repeat(16));
    let first = cursor(1, RANGE_CURSOR_SECONDARY);
    let seen = SEEN.replace("110", &BUSY_BLOCKS.to_string());
    let writes = vec![
        Write::PutState { key: names.plan.clone(), value: Some(text) },
        Write::PutState { key: names.sight.clone(), value: Some(seen) },
        Write::SeedCursor { name: names.head.clone(), start: head },
        Write::SeedCursor { name: names.campaign_cursor(0).expect("a name"), start: first },
    ];
    store.commit(Commit::of(writes)).await.expect("written");
    let (worker, its_store) = (table.clone(), store.clone());
    let working = tokio::spawn(async move { collect(&its_store, &worker).await });
    let mut looks = 0;
    loop {
        let is_last = working.is_finished();
        let overview = read(&store, &known()).await.expect("an overview");
        let index = &overview.indexes[0];
        assert_eq!(index.blocks_total, BUSY_BLOCKS);
        assert!(index.events >= index.blocks_done, "{} rows, {} blocks", index.events, index.blocks_done);
        looks += 1;
        if is_last {
            assert_eq!((index.blocks_done, index.events), (BUSY_BLOCKS, BUSY_BLOCKS), "{looks} looks");
            break;
        }
    }
    working.await.expect("it collects");
    store.close().await;
}
