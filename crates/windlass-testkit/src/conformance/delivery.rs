//! The outbox, from the side of delivery.

use std::sync::Arc;

use windlass_core::error::StoreError;
use windlass_core::lease::Epoch;
use windlass_core::outbox::{ClaimedMessages, DeliveryFailure, DeliveryHold, MessageClaim, SinkStart};
use windlass_core::retry::Verdict;
use windlass_core::store::Store;

use super::support::{Well, publish, refused};
use crate::harness::Harness;
use crate::make::{TTL_MS, delivery, message, ms, sink};

async fn with_sinks(harness: &dyn Harness, names: &[&str]) -> Arc<dyn Store> {
    let store = harness.open().await;
    for name in names {
        store.register_sink(&sink(name), SinkStart::Beginning).await.well();
    }
    store
}

async fn claim(store: &dyn Store, name: &str, most: u32) -> Vec<ClaimedMessages> {
    store.claim_messages(&delivery(name, "w", most)).await.well()
}

fn keys(runs: &[ClaimedMessages]) -> Vec<&str> {
    runs.iter().flat_map(|run| &run.messages).map(|message| message.idempotency_key.as_str()).collect()
}

fn failure(hold: DeliveryHold, retry_ms: Option<u64>) -> DeliveryFailure {
    let verdict = retry_ms.map_or(Verdict::Dead, |delay_ms| Verdict::RetryAfter(ms(delay_ms)));
    DeliveryFailure { hold, error: "connection refused".to_owned(), verdict }
}

async fn waiting(store: &dyn Store) -> Vec<(String, u64, u64)> {
    let depth = store.outbox_depth().await.well();
    depth.into_iter().map(|sink| (sink.sink.to_string(), sink.waiting, sink.dead)).collect()
}

pub async fn a_partition_is_delivered_in_order_by_one_holder(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2"), message("p", "3")]).await;
    let first = claim(&*store, "s", 2).await;
    assert_eq!((keys(&first), first[0].hold.epoch, first[0].attempt), (vec!["1", "2"], Epoch(1), 1));
    assert_eq!(first[0].lease_until.as_ms(), harness.clock().now_ms() + TTL_MS as i64);
    assert!(claim(&*store, "s", 2).await.is_empty(), "the partition is held");
    store.mark_delivered(first[0].hold, 2).await.well();
    let second = claim(&*store, "s", 2).await;
    assert_eq!((keys(&second), second[0].hold.epoch), (vec!["3"], Epoch(2)));
}

pub async fn a_delivery_claim_is_bounded_in_all_and_per_partition(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    let all = [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2"), ("c", "c1")];
    publish(&*store, all.iter().map(|(partition, key)| message(partition, key)).collect()).await;
    let bounded = MessageClaim { max_per_partition: 2, ..delivery("s", "w", 3) };
    assert_eq!(keys(&store.claim_messages(&bounded).await.well()), ["a1", "a2", "b1"]);
    assert_eq!(keys(&store.claim_messages(&bounded).await.well()), ["c1"]);
    assert!(claim(&*store, "s", 0).await.is_empty());
}

pub async fn delivering_part_of_a_run_keeps_the_rest_held(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2"), message("p", "3")]).await;
    let run = &claim(&*store, "s", 3).await[0];
    store.mark_delivered(run.hold, 1).await.well();
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 2, 0)]);
    assert!(claim(&*store, "s", 3).await.is_empty());
    store.mark_delivered(run.hold, 3).await.well();
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 0, 0)]);
    refused!(store.mark_delivered(run.hold, 3).await, StoreError::Fenced { .. });
}

pub async fn a_position_outside_the_claim_is_refused(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2"), message("p", "3")]).await;
    let run = &claim(&*store, "s", 2).await[0];
    refused!(store.mark_delivered(run.hold, 3).await, StoreError::Invalid(_));
    store.mark_delivered(run.hold, 1).await.well();
    refused!(store.mark_delivered(run.hold, 0).await, StoreError::Invalid(_));
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 2, 0)]);
}

