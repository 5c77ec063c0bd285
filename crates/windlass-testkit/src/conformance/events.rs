//! Logs, headers and state: stored once, read back exactly, taken back whole.

use windlass_core::chain::Address;
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::store::MAX_EVENT_PAGE;

use super::support::{Well, put, refused, state, write};
use crate::harness::Harness;
use crate::make::{chain, event, header, state_key};

fn logs(chain: u64, blocks: std::ops::Range<u64>, per_block: u32) -> Vec<LogEvent> {
    blocks.flat_map(|number| (0..per_block).map(move |index| event(chain, number, index, 1))).collect()
}

pub async fn no_logs_are_no_rows(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(write(&*store, vec![Write::Events(Vec::new())]).await, [Written::Rows(0)]);
    assert_eq!(store.count_events(chain(1)).await.well(), 0);
}

pub async fn logs_are_stored_once_however_often_they_come(harness: &dyn Harness) {
    let store = harness.open().await;
    let batch = logs(1, 5..6, 2);
    assert_eq!(write(&*store, vec![Write::Events(batch.clone())]).await, [Written::Rows(2)]);
    assert_eq!(write(&*store, vec![Write::Events(batch.clone())]).await, [Written::Rows(0)]);
    let more = logs(1, 5..6, 3);
    assert_eq!(write(&*store, vec![Write::Events(more)]).await, [Written::Rows(1)]);
    let twice = vec![event(1, 6, 0, 1), event(1, 6, 0, 1)];
    assert_eq!(write(&*store, vec![Write::Events(twice)]).await, [Written::Rows(1)]);
    assert_eq!(store.count_events(chain(1)).await.well(), 4);
}

pub async fn stored_logs_are_not_overwritten(harness: &dyn Harness) {
    let store = harness.open().await;
    let first = event(1, 5, 0, 1);
    let other = LogEvent { data: vec![9, 9].into(), ..first.clone() };
    write(&*store, vec![Write::Events(vec![first.clone()])]).await;
    assert_eq!(write(&*store, vec![Write::Events(vec![other])]).await, [Written::Rows(0)]);
    assert_eq!(store.events(chain(1), (0, 0), 10).await.well(), [first]);
}

pub async fn logs_read_back_exactly_and_in_order(harness: &dyn Harness) {
    let store = harness.open().await;
    let mut batch = logs(1, 5..9, 5);
    batch.reverse();
    write(&*store, vec![Write::Events(batch.clone())]).await;
    batch.reverse();
    assert_eq!(store.events(chain(1), (0, 0), MAX_EVENT_PAGE).await.well(), batch);
}

pub async fn logs_are_paged_from_a_place_on(harness: &dyn Harness) {
    let store = harness.open().await;
    let batch = logs(1, 5..8, 3);
    write(&*store, vec![Write::Events(batch.clone())]).await;
    assert_eq!(store.events(chain(1), (6, 1), 3).await.well(), batch[4..7]);
    assert_eq!(store.events(chain(1), (5, 3), 1).await.well(), batch[3..4], "a place between two logs");
    assert!(store.events(chain(1), (8, 0), 3).await.well().is_empty());
}

pub async fn chains_are_kept_apart(harness: &dyn Harness) {
    let store = harness.open().await;
    write(&*store, vec![Write::Events(logs(1, 5..7, 2)), Write::Events(logs(2, 6..7, 1))]).await;
    assert_eq!(store.events(chain(2), (0, 0), 10).await.well(), logs(2, 6..7, 1));
    assert_eq!(store.count_events(chain(1)).await.well(), 4);
    write(&*store, vec![Write::Retract { chain: chain(1), from_block: 0 }]).await;
    assert_eq!(store.count_events(chain(2)).await.well(), 1);
    assert_eq!(store.count_events(chain(3)).await.well(), 0);
}

pub async fn a_log_of_another_fork_refuses_the_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    write(&*store, vec![Write::Events(logs(7, 5..6, 3))]).await;
    let fork = vec![event(7, 4, 0, 1), event(7, 5, 0, 2), event(7, 5, 1, 2), event(7, 5, 2, 1)];
    let refusal = store.commit(Commit::of(vec![put("seen", "1"), Write::Events(fork)])).await;
    refused!(refusal, StoreError::EventConflict { chain: 7, count: 2 });
    assert_eq!(store.events(chain(7), (0, 0), 10).await.well(), logs(7, 5..6, 3));
    assert_eq!(state(&*store, "seen").await, None);
}

pub async fn headers_are_remembered_once_and_in_order(harness: &dyn Harness) {
    let store = harness.open().await;
    let headers: Vec<_> = (5..9).map(|number| header(number, 1)).collect();
    let remember = |headers: &[_]| Write::Blocks { chain: chain(1), headers: headers.to_vec() };
    assert_eq!(write(&*store, vec![remember(&headers[..3])]).await, [Written::Rows(3)]);
    assert_eq!(write(&*store, vec![remember(&headers)]).await, [Written::Rows(1)]);
    assert_eq!(store.blocks(chain(1), 0, 100).await.well(), headers);
    assert_eq!(store.blocks(chain(1), 6, 2).await.well(), headers[1..3]);
    assert!(store.blocks(chain(2), 0, 100).await.well().is_empty());
}

