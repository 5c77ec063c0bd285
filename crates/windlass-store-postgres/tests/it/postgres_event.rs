//! The two ways into the event table: COPY for what is new, a merge for the rest.

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::event::LogEvent;
use windlass_core::store::{Door, Events};
use windlass_testkit::make;

use crate::database::Database;

/// Enough for COPY, spread over blocks of a hundred logs.
fn logs(blocks: std::ops::Range<u64>, fork: u8) -> Vec<LogEvent> {
    blocks.flat_map(|block| (0..100).map(move |index| make::event(1, block, index, fork))).collect()
}

async fn insert(store: &impl Door, events: Vec<LogEvent>) -> Result<Written, StoreError> {
    Ok(store.commit(Commit::of(vec![Write::Events(events)])).await?.remove(0))
}

#[tokio::test]
async fn ten_thousand_logs_read_back_as_they_were() {
    let database = Database::new();
    let store = database.open().await;
    let events = logs(0..100, 1);
    let mut shuffled = events.clone();
    shuffled.reverse();
    assert_eq!(insert(&store, shuffled).await.expect("written"), Written::Rows(10_000));
    assert_eq!(store.events(make::chain(1), (0, 0), 20_000).await.expect("logs"), events);
    assert_eq!(store.events(make::chain(1), (99, 98), 20_000).await.expect("logs"), events[9_998..]);
}

#[tokio::test]
async fn logs_that_are_there_are_ignored_and_the_others_stored() {
    let database = Database::new();
    let store = database.open().await;
    assert_eq!(insert(&store, logs(10..20, 1)).await.expect("written"), Written::Rows(1_000));
    assert_eq!(insert(&store, logs(5..25, 1)).await.expect("written"), Written::Rows(1_000));
    assert_eq!(insert(&store, logs(5..25, 1)).await.expect("written"), Written::Rows(0));
    assert_eq!(store.count_events(make::chain(1)).await.expect("a count"), 2_000);
}

#[tokio::test]
async fn repetitions_within_a_batch_are_ignored() {
    let database = Database::new();
    let store = database.open().await;
    let twice = [logs(0..10, 1), logs(0..10, 1)].concat();
    assert_eq!(insert(&store, twice).await.expect("written"), Written::Rows(1_000));
    let forked = [logs(10..20, 1), logs(19..20, 2)].concat();
    let refused = insert(&store, forked).await.expect_err("a contradiction");
    assert!(matches!(refused, StoreError::EventConflict { chain: 1, count: 100 }), "{refused:?}");
    assert_eq!(store.count_events(make::chain(1)).await.expect("a count"), 1_000);
}

#[tokio::test]
async fn another_fork_is_refused_whole() {
    let database = Database::new();
    let store = database.open().await;
    insert(&store, logs(10..11, 1)).await.expect("written");
    let refused = insert(&store, logs(5..15, 2)).await.expect_err("a contradiction");
    assert!(matches!(refused, StoreError::EventConflict { chain: 1, count: 100 }), "{refused:?}");
    assert_eq!(store.count_events(make::chain(1)).await.expect("a count"), 100);
}

#[tokio::test]
async fn a_refusal_names_the_lowest_chain_that_is_contradicted_and_counts_all() {
    let database = Database::new();
    let store = database.open().await;
    let stored = vec![make::event(3, 5, 0, 1), make::event(3, 5, 1, 1), make::event(9, 5, 0, 1)];
    insert(&store, stored).await.expect("written");
    let new = make::event(1, 5, 0, 2);
    let fork = vec![new, make::event(9, 5, 0, 2), make::event(3, 5, 0, 2), make::event(3, 5, 1, 2)];
    let refused = insert(&store, fork).await.expect_err("a contradiction");
    assert!(matches!(refused, StoreError::EventConflict { chain: 3, count: 3 }), "{refused:?}");
    assert_eq!(store.count_events(make::chain(1)).await.expect("a count"), 0);
}

/// Both look, both see nothing, both copy: one waits for the other and merges.
#[tokio::test]
async fn two_that_copy_the_same_logs_at_once_store_them_once() {
    let database = Database::new();
    let store = database.open().await;
    let rival = database.client().await;
    let index = 50_i64;
    rival.batch_execute("BEGIN").await.expect("a transaction");
    let event = make::event(1, 5, 50, 1);
    rival
        .execute(
            "INSERT INTO event VALUES (1, 5, $1, $2, 0, $2, $3, '', '')",
            &[&index, &event.block.hash.as_slice(), &event.address.as_slice()],
        )
        .await
        .expect("written");
    let finish = async {
        let waiting = "SELECT FROM pg_locks JOIN pg_class ON relation = pg_class.oid
                       JOIN pg_stat_activity USING (pid)
                       WHERE relnamespace = $1::TEXT::REGNAMESPACE AND relname = 'event' AND query LIKE 'COPY%'
                           AND wait_event_type = 'Lock'";
        let watcher = database.client().await;
        while watcher.query(waiting, &[&database.schema]).await.expect("an answer").is_empty() {
            tokio::task::yield_now().await;
        }
        rival.batch_execute("COMMIT").await.expect("committed");
    };
    let (written, ()) = tokio::join!(insert(&store, logs(0..10, 1)), finish);
    assert_eq!(written.expect("written"), Written::Rows(999));
    assert_eq!(store.count_events(make::chain(1)).await.expect("a count"), 1_000);
}

#[tokio::test]
async fn a_block_of_another_fork_is_refused_whole() {
    let database = Database::new();
    let store = database.open().await;
    let remember = |numbers: std::ops::Range<u64>, fork| {
        let headers = numbers.map(|number| make::header(number, fork)).collect();
        store.commit(Commit::of(vec![Write::Blocks { chain: make::chain(1), headers }]))
    };
    assert_eq!(remember(0..3, 1).await.expect("written"), [Written::Rows(3)]);
    assert_eq!(remember(1..5, 1).await.expect("written"), [Written::Rows(2)]);
    let refused = remember(4..7, 2).await.expect_err("a contradiction");
    assert!(matches!(refused, StoreError::EventConflict { chain: 1, count: 1 }), "{refused:?}");
    assert_eq!(store.blocks(make::chain(1), 0, 10).await.expect("headers").len(), 5);
}
