//! The outbox, from the side of writing.

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::MAX_PAYLOAD_BYTES;
use windlass_core::outbox::{Message, NewMessage, SinkStart};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::support::{Well, publish, refused};
use crate::harness::Harness;
use crate::make::{self, cursor, cursor_name, delivery, message, sink};

/// The idempotency keys that a sink gets, partition by partition.
async fn received(store: &dyn Store, sink: &str) -> Vec<String> {
    let runs = store.claim_messages(&delivery(sink, "reader", 1_000)).await.well();
    runs.into_iter().flat_map(|run| run.messages).map(|message| message.idempotency_key).collect()
}

pub async fn messages_are_numbered_without_gaps_per_partition(harness: &dyn Harness) {
    let store = harness.open().await;
    let first = vec![message("p", "1"), message("r", "2"), message("p", "3")];
    assert_eq!(publish(&*store, first).await, [1, 1, 2]);
    assert_eq!(publish(&*store, vec![message("r", "4"), message("p", "5")]).await, [2, 3]);
    assert_eq!(publish(&*store, Vec::new()).await, [] as [i64; 0]);
}

pub async fn a_commit_rolled_back_leaves_no_gap(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(&*store, vec![message("p", "1")]).await;
    let broken =
        Write::ResetCursor { name: cursor_name("missing"), expected: cursor(1, "a"), to: cursor(1, "a") };
    let commit = Commit::of(vec![Write::Publish(vec![message("p", "lost"), message("new", "lost")]), broken]);
    refused!(store.commit(commit).await, StoreError::CursorMissing(_));
    assert_eq!(publish(&*store, vec![message("p", "2"), message("new", "3")]).await, [2, 1]);
    let mut keys = received(&*store, "s").await;
    keys.sort_unstable();
    assert_eq!(keys, ["1", "2", "3"]);
}

pub async fn a_message_reaches_every_sink_as_it_was_written(harness: &dyn Harness) {
    let store = harness.open().await;
    for name in ["nats", "webhook"] {
        store.register_sink(&sink(name), SinkStart::Beginning).await.well();
    }
    let new = NewMessage {
        partition: make::partition("wallet:0xAbC"),
        idempotency_key: "payout-1'é".to_owned(),
        topic: "payout.confirmed".to_owned(),
        payload: "{ \"amount\":\"1e3\" }".to_owned(),
    };
    publish(&*store, vec![new.clone()]).await;
    for name in ["nats", "webhook"] {
        let runs = store.claim_messages(&delivery(name, "w", 10)).await.well();
        assert_eq!((runs.len(), &runs[0].partition, runs[0].attempt), (1, &new.partition, 1));
        let expected = Message {
            seq: 1,
            idempotency_key: new.idempotency_key.clone(),
            topic: new.topic.clone(),
            payload: new.payload.clone(),
            created_at: Timestamp::from_ms(harness.clock().now_ms()),
        };
        assert_eq!(runs[0].messages, [expected]);
    }
}

pub async fn a_new_sink_begins_where_it_asks(harness: &dyn Harness) {
    let store = harness.open().await;
    publish(&*store, vec![message("p", "old"), message("q", "old too")]).await;
    assert!(store.register_sink(&sink("all"), SinkStart::Beginning).await.well());
    assert!(store.register_sink(&sink("new"), SinkStart::Now).await.well());
    publish(&*store, vec![message("p", "fresh"), message("z", "fresh too")]).await;
    assert_eq!(received(&*store, "all").await, ["old", "fresh", "old too", "fresh too"]);
    assert_eq!(received(&*store, "new").await, ["fresh", "fresh too"]);
}

pub async fn a_known_sink_keeps_its_position(harness: &dyn Harness) {
    let store = harness.open().await;
    publish(&*store, vec![message("p", "1"), message("p", "2")]).await;
    assert!(store.register_sink(&sink("s"), SinkStart::Beginning).await.well());
    let runs = store.claim_messages(&delivery("s", "w", 1)).await.well();
    store.mark_delivered(runs[0].hold, 1).await.well();
    for start in [SinkStart::Beginning, SinkStart::Now] {
        assert!(!store.register_sink(&sink("s"), start).await.well());
    }
    assert_eq!(received(&*store, "s").await, ["2"]);
}

pub async fn messages_have_a_limit(harness: &dyn Harness) {
    let store = harness.open().await;
    let sized = |bytes: usize| NewMessage { payload: "x".repeat(bytes), ..message("p", "big") };
    let commit = |bytes| Commit::of(vec![Write::Publish(vec![message("p", "1"), sized(bytes)])]);
    refused!(store.commit(commit(MAX_PAYLOAD_BYTES + 1)).await, StoreError::Invalid(_));
    let unprintable = NewMessage { payload: "a\0b".to_owned(), ..message("p", "nul") };
    refused!(store.commit(Commit::of(vec![Write::Publish(vec![unprintable])])).await, StoreError::Invalid(_));
    assert_eq!(publish(&*store, vec![sized(MAX_PAYLOAD_BYTES)]).await, [1]);
}

pub async fn a_sink_may_be_called_like_its_own_queue(harness: &dyn Harness) {
    let store = harness.open().await;
    for name in ["s", "outbox/s"] {
        store.register_sink(&sink(name), SinkStart::Beginning).await.well();
    }
    publish(&*store, vec![message("p", "1")]).await;
    let runs = store.claim_messages(&delivery("outbox/s", "w", 10)).await.well();
    let failure = windlass_core::outbox::DeliveryFailure {
        hold: runs[0].hold,
        error: "x".to_owned(),
        verdict: windlass_core::retry::Verdict::Dead,
    };
    store.fail_delivery(&failure).await.well();
    let dead = store.list_dead_messages(None, 10).await.well();
    assert_eq!((dead.len(), dead[0].sink.as_str()), (1, "outbox/s"));
    assert!(store.list_dead_messages(Some(&sink("s")), 10).await.well().is_empty());
    assert_eq!(store.requeue_dead_messages(&[dead[0].id]).await.well(), 1);
    assert_eq!(received(&*store, "outbox/s").await, ["1"]);
    assert_eq!(received(&*store, "s").await, ["1"], "the other sink gets it once");
}
