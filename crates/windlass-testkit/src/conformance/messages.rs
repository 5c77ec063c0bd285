//! The outbox as it is read by whoever is not a sink.

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::outbox::{DeliveryFailure, SinkStart};
use windlass_core::retry::Verdict;
use windlass_core::store::Store;

use super::support::{Well, publish, put, refused};
use crate::harness::Harness;
use crate::make::{delivery, job, message, partition, sink};

/// The numbers of a partition's messages behind one.
async fn behind(store: &dyn Store, name: &str, after: i64, limit: u32) -> Vec<i64> {
    let found = store.messages(&partition(name), after, limit).await.well();
    found.iter().map(|message| message.seq).collect()
}

pub async fn messages_are_read_without_being_a_sink(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(behind(&*store, "p", 0, 10).await, [0; 0]);
    let published: Vec<_> = (1..=5).map(|number| message("p", &number.to_string())).collect();
    publish(&*store, published.clone()).await;
    publish(&*store, vec![message("other", "x")]).await;
    let found = store.messages(&partition("p"), 1, 3).await.well();
    for (place, message) in found.iter().enumerate() {
        let written = &published[place + 1];
        assert_eq!(message.seq, place as i64 + 2);
        assert_eq!(message.created_at, store.now().await.well());
        assert_eq!(
            (&message.idempotency_key, &message.topic, &message.payload),
            (&written.idempotency_key, &written.topic, &written.payload)
        );
    }
    assert_eq!(found.len(), 3);
    assert_eq!(behind(&*store, "p", -7, 100).await, [1, 2, 3, 4, 5]);
    assert_eq!(behind(&*store, "p", 5, 100).await, [0; 0]);
    assert_eq!(behind(&*store, "p", 0, 0).await, [0; 0]);
    assert_eq!(behind(&*store, "other", 0, 100).await, [1]);
    assert_eq!(behind(&*store, "unknown", 0, 100).await, [0; 0]);
}

pub async fn messages_of_a_refused_commit_are_not_read(harness: &dyn Harness) {
    let store = harness.open().await;
    let commit = Commit::of(vec![
        Write::Publish(vec![message("p", "1")]),
        put("k", "1"),
        Write::Enqueue(vec![job("outbox/s", "p", "{}")]),
    ]);
    refused!(store.commit(commit).await, StoreError::Invalid(_));
    assert_eq!(behind(&*store, "p", 0, 10).await, [0; 0]);
}

pub async fn forgotten_messages_are_not_read(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(&*store, (1..=4).map(|number| message("p", &number.to_string())).collect()).await;
    let run = &store.claim_messages(&delivery("s", "w", 2)).await.well()[0];
    store.mark_delivered(run.hold, 2).await.well();
    assert_eq!(behind(&*store, "p", 0, 10).await, [1, 2, 3, 4]);
    assert_eq!(store.prune_outbox(10).await.well(), 2);
    assert_eq!(behind(&*store, "p", 0, 10).await, [3, 4]);
}

pub async fn what_is_for_one_sink_alone_is_not_read_by_others(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(&*store, vec![message("p", "1")]).await;
    let run = &store.claim_messages(&delivery("s", "w", 1)).await.well()[0];
    let failure = DeliveryFailure { hold: run.hold, error: "x".to_owned(), verdict: Verdict::Dead };
    store.fail_delivery(&failure).await.well();
    let id = store.list_dead_messages(None, 1).await.well()[0].id;
    assert_eq!(store.requeue_dead_messages(&[id]).await.well(), 1);
    assert_eq!(publish(&*store, vec![message("p", "3")]).await, [3]);
    assert_eq!(behind(&*store, "p", 0, 10).await, [1, 3]);
    assert_eq!(behind(&*store, "p", 1, 1).await, [3], "it takes no room either");
}