pub async fn a_header_of_another_fork_refuses_the_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    write(&*store, vec![Write::Blocks { chain: chain(1), headers: vec![header(5, 1)] }]).await;
    let fork = Write::Blocks { chain: chain(1), headers: vec![header(4, 2), header(5, 2)] };
    refused!(store.commit(Commit::of(vec![fork])).await, StoreError::EventConflict { chain: 1, count: 1 });
    assert_eq!(store.blocks(chain(1), 0, 10).await.well(), [header(5, 1)]);
}

pub async fn a_reorg_takes_back_and_adds_in_one_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    let headers = |fork| (5..8).map(|number| header(number, fork)).collect::<Vec<_>>();
    write(
        &*store,
        vec![Write::Blocks { chain: chain(1), headers: headers(1) }, Write::Events(logs(1, 5..8, 2))],
    )
    .await;
    let written = write(
        &*store,
        vec![
            Write::Retract { chain: chain(1), from_block: 6 },
            Write::Blocks { chain: chain(1), headers: headers(2)[1..].to_vec() },
            Write::Events(vec![event(1, 6, 0, 2)]),
        ],
    )
    .await;
    assert_eq!(written, [Written::Rows(4), Written::Rows(2), Written::Rows(1)]);
    let mut expected = logs(1, 5..6, 2);
    expected.push(event(1, 6, 0, 2));
    assert_eq!(store.events(chain(1), (0, 0), 10).await.well(), expected);
    let stored = store.blocks(chain(1), 0, 10).await.well();
    assert_eq!(stored, [headers(1)[0], headers(2)[1], headers(2)[2]]);
}

pub async fn state_is_kept_replaced_and_forgotten(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(state(&*store, "k").await, None);
    write(&*store, vec![put("k", "{\"a\": 1.0 }"), put("other", "2")]).await;
    assert_eq!(state(&*store, "k").await.as_deref(), Some("{\"a\": 1.0 }"), "the text is not rewritten");
    write(&*store, vec![put("k", "3")]).await;
    assert_eq!(state(&*store, "k").await.as_deref(), Some("3"));
    let forget = || Write::PutState { key: state_key("k"), value: None };
    assert_eq!(write(&*store, vec![forget(), forget()]).await, [Written::Done, Written::Done]);
    assert_eq!(state(&*store, "k").await, None);
    assert_eq!(state(&*store, "other").await.as_deref(), Some("2"));
}

pub async fn a_contradiction_names_the_chain_it_is_on(harness: &dyn Harness) {
    let store = harness.open().await;
    write(&*store, vec![Write::Events(vec![event(1, 5, 0, 0), event(2, 5, 0, 0)])]).await;
    let mixed = Write::Events(vec![event(1, 5, 0, 0), event(2, 5, 0, 1), event(3, 5, 0, 0)]);
    refused!(store.commit(Commit::of(vec![mixed])).await, StoreError::EventConflict { chain: 2, count: 1 });
}

pub async fn logs_of_some_contracts_are_taken_out_of_some_blocks(harness: &dyn Harness) {
    let store = harness.open().await;
    let other = Address::repeat_byte(7);
    let of_another = |event: LogEvent| LogEvent { address: other, log_index: event.log_index + 10, ..event };
    let mut all: Vec<LogEvent> = logs(1, 4..8, 2);
    all.extend(logs(1, 4..8, 1).into_iter().map(of_another));
    write(&*store, vec![Write::Events(all), Write::Events(logs(2, 4..8, 1))]).await;
    let erase = |from, to, contracts| Write::EraseEvents {
        chain: chain(1),
        blocks: BlockRange { from, to },
        contracts,
    };
    assert_eq!(write(&*store, vec![erase(5, 6, vec![other])]).await, [Written::Rows(2)]);
    assert_eq!(write(&*store, vec![erase(5, 6, vec![other])]).await, [Written::Rows(0)]);
    assert_eq!(write(&*store, vec![erase(5, 5, Vec::new())]).await, [Written::Rows(2)]);
    assert_eq!(write(&*store, vec![erase(u64::MAX, u64::MAX, Vec::new())]).await, [Written::Rows(0)]);
    let left: Vec<(u64, u32)> = store
        .events(chain(1), (0, 0), 100)
        .await
        .well()
        .iter()
        .map(|event| (event.block.number, event.log_index))
        .collect();
    assert_eq!(left, [(4, 0), (4, 1), (4, 10), (6, 0), (6, 1), (7, 0), (7, 1), (7, 10)]);
    assert_eq!(write(&*store, vec![erase(0, u64::MAX, Vec::new())]).await, [Written::Rows(8)]);
    assert_eq!(store.count_events(chain(2)).await.well(), 4, "another chain's");
}
