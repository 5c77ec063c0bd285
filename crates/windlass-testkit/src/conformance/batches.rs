//! Ten thousand at once.

use std::collections::BTreeSet;

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::job::{JobClaim, MAX_CLAIMED_JOBS, NewJob};
use windlass_core::outbox::{MAX_CLAIMED_MESSAGES, MessageClaim, SinkStart};
use windlass_core::store::MAX_COUNTED_EVENTS;

use super::support::{Well, publish, tickets, write};
use crate::harness::Harness;
use crate::make::{self, chain, delivery, event, header, job, message, page, row, rows, sink, table};

const MANY: u64 = 10_000;

pub async fn ten_thousand_lanes_are_filled_claimed_and_finished(harness: &dyn Harness) {
    let store = harness.open().await;
    let jobs: Vec<NewJob> =
        (0..MANY + 5).map(|number| job("q", &format!("{number:05}"), &number.to_string())).collect();
    let ids = store.enqueue_jobs(jobs).await.well();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len() as u64, MANY + 5);
    let claimed = store.claim_jobs(&make::claim("q", "w", u32::MAX)).await.well();
    assert_eq!(claimed.len(), MAX_CLAIMED_JOBS as usize, "a claim is capped");
    assert_eq!(store.extend_jobs(&tickets(&claimed), make::ms(5_000)).await.well(), []);
    assert_eq!(store.complete_jobs(&tickets(&claimed)).await.well(), []);
    assert_eq!(store.count_jobs().await.well()[0].open, 5);
    assert_eq!(store.claim_jobs(&make::claim("q", "w", u32::MAX)).await.well().len(), 5);
}

pub async fn ten_thousand_jobs_of_one_lane_keep_their_order(harness: &dyn Harness) {
    let store = harness.open().await;
    store.enqueue_jobs((0..MANY).map(|number| job("q", "a", &number.to_string())).collect()).await.well();
    let all = JobClaim { max_per_lane: MAX_CLAIMED_JOBS, ..make::claim("q", "w", MAX_CLAIMED_JOBS) };
    let claimed = store.claim_jobs(&all).await.well();
    let expected: Vec<String> = (0..MANY).map(|number| number.to_string()).collect();
    assert!(claimed.iter().map(|job| &job.payload).eq(&expected));
    let (head, rest) = claimed.split_at(9_000);
    assert_eq!(store.complete_jobs(&tickets(head)).await.well(), []);
    store.release_jobs(&tickets(rest)).await.well();
    assert_eq!(store.claim_jobs(&all).await.well().len(), 1_000);
}

pub async fn ten_thousand_logs_and_headers_are_one_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    let logs: Vec<_> = (0..MANY).map(|number| event(1, number / 4, (number % 4) as u32, 1)).collect();
    let headers: Vec<_> = (0..MANY).map(|number| header(number, 1)).collect();
    let commit = || {
        Commit::of(vec![
            Write::Events(logs.clone()),
            Write::Blocks { chain: chain(1), headers: headers.clone() },
        ])
    };
    assert_eq!(store.commit(commit()).await.well(), [Written::Rows(MANY), Written::Rows(MANY)]);
    assert_eq!(store.commit(commit()).await.well(), [Written::Rows(0), Written::Rows(0)]);
    assert_eq!(store.count_events(chain(1)).await.well(), MANY);
    let more = Write::Events(vec![event(1, MANY, 0, 1)]);
    assert_eq!(write(&*store, vec![more]).await, [Written::Rows(1)]);
    assert_eq!(store.count_events(chain(1)).await.well(), MAX_COUNTED_EVENTS, "no further than that");
    write(&*store, vec![Write::Retract { chain: chain(1), from_block: MANY }]).await;
    assert_eq!(store.events(chain(1), (0, 0), u32::MAX).await.well(), logs);
    assert_eq!(store.blocks(chain(1), 0, u32::MAX).await.well(), headers);
    let retract = Write::Retract { chain: chain(1), from_block: 100 };
    assert_eq!(write(&*store, vec![retract]).await, [Written::Rows(MANY - 400)]);
}

pub async fn ten_thousand_rows_are_one_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(std::slice::from_ref(&spec)).await.well();
    let all: Vec<_> = (0..MANY).map(|number| row(number / 4, (number % 4) as u32, 1)).collect();
    let commit = || Commit::of(vec![Write::Rows(rows(&spec, all.clone()))]);
    assert_eq!(store.commit(commit()).await.well(), [Written::Rows(MANY)]);
    assert_eq!(store.commit(commit()).await.well(), [Written::Rows(0)]);
    assert_eq!(store.rows(&page("t", u32::MAX)).await.well(), all);
    let retract = Write::Retract { chain: chain(1), from_block: 100 };
    assert_eq!(write(&*store, vec![retract]).await, [Written::Rows(MANY - 400)]);
    assert_eq!(store.count_rows(&spec.name, &[]).await.well(), 400);
}

pub async fn ten_thousand_messages_go_out_in_order(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    let messages = (0..MANY).map(|number| message(&format!("p{}", number % 4), &number.to_string()));
    let numbers = publish(&*store, messages.collect()).await;
    assert!(numbers.iter().zip(0..).all(|(number, place)| *number == place / 4 + 1));
    let all = MessageClaim { max_messages: u32::MAX, ..delivery("s", "w", MAX_CLAIMED_MESSAGES) };
    let runs = store.claim_messages(&all).await.well();
    assert_eq!(runs.iter().map(|run| run.messages.len()).sum::<usize>(), MANY as usize);
    for run in runs {
        assert!(run.messages.iter().zip(1..).all(|(message, seq)| message.seq == seq));
        store.mark_delivered(run.hold, run.messages.len() as i64).await.well();
    }
    assert_eq!(store.prune_outbox(u32::MAX).await.well(), MANY);
}
