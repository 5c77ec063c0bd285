//! What somebody else has locked: a claim answers at once, a write waits and then says busy.

use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::error::StoreError;
use windlass_core::job::JobTicket;
use windlass_core::range::RangeClaim;
use windlass_core::store::{Cursors, Door, Jobs, Leases, Ranges};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, url};

fn next_range() -> RangeClaim {
    RangeClaim {
        cursor: make::cursor_name("c"),
        queue: make::queue("q"),
        size: 10,
        max_block: 100,
        owner: make::owner("a"),
        ttl: make::ms(1_000),
    }
}

#[tokio::test]
async fn claims_pass_over_what_is_locked() {
    let database = Database::new();
    let store = database.open().await;
    store.seed_cursor(&make::cursor_name("c"), make::cursor(0, "next")).await.expect("a cursor");
    store.enqueue_jobs(vec![make::job("q", "one", "{}"), make::job("q", "two", "{}")]).await.expect("ids");
    let (name, owner) = (make::lease_name("l"), make::owner("a"));
    store.acquire_lease(&name, &owner, make::ms(0)).await.expect("an answer").expect("a lease");
    let holder = database.client().await;
    let lock = "BEGIN; SELECT FROM cursor FOR UPDATE; SELECT FROM lease FOR UPDATE;
                SELECT FROM lane WHERE key = 'one' FOR UPDATE";
    holder.batch_execute(lock).await.expect("locks");

    assert_eq!(store.claim_range(&next_range()).await.expect("nothing now"), None);
    assert_eq!(store.acquire_lease(&name, &owner, make::ms(9)).await.expect("nothing now"), None);
    let claimed = store.claim_jobs(&make::claim("q", "a", 10)).await.expect("jobs");
    assert_eq!(claimed.iter().map(|job| job.key.as_str()).collect::<Vec<_>>(), ["two"]);

    let to = make::cursor(1, "x");
    let advance = Write::AdvanceCursor { name: make::cursor_name("c"), to, rule: CursorRule::Identified };
    let refused = store.commit(Commit::of(vec![advance])).await.expect_err("a bounded wait");
    assert!(matches!(refused, StoreError::Busy), "{refused:?}");

    holder.batch_execute("COMMIT").await.expect("the locks are given back");
    assert!(store.claim_range(&next_range()).await.expect("a range").is_some());
}

/// Lanes are locked by number: who waits for the first holds none of the others.
/// Otherwise a holder that extends its lanes while it completes them would deadlock.
#[tokio::test]
async fn lanes_are_locked_in_one_order() {
    let database = Database::new();
    let name = &database.schema;
    let url = format!("{}?application_name={name}", url());
    let store = PostgresStore::open(database.options(&url)).await.expect("the server is up");
    store.enqueue_jobs(vec![make::job("q", "one", "{}"), make::job("q", "two", "{}")]).await.expect("ids");
    let claimed = store.claim_jobs(&make::claim("q", "a", 10)).await.expect("jobs");
    let tickets: Vec<JobTicket> = claimed.iter().rev().map(|job| job.ticket).collect();
    assert_eq!(tickets.len(), 2);
    let (holder, other) = (database.client().await, database.client().await);
    let second_is_free = async || {
        let waiting = "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
        while other.query(waiting, &[name]).await.expect("an answer").is_empty() {
            tokio::task::yield_now().await;
        }
        let second = other.execute("SELECT FROM lane WHERE key = 'two' FOR UPDATE NOWAIT", &[]).await;
        holder.batch_execute("COMMIT").await.expect("the lock is given back");
        second.expect("the second lane is free");
    };
    let lock_first = "BEGIN; SELECT FROM lane WHERE key = 'one' FOR UPDATE";
    holder.batch_execute(lock_first).await.expect("a lock");
    let (extended, ()) = tokio::join!(store.extend_jobs(&tickets, make::ms(5_000)), second_is_free());
    assert_eq!(extended.expect("an answer"), []);
    holder.batch_execute(lock_first).await.expect("a lock");
    let (refused, ()) = tokio::join!(store.complete_jobs(&tickets), second_is_free());
    assert_eq!(refused.expect("an answer"), []);
}
