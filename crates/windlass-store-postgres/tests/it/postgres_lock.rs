//! What somebody else has locked: a claim answers at once, a write waits and then says busy.

use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::error::StoreError;
use windlass_core::range::RangeClaim;
use windlass_core::store::{Cursors, Door, Jobs, Leases, Ranges};
use windlass_testkit::make;

use crate::database::Database;

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

/// One extends the lanes that the other completes, over and over, in opposite orders.
#[tokio::test]
async fn extending_and_completing_the_same_lanes_does_not_deadlock() {
    let database = Database::new();
    let store = database.open().await;
    let client = database.client().await;
    for _ in 0..20 {
        let jobs = (0..50).map(|lane| make::job("q", &format!("k{lane}"), "{}")).collect();
        store.enqueue_jobs(jobs).await.expect("ids");
        let claimed = store.claim_jobs(&make::claim("q", "a", 50)).await.expect("jobs");
        let tickets: Vec<_> = claimed.iter().map(|job| job.ticket).collect();
        let reversed: Vec<_> = tickets.iter().rev().copied().collect();
        let (extended, refused) =
            tokio::join!(store.extend_jobs(&reversed, make::ms(5_000)), store.complete_jobs(&tickets));
        extended.expect("an answer");
        assert_eq!(refused.expect("an answer"), []);
    }
    let row =
        client.query_one("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()", &[]);
    assert_eq!(row.await.expect("an answer").get::<_, i64>(0), 0);
}
