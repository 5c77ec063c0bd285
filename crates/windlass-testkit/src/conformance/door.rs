//! The transaction door: fences, order, limits.

use windlass_core::commit::{Commit, Fence, MAX_COMMIT_ROWS, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::job::{JobId, JobTicket, MAX_PAYLOAD_BYTES};
use windlass_core::lease::{Epoch, Lease};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::support::{Well, claim, claim_runs, enqueue, list, put, refused, state, tickets};
use crate::harness::Harness;
use crate::make::{TTL_MS, chain, event, header, job, lease_name, message, ms, owner};

async fn lease(store: &dyn Store, name: &str, who: &str) -> Lease {
    let taken = store.acquire_lease(&lease_name(name), &owner(who), ms(TTL_MS)).await.well();
    taken.expect("the lease is free")
}

pub async fn every_write_says_what_it_did_in_its_place(harness: &dyn Harness) {
    let store = harness.open().await;
    let commit = Commit::of(vec![
        Write::Events(vec![event(1, 1, 0, 1), event(1, 1, 1, 1)]),
        put("k", "1"),
        Write::Publish(vec![message("p", "1")]),
        Write::Blocks { chain: chain(1), headers: vec![header(1, 1)] },
        Write::Retract { chain: chain(1), from_block: 1 },
        Write::Enqueue(vec![job("q", "a", "1"), job("q", "a", "2")]),
    ]);
    let written = store.commit(commit).await.well();
    let Some(Written::Jobs(ids)) = written.last() else { panic!("not ids: {written:?}") };
    assert_eq!((ids.len(), ids[1]), (2, JobId { lane: ids[0].lane, seq: 2 }));
    let expected =
        [Written::Rows(2), Written::Done, Written::Messages(vec![1]), Written::Rows(1), Written::Rows(2)];
    assert_eq!(written[..5], expected);
}

pub async fn writes_take_effect_in_their_order(harness: &dyn Harness) {
    let store = harness.open().await;
    let retract = Write::Retract { chain: chain(1), from_block: 0 };
    let add = || Write::Events(vec![event(1, 1, 0, 1)]);
    let written =
        store.commit(Commit::of(vec![add(), retract, add(), put("k", "1"), put("k", "2")])).await.well();
    assert_eq!(written[..3], [Written::Rows(1), Written::Rows(1), Written::Rows(1)]);
    assert_eq!(state(&*store, "k").await.as_deref(), Some("2"));
}

pub async fn an_empty_commit_does_nothing(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(store.commit(Commit::default()).await.well(), []);
}

pub async fn a_relaxed_commit_is_seen_like_any_other(harness: &dyn Harness) {
    let store = harness.open().await;
    store.commit(Commit::of(vec![put("k", "1")]).relaxed()).await.well();
    let store = harness.restart(store).await;
    assert_eq!(state(&*store, "k").await.as_deref(), Some("1"));
}

pub async fn a_commit_under_a_live_or_late_lease_is_taken(harness: &dyn Harness) {
    let store = harness.open().await;
    let held = lease(&*store, "l", "a").await;
    store.commit(Commit::of(vec![put("k", "1")]).under_lease(&held)).await.well();
    harness.clock().advance_ms(9 * TTL_MS as i64);
    store.commit(Commit::of(vec![put("k", "2")]).under_lease(&held)).await.well();
    assert_eq!(state(&*store, "k").await.as_deref(), Some("2"));
}

pub async fn a_zombies_commit_is_refused_by_its_leases_epoch(harness: &dyn Harness) {
    let store = harness.open().await;
    let old = lease(&*store, "l", "a").await;
    harness.clock().advance_ms(TTL_MS as i64);
    let new = lease(&*store, "l", "b").await;
    let zombie = Commit::of(vec![put("k", "zombie")]).under_lease(&old);
    refused!(store.commit(zombie).await, StoreError::Fenced { what, epoch: 1 } if what == "lease l");
    assert_eq!(state(&*store, "k").await, None);
    store.commit(Commit::of(vec![put("k", "1")]).under_lease(&new)).await.well();
}

pub async fn a_commit_under_a_released_or_unknown_lease_is_refused(harness: &dyn Harness) {
    let store = harness.open().await;
    let held = lease(&*store, "l", "a").await;
    assert!(store.release_lease(&held).await.well());
    let unknown = Lease { name: lease_name("never"), ..held.clone() };
    for stale in [held, unknown] {
        let commit = Commit::of(vec![put("k", "x")]).under_lease(&stale);
        refused!(store.commit(commit).await, StoreError::Fenced { .. });
    }
    assert_eq!(state(&*store, "k").await, None);
}

pub async fn a_zombies_commit_is_refused_by_its_lanes_epoch(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1")]).await;
    let old = claim(&*store, "q", "a").await[0].ticket;
    harness.clock().advance_ms(TTL_MS as i64);
    let new = claim(&*store, "q", "b").await[0].ticket;
    let commit = |ticket| Commit::of(vec![put("k", "1")]).under_job(ticket);
    refused!(store.commit(commit(old)).await, StoreError::Fenced { what, epoch: 1 }
        if what == format!("job {}", old.job));
    let unfenced = Commit::of(vec![put("k", "1"), Write::CompleteJob(old)]);
    refused!(store.commit(unfenced).await, StoreError::Fenced { .. });
    assert_eq!(state(&*store, "k").await, None);
    store.commit(commit(new)).await.well();
}

pub async fn a_job_fence_needs_the_first_open_job_of_a_held_lane(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let run = tickets(&claim_runs(&*store, "q", "w", 2).await);
    let commit = |ticket| Commit::of(vec![put("k", "1")]).under_job(ticket);
    refused!(store.commit(commit(run[1])).await, StoreError::Fenced { .. });
    assert_eq!(store.complete_jobs(&run[..1]).await.well(), []);
    refused!(store.commit(commit(run[0])).await, StoreError::Fenced { .. });
    store.commit(commit(run[1])).await.well();
    store.release_jobs(&run[1..]).await.well();
    refused!(store.commit(commit(run[1])).await, StoreError::Fenced { .. });
    let unknown = JobTicket { job: JobId { lane: 4_711, seq: 1 }, epoch: Epoch(1) };
    refused!(store.commit(commit(unknown)).await, StoreError::Fenced { .. });
}

pub async fn a_run_is_finished_one_by_one_in_one_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("a", "3")]).await;
    let run = tickets(&claim_runs(&*store, "q", "w", 3).await);
    let finish = |tickets: &[JobTicket]| tickets.iter().copied().map(Write::CompleteJob).collect::<Vec<_>>();
    refused!(store.commit(Commit::of(finish(&[run[0], run[2]]))).await, StoreError::Fenced { .. });
    store.commit(Commit::of(finish(&run[..2])).under_job(run[0])).await.well();
    let rest = list(&*store, "q", false).await;
    assert_eq!((rest.len(), rest[0].id, rest[0].owner.is_some()), (1, run[2].job, true));
    store.commit(Commit::of(finish(&run[2..]))).await.well();
    assert!(list(&*store, "q", false).await.is_empty());
}

