//! Everything is still there after a restart, and a closed store says so.

use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobClaim, JobFilter, JobId, JobTicket};
use windlass_core::lease::Epoch;
use windlass_core::outbox::{DeliveryFailure, DeliveryHold, SinkStart};
use windlass_core::range::RangeClaim;
use windlass_core::retry::Verdict;
use windlass_core::store::Store;

use super::picture::{CHAIN, CURSOR, STATE, picture};
use super::support::{Well, claim, dead, enqueue, publish, put, retry, tickets, write};
use crate::harness::Harness;
use crate::make::{
    self, TTL_MS, chain, cursor, cursor_name, delivery, event, header, identifier, lease_name, message, ms,
    owner, page, partition, queue, row, rows, sink, state_key, sum, table,
};

/// Leaves something of everything in a store.
async fn fill(store: &dyn Store) {
    enqueue(store, "q", &[("a", "1"), ("b", "2"), ("c", "3"), ("c", "4"), ("d", "5")]).await;
    let jobs = store.claim_jobs(&JobClaim { max_jobs: 3, ..make::claim("q", "w", 3) }).await.well();
    store.fail_job(&retry(jobs[1].ticket, "later", 50)).await.well();
    store.fail_job(&dead(jobs[2].ticket, "never")).await.well();
    store.acquire_lease(&lease_name("l"), &owner("w"), ms(TTL_MS)).await.well();
    store.seed_cursor(&cursor_name(CURSOR), cursor(7, "x")).await.well();
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(store, vec![message("p", "1"), message("p", "2"), message("r", "3")]).await;
    let runs = store.claim_messages(&delivery("s", "w", 2)).await.well();
    let failure = DeliveryFailure { hold: runs[0].hold, error: "x".to_owned(), verdict: Verdict::Dead };
    store.fail_delivery(&failure).await.well();
    let headers = vec![header(5, 1)];
    let facts = [Write::Events(vec![event(CHAIN, 5, 1, 1)]), Write::Blocks { chain: chain(CHAIN), headers }];
    write(store, facts.into_iter().chain([put(STATE, "1")]).collect()).await;
    let spec = table("t", CHAIN);
    store.create_tables(std::slice::from_ref(&spec)).await.well();
    write(store, vec![Write::Rows(rows(&spec, [row(5, 1, 1), row(6, 0, 1)]))]).await;
}

pub async fn everything_survives_a_restart(harness: &dyn Harness) {
    let store = harness.open().await;
    fill(&*store).await;
    let before = picture(&*store).await;
    let store = harness.restart(store).await;
    assert_eq!(picture(&*store).await, before);
    let store = harness.crash(store).await;
    assert_eq!(picture(&*store).await, before);
}

pub async fn numbers_and_epochs_go_on_after_a_restart(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("b", "3")]).await;
    let first = claim(&*store, "q", "w").await;
    assert_eq!(store.complete_jobs(&tickets(&first)).await.well(), []);
    publish(&*store, vec![message("p", "1")]).await;
    let lease = store.acquire_lease(&lease_name("l"), &owner("w"), ms(TTL_MS)).await.well();
    store.release_lease(&lease.expect("the lease is free")).await.well();
    let store = harness.restart(store).await;
    let more = enqueue(&*store, "q", &[("a", "4"), ("b", "5")]).await;
    assert_eq!(more[0], JobId { lane: ids[0].lane, seq: 3 });
    assert!(ids.iter().all(|id| id.lane != more[1].lane), "the number of a lane that was worked off");
    assert_eq!(claim(&*store, "q", "w").await[0].ticket.epoch, Epoch(2));
    assert_eq!(publish(&*store, vec![message("p", "2")]).await, [2]);
    let lease = store.acquire_lease(&lease_name("l"), &owner("w"), ms(TTL_MS)).await.well();
    assert_eq!(lease.expect("the lease is free").epoch, Epoch(2));
}

pub async fn another_handle_sees_what_was_written(harness: &dyn Harness) {
    let (one, two) = (harness.open().await, harness.open().await);
    fill(&*one).await;
    assert_eq!(picture(&*two).await, picture(&*one).await);
}

pub async fn the_store_says_which_database_it_is(harness: &dyn Harness) {
    let store = harness.open().await;
    let info = store.describe().await.well();
    assert!(!info.kind.is_empty() && !info.version.is_empty() && !info.place.is_empty(), "{info:?}");
    assert!(info.schema >= 1, "{info:?}");
}

fn is_closed<T: std::fmt::Debug>(answer: StoreResult<T>) -> Result<(), String> {
    match answer {
        Err(StoreError::Closed) => Ok(()),
        other => Err(format!("a closed store answered {other:?}")),
    }
}

async fn ask_writes(store: &dyn Store) -> Result<(), String> {
    let range = RangeClaim {
        cursor: cursor_name("c"),
        queue: queue("q"),
        size: 1,
        max_block: 1,
        owner: owner("w"),
        ttl: ms(1),
    };
    let hold = DeliveryHold { lane: 1, epoch: Epoch(1) };
    is_closed(store.commit(Commit::of(vec![put("k", "1")])).await)?;
    is_closed(store.acquire_lease(&lease_name("l"), &owner("w"), ms(1)).await)?;
    is_closed(store.claim_jobs(&make::claim("q", "w", 1)).await)?;
    is_closed(store.complete_jobs(&[JobTicket { job: JobId { lane: 1, seq: 1 }, epoch: Epoch(1) }]).await)?;
    is_closed(store.claim_range(&range).await)?;
    is_closed(store.register_sink(&sink("s"), SinkStart::Now).await)?;
    is_closed(store.claim_messages(&delivery("s", "w", 1)).await)?;
    is_closed(store.mark_delivered(hold, 1).await)?;
    is_closed(store.prune_outbox(1).await)?;
    is_closed(store.create_tables(&[table("new", 1)]).await)?;
    is_closed(store.drop_table(&identifier("t")).await)
}

async fn ask_reads(store: &dyn Store) -> Result<(), String> {
    is_closed(store.list_leases().await)?;
    is_closed(store.list_jobs(&JobFilter::default()).await)?;
    is_closed(store.count_jobs().await)?;
    is_closed(store.cursor(&cursor_name("c")).await)?;
    is_closed(store.outbox_depth().await)?;
    is_closed(store.events(chain(1), (0, 0), 1).await)?;
    is_closed(store.blocks(chain(1), 0, 1).await)?;
    is_closed(store.state(&state_key("k")).await)?;
    is_closed(store.messages(&partition("p"), 0, 1).await)?;
    is_closed(store.list_tables().await)?;
    is_closed(store.rows(&page("t", 1)).await)?;
    is_closed(store.count_rows(&identifier("t"), &[]).await)?;
    is_closed(store.sum_rows(&sum("t", "amount")).await)?;
    is_closed(store.now().await)
}

pub async fn a_closed_store_says_so(harness: &dyn Harness) {
    let store = harness.open().await;
    fill(&*store).await;
    store.close().await;
    store.close().await;
    ask_writes(&*store).await.expect("every write is refused");
    ask_reads(&*store).await.expect("every read is refused");
}