pub async fn a_zombies_delivery_is_fenced(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2")]).await;
    let old = claim(&*store, "s", 2).await[0].hold;
    harness.clock().advance_ms(TTL_MS as i64);
    let new = claim(&*store, "s", 2).await;
    assert_eq!((keys(&new), new[0].attempt), (vec!["1", "2"], 2));
    refused!(store.mark_delivered(old, 2).await, StoreError::Fenced { epoch: 1, .. });
    refused!(store.fail_delivery(&failure(old, Some(0))).await, StoreError::Fenced { .. });
    refused!(store.fail_delivery(&failure(old, None)).await, StoreError::Fenced { .. });
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 2, 0)]);
    store.mark_delivered(new[0].hold, 2).await.well();
}

pub async fn a_late_deliverer_is_heard_while_nobody_took_over(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("p", "1")]).await;
    let run = &claim(&*store, "s", 1).await[0];
    harness.clock().advance_ms(9 * TTL_MS as i64);
    store.mark_delivered(run.hold, 1).await.well();
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 0, 0)]);
}

pub async fn a_sink_that_is_down_holds_up_no_other(harness: &dyn Harness) {
    let store = with_sinks(harness, &["down", "up"]).await;
    publish(&*store, vec![message("p", "1"), message("r", "2")]).await;
    let down = claim(&*store, "down", 10).await;
    store.fail_delivery(&failure(down[0].hold, Some(500))).await.well();
    refused!(store.mark_delivered(down[0].hold, 1).await, StoreError::Fenced { .. });
    for run in claim(&*store, "up", 10).await {
        store.mark_delivered(run.hold, 1).await.well();
    }
    assert_eq!(waiting(&*store).await, [("down".to_owned(), 2, 0), ("up".to_owned(), 0, 0)]);
    harness.clock().advance_ms(499);
    assert!(claim(&*store, "down", 10).await.is_empty());
    harness.clock().advance_ms(1);
    let again = claim(&*store, "down", 10).await;
    assert_eq!((keys(&again), again[0].attempt), (vec!["1"], 2));
}

pub async fn a_message_given_up_steps_aside_with_its_reason(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s", "t"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2"), message("p", "3")]).await;
    harness.clock().advance_ms(5);
    let run = &claim(&*store, "s", 3).await[0];
    store.mark_delivered(run.hold, 1).await.well();
    store.fail_delivery(&failure(run.hold, None)).await.well();
    let dead = store.list_dead_messages(None, 10).await.well();
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].sink.as_str(), dead[0].partition.as_str()), ("s", "p"));
    assert_eq!((dead[0].id.lane, dead[0].id.seq), (run.hold.lane, 2));
    assert_eq!(dead[0].message, run.messages[1]);
    assert_eq!(
        (dead[0].reason.as_str(), dead[0].died_at.as_ms()),
        ("connection refused", harness.clock().now_ms())
    );
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 1, 1), ("t".to_owned(), 3, 0)]);
    assert_eq!(keys(&claim(&*store, "s", 3).await), ["3"]);
    assert!(store.list_dead_messages(Some(&sink("t")), 10).await.well().is_empty());
}

pub async fn a_partition_at_its_attempts_limit_gives_up_its_first_message(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2")]).await;
    let limited = MessageClaim { max_attempts: 1, ..delivery("s", "w", 10) };
    assert_eq!(keys(&store.claim_messages(&limited).await.well()), ["1", "2"]);
    harness.clock().advance_ms(TTL_MS as i64);
    assert!(store.claim_messages(&limited).await.well().is_empty());
    let dead = &store.list_dead_messages(None, 10).await.well()[0];
    assert_eq!((dead.message.seq, dead.attempts), (1, 1));
    assert_eq!(dead.reason, "given up after 1 attempts without an answer");
    let next = store.claim_messages(&limited).await.well();
    assert_eq!((keys(&next), next[0].attempt), (vec!["2"], 1));
}

