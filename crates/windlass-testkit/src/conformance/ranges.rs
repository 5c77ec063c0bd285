//! Block ranges: the cursor moves and the job exists, or neither.

use std::sync::Arc;

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::ClaimedJob;
use windlass_core::lease::Epoch;
use windlass_core::range::{BlockRange, RangeClaim};
use windlass_core::store::Store;

use super::support::{Well, claim, list, refused, tickets, write};
use crate::harness::Harness;
use crate::make::{self, TTL_MS, cursor, cursor_name, event, ms, owner, queue};

fn wish(who: &str, size: u64, max_block: u64) -> RangeClaim {
    RangeClaim {
        cursor: cursor_name("next"),
        queue: queue("ranges"),
        size,
        max_block,
        owner: owner(who),
        ttl: ms(TTL_MS),
    }
}

async fn seeded(harness: &dyn Harness, at: i64) -> Arc<dyn Store> {
    let store = harness.open().await;
    assert!(store.seed_cursor(&cursor_name("next"), cursor(at, "next")).await.well());
    store
}

async fn next_block(store: &dyn Store) -> i64 {
    store.cursor(&cursor_name("next")).await.well().expect("it was seeded").primary()
}

async fn claimed(store: &dyn Store, who: &str, size: u64, max_block: u64) -> Option<(u64, u64)> {
    let found = store.claim_range(&wish(who, size, max_block)).await.well();
    found.map(|(range, _)| (range.from, range.to))
}

pub async fn a_range_moves_the_cursor_and_is_held_from_the_start(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    let (range, job) = store.claim_range(&wish("w", 10, 130)).await.well().expect("blocks are left");
    assert_eq!(range, BlockRange { from: 100, to: 109 });
    assert_eq!(store.cursor(&cursor_name("next")).await.well(), Some(cursor(110, "next")));
    let ClaimedJob { ticket, queue, key, payload, attempt, lease_until } = job;
    assert_eq!((ticket.epoch, attempt, queue.as_str()), (Epoch(1), 1, "ranges"));
    assert_eq!(key.as_str(), range.lane_key());
    assert_eq!(serde_json::from_str::<BlockRange>(&payload).ok(), Some(range));
    assert_eq!(lease_until.as_ms(), harness.clock().now_ms() + TTL_MS as i64);
    let rows = list(&*store, "ranges", false).await;
    assert_eq!((rows.len(), &rows[0].owner, rows[0].attempts), (1, &Some(owner("w")), 1));
    assert!(claim(&*store, "ranges", "other").await.is_empty());
}

pub async fn ranges_are_adjacent_and_do_not_overlap(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    assert_eq!(claimed(&*store, "a", 10, 130).await, Some((100, 109)));
    assert_eq!(claimed(&*store, "b", 10, 130).await, Some((110, 119)));
    assert_eq!(next_block(&*store).await, 120);
}

pub async fn a_range_ends_at_the_last_block(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    assert_eq!(claimed(&*store, "w", 10, 105).await, Some((100, 105)));
    assert_eq!(next_block(&*store).await, 106);
}

pub async fn the_last_block_itself_is_claimed(harness: &dyn Harness) {
    let store = seeded(harness, 105).await;
    assert_eq!(claimed(&*store, "w", 10, 105).await, Some((105, 105)));
}

pub async fn nothing_is_claimed_above_the_last_block(harness: &dyn Harness) {
    let store = seeded(harness, 106).await;
    assert_eq!(claimed(&*store, "w", 10, 105).await, None);
    assert_eq!(claimed(&*store, "w", 0, 200).await, None, "a range has blocks");
    assert_eq!(next_block(&*store).await, 106);
    assert!(list(&*store, "ranges", false).await.is_empty());
}

pub async fn a_range_needs_a_cursor(harness: &dyn Harness) {
    let store = harness.open().await;
    let refusal = store.claim_range(&wish("w", 10, 100)).await;
    refused!(refusal, StoreError::CursorMissing(name) if name == cursor_name("next"));
    assert!(list(&*store, "ranges", false).await.is_empty());
}

pub async fn ranges_keep_out_of_the_queues_of_sinks(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    let reserved = RangeClaim { queue: queue("outbox/x"), ..wish("w", 10, 130) };
    refused!(store.claim_range(&reserved).await, StoreError::Invalid(_));
    assert_eq!(next_block(&*store).await, 100);
}