pub async fn jobs_of_many_lanes_are_finished_in_one_commit_or_none_is(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("b", "2"), ("c", "3")]).await;
    let held = tickets(&claim(&*store, "q", "w").await);
    let finish = |tickets: &[JobTicket]| tickets.iter().copied().map(Write::CompleteJob).collect::<Vec<_>>();
    for broken in 0..held.len() {
        let mut stale = held.clone();
        stale[broken].epoch = stale[broken].epoch.next();
        refused!(store.commit(Commit::of(finish(&stale))).await, StoreError::Fenced { .. });
        assert_eq!(list(&*store, "q", false).await.len(), held.len());
    }
    store.commit(Commit::of(finish(&held))).await.well();
    assert!(list(&*store, "q", false).await.is_empty());
}

pub async fn every_fence_must_hold(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = tickets(&claim(&*store, "q", "w").await);
    let (first, second) = (lease(&*store, "l1", "w").await, lease(&*store, "l2", "w").await);
    let good: Vec<Fence> = [&second, &first]
        .map(|lease| Fence::Lease { name: lease.name.clone(), epoch: lease.epoch })
        .into_iter()
        .chain([Fence::Job(jobs[1]), Fence::Job(jobs[0])])
        .collect();
    for broken in 0..good.len() {
        let mut fences = good.clone();
        match &mut fences[broken] {
            Fence::Lease { epoch, .. } => *epoch = epoch.next(),
            Fence::Job(ticket) => ticket.epoch = ticket.epoch.next(),
        }
        let commit = Commit { fences, ..Commit::of(vec![put("k", "x")]) };
        refused!(store.commit(commit).await, StoreError::Fenced { .. });
    }
    assert_eq!(state(&*store, "k").await, None);
    store.commit(Commit { fences: good, ..Commit::of(vec![put("k", "x")]) }).await.well();
}

pub async fn a_commit_has_a_limit(harness: &dyn Harness) {
    let store = harness.open().await;
    let headers = vec![header(1, 1); MAX_COMMIT_ROWS + 1];
    let commit = Commit::of(vec![put("k", "1"), Write::Blocks { chain: chain(1), headers }]);
    refused!(store.commit(commit).await, StoreError::Invalid(_));
    assert_eq!(state(&*store, "k").await, None);
    assert!(store.blocks(chain(1), 0, 10).await.well().is_empty());
}

pub async fn what_is_too_large_is_invalid_whatever_it_stands_on(harness: &dyn Harness) {
    let store = harness.open().await;
    let stale = Lease {
        name: lease_name("never"),
        owner: owner("w"),
        epoch: Epoch(1),
        expires_at: Timestamp::from_ms(0),
    };
    let large = job("q", "a", &"x".repeat(MAX_PAYLOAD_BYTES + 1));
    let commit = Commit::of(vec![Write::Enqueue(vec![large])]).under_lease(&stale);
    refused!(store.commit(commit).await, StoreError::Invalid(_));
}

pub async fn a_lease_guards_a_cursor_and_its_facts_together(harness: &dyn Harness) {
    let store = harness.open().await;
    let held = lease(&*store, "account", "a").await;
    let name = crate::make::cursor_name("account");
    store.seed_cursor(&name, crate::make::cursor(1, "x")).await.well();
    let step = |to: i64| {
        let advance = Write::AdvanceCursor {
            name: crate::make::cursor_name("account"),
            to: crate::make::cursor(to, "h"),
            rule: windlass_core::cursor::CursorRule::Identified,
        };
        Commit::of(vec![advance, Write::Publish(vec![message("account", &to.to_string())])])
            .under_lease(&held)
    };
    store.commit(step(2)).await.well();
    harness.clock().advance_ms(TTL_MS as i64);
    lease(&*store, "account", "b").await;
    refused!(store.commit(step(3)).await, StoreError::Fenced { .. });
    assert_eq!(store.cursor(&name).await.well(), Some(crate::make::cursor(2, "h")));
}