pub async fn a_requeued_message_goes_to_its_own_sink_alone(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s", "t"]).await;
    publish(&*store, vec![message("p", "1"), message("p", "2")]).await;
    let run = &claim(&*store, "s", 2).await[0];
    store.fail_delivery(&failure(run.hold, None)).await.well();
    let id = store.list_dead_messages(None, 10).await.well()[0].id;
    assert_eq!(store.requeue_dead_messages(&[id, id]).await.well(), 1);
    assert!(store.list_dead_messages(None, 10).await.well().is_empty());
    let again = claim(&*store, "s", 10).await;
    assert_eq!(keys(&again), ["2", "1"]);
    assert_eq!(again[0].messages.iter().map(|message| message.seq).collect::<Vec<_>>(), [2, 3]);
    let other = claim(&*store, "t", 10).await;
    assert_eq!(keys(&other), ["1", "2"]);
    store.mark_delivered(other[0].hold, 2).await.well();
    assert_eq!(waiting(&*store).await[1], ("t".to_owned(), 0, 0), "what is not for it is passed over");
    assert_eq!(publish(&*store, vec![message("p", "4")]).await, [4]);
}

pub async fn a_run_of_nothing_but_others_messages_is_passed_in_silence(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s", "t"]).await;
    publish(&*store, vec![message("p", "1")]).await;
    let both = [claim(&*store, "s", 1).await, claim(&*store, "t", 1).await];
    store.fail_delivery(&failure(both[0][0].hold, None)).await.well();
    store.mark_delivered(both[1][0].hold, 1).await.well();
    let id = store.list_dead_messages(None, 10).await.well()[0].id;
    assert_eq!(store.requeue_dead_messages(&[id]).await.well(), 1);
    assert_eq!(waiting(&*store).await[1].1, 1);
    assert!(claim(&*store, "t", 10).await.is_empty());
    assert_eq!(waiting(&*store).await, [("s".to_owned(), 1, 0), ("t".to_owned(), 0, 0)]);
}

pub async fn pruning_forgets_only_what_every_sink_is_past(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s", "t"]).await;
    publish(&*store, (1..=5).map(|number| message("p", &number.to_string())).collect()).await;
    for (name, up_to) in [("s", 4), ("t", 3)] {
        let run = &claim(&*store, name, 5).await[0];
        store.mark_delivered(run.hold, up_to).await.well();
    }
    assert_eq!(store.prune_outbox(2).await.well(), 2);
    assert_eq!(store.prune_outbox(100).await.well(), 1);
    assert_eq!(store.prune_outbox(100).await.well(), 0);
    store.register_sink(&sink("new"), SinkStart::Beginning).await.well();
    assert_eq!(keys(&claim(&*store, "new", 10).await), ["4", "5"]);
    harness.clock().advance_ms(TTL_MS as i64);
    assert_eq!(keys(&claim(&*store, "t", 10).await), ["4", "5"]);
    assert_eq!(publish(&*store, vec![message("p", "6")]).await, [6]);
}

pub async fn without_sinks_nothing_is_pruned(harness: &dyn Harness) {
    let store = harness.open().await;
    publish(&*store, vec![message("p", "1")]).await;
    assert_eq!(store.prune_outbox(100).await.well(), 0);
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    assert_eq!(keys(&claim(&*store, "s", 10).await), ["1"]);
}

pub async fn a_sink_nobody_registered_is_refused(harness: &dyn Harness) {
    let store = harness.open().await;
    publish(&*store, vec![message("p", "1")]).await;
    refused!(store.claim_messages(&delivery("nobody", "w", 1)).await, StoreError::Invalid(_));
    let forged = DeliveryHold { lane: 4_711, epoch: Epoch(1) };
    refused!(store.mark_delivered(forged, 1).await, StoreError::Fenced { .. });
    assert!(store.outbox_depth().await.well().is_empty());
}

pub async fn dead_messages_are_listed_up_to_a_limit(harness: &dyn Harness) {
    let store = with_sinks(harness, &["s"]).await;
    publish(&*store, vec![message("a", "1"), message("b", "2"), message("c", "3")]).await;
    for run in claim(&*store, "s", 10).await {
        store.fail_delivery(&failure(run.hold, None)).await.well();
    }
    let ids =
        |dead: Vec<windlass_core::outbox::DeadMessage>| dead.iter().map(|dead| dead.id).collect::<Vec<_>>();
    let all = ids(store.list_dead_messages(Some(&sink("s")), u32::MAX).await.well());
    assert_eq!(all.len(), 3);
    assert!(all.is_sorted());
    assert_eq!(ids(store.list_dead_messages(None, 2).await.well()), all[..2]);
    assert_eq!(ids(store.list_dead_messages(None, 0).await.well()), all[..1]);
}