pub async fn a_range_whose_job_is_open_is_refused_whole(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    assert_eq!(claimed(&*store, "w", 10, 130).await, Some((100, 109)));
    let stored = cursor(110, "next");
    let back = Write::ResetCursor { name: cursor_name("next"), expected: stored, to: cursor(100, "x") };
    write(&*store, vec![back]).await;
    refused!(store.claim_range(&wish("w", 10, 130)).await, StoreError::Duplicate { .. });
    assert_eq!(store.cursor(&cursor_name("next")).await.well(), Some(cursor(100, "x")));
    assert_eq!(list(&*store, "ranges", false).await.len(), 1);
}

pub async fn a_finished_range_can_be_claimed_once_more(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    let (_, job) = store.claim_range(&wish("w", 10, 130)).await.well().expect("blocks are left");
    assert_eq!(store.complete_jobs(&[job.ticket]).await.well(), []);
    let back = Write::ResetCursor {
        name: cursor_name("next"),
        expected: cursor(110, "next"),
        to: cursor(100, "reorg"),
    };
    write(&*store, vec![back]).await;
    let (_, again) = store.claim_range(&wish("w", 10, 130)).await.well().expect("blocks are left");
    assert_ne!(again.ticket.job.lane, job.ticket.job.lane, "who stored it before is fenced");
    assert_eq!(store.complete_jobs(&[job.ticket]).await.well(), [job.ticket]);
    assert_eq!((again.ticket.job.seq, again.ticket.epoch, again.attempt), (1, Epoch(1), 1));
}

pub async fn an_abandoned_range_goes_to_another_worker_as_its_second_attempt(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    let (_, first) = store.claim_range(&wish("a", 10, 130)).await.well().expect("blocks are left");
    harness.clock().advance_ms(TTL_MS as i64);
    let second = claim(&*store, "ranges", "b").await;
    assert_eq!((second.len(), second[0].attempt, &second[0].payload), (1, 2, &first.payload));
    assert_eq!(store.complete_jobs(&[first.ticket]).await.well(), [first.ticket]);
    assert_eq!(store.complete_jobs(&tickets(&second)).await.well(), []);
}

pub async fn a_ranges_logs_and_its_end_are_one_commit(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    let (_, job) = store.claim_range(&wish("a", 10, 130)).await.well().expect("blocks are left");
    let stored = |index| {
        let writes = vec![Write::Events(vec![event(1, 100, index, 1)]), Write::CompleteJob(job.ticket)];
        Commit::of(writes).under_job(job.ticket)
    };
    store.commit(stored(0)).await.well();
    refused!(store.commit(stored(1)).await, StoreError::Fenced { .. });
    assert_eq!(store.count_events(make::chain(1)).await.well(), 1);
    assert!(list(&*store, "ranges", false).await.is_empty());
}

/// Claims on one database at the same time; a busy one answers "nothing now".
async fn race(harness: &dyn Harness, workers: usize, size: u64, max_block: u64) -> Vec<(u64, u64)> {
    let mut tasks = Vec::new();
    for worker in 0..workers {
        let store = harness.open().await;
        tasks.push(tokio::spawn(async move {
            let mut found = Vec::new();
            while next_block(&*store).await <= max_block as i64 {
                found.extend(claimed(&*store, &format!("w{worker}"), size, max_block).await);
                tokio::task::yield_now().await;
            }
            found
        }));
    }
    let mut ranges = Vec::new();
    for task in tasks {
        ranges.extend(task.await.expect("a claimant does not panic"));
    }
    ranges.sort_unstable();
    ranges
}

pub async fn many_claimants_get_disjoint_ranges_and_leave_no_hole(harness: &dyn Harness) {
    let store = seeded(harness, 100).await;
    let ranges = race(harness, 4, 7, 999).await;
    assert_eq!(ranges.first().map(|range| range.0), Some(100));
    assert_eq!(ranges.last().map(|range| range.1), Some(999));
    assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{ranges:?}");
    assert_eq!(list(&*store, "ranges", false).await.len(), ranges.len());
}

pub async fn a_single_range_has_one_winner(harness: &dyn Harness) {
    seeded(harness, 78_600_000).await;
    assert_eq!(race(harness, 4, 10, 78_600_009).await, [(78_600_000, 78_600_009)]);
}
