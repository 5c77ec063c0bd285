//! Many at once, on several handles: disjoint, and nothing lost.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::{JobClaim, JobTicket};
use windlass_core::lease::Epoch;
use windlass_core::outbox::SinkStart;
use windlass_core::store::Store;

use super::support::{Well, publish, put, state, tickets};
use crate::harness::Harness;
use crate::make::{self, delivery, job, lease_name, message, ms, owner, sink, state_key};

const HANDLES: usize = 4;
/// A worker that gets nothing for so long while there is work is stuck: another one may hold what
/// is left, but not for so long, even on a busy machine.
const MAX_IDLE: Duration = Duration::from_secs(60);

/// Runs the same work on several handles at once.
async fn together<T, F>(harness: &dyn Harness, work: impl Fn(usize, Arc<dyn Store>) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut tasks = Vec::new();
    for number in 0..HANDLES {
        tasks.push(tokio::spawn(work(number, harness.open().await)));
    }
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.expect("a worker does not panic"));
    }
    results
}

async fn open_jobs(store: &dyn Store) -> u64 {
    store.count_jobs().await.well().iter().map(|queue| queue.open).sum()
}

/// Claims and finishes until no job is left; says what it was given.
async fn work_off(worker: usize, store: Arc<dyn Store>) -> Vec<(JobTicket, String)> {
    let wish = JobClaim { ttl: ms(3_600_000), max_per_lane: 3, ..make::claim("q", &format!("w{worker}"), 7) };
    let (mut given, mut worked) = (Vec::new(), Instant::now());
    while open_jobs(&*store).await > 0 {
        let jobs = store.claim_jobs(&wish).await.well();
        if !jobs.is_empty() {
            worked = Instant::now();
        }
        assert!(worked.elapsed() < MAX_IDLE, "jobs are open and no worker gets them");
        assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
        given.extend(jobs.into_iter().map(|job| (job.ticket, job.payload)));
        tokio::task::yield_now().await;
    }
    given
}

pub async fn many_workers_share_jobs_without_overlap_or_loss(harness: &dyn Harness) {
    let store = harness.open().await;
    let jobs = (0..400).map(|number| job("q", &format!("lane{:02}", number % 20), &number.to_string()));
    store.enqueue_jobs(jobs.collect()).await.well();
    let given: Vec<(JobTicket, String)> = together(harness, work_off).await.into_iter().flatten().collect();
    assert_eq!(given.len(), 400);
    let ids: BTreeSet<_> = given.iter().map(|(ticket, _)| ticket.job).collect();
    let payloads: BTreeSet<_> = given.iter().map(|(_, payload)| payload).collect();
    assert_eq!((ids.len(), payloads.len()), (400, 400));
    // One holder under one epoch: a run's jobs follow each other in their lane.
    let mut runs: BTreeMap<(i64, Epoch), Vec<i64>> = BTreeMap::new();
    for (ticket, _) in &given {
        runs.entry((ticket.job.lane, ticket.epoch)).or_default().push(ticket.job.seq);
    }
    assert!(runs.values().all(|run| run.windows(2).all(|pair| pair[0] + 1 == pair[1])), "{runs:?}");
}

pub async fn one_of_many_gets_a_lease(harness: &dyn Harness) {
    for round in 1..=10 {
        let won = together(harness, |worker, store| async move {
            let who = owner(&format!("w{worker}"));
            store.acquire_lease(&lease_name("only"), &who, ms(1_000)).await.well()
        })
        .await;
        let mut winners: Vec<_> = won.into_iter().flatten().collect();
        if winners.is_empty() {
            // A busy database may send everybody away, never let two in.
            let store = harness.open().await;
            winners.extend(store.acquire_lease(&lease_name("only"), &owner("w"), ms(1_000)).await.well());
        }
        assert_eq!(winners.iter().map(|lease| lease.epoch).collect::<Vec<_>>(), [Epoch(round)]);
        harness.clock().advance_ms(1_000);
    }
}

pub async fn epochs_handed_out_in_a_race_are_unique(harness: &dyn Harness) {
    let leases = together(harness, |worker, store| async move {
        let who = owner(&format!("w{worker}"));
        let mut epochs = Vec::new();
        for _ in 0..50 {
            if let Some(lease) = store.acquire_lease(&lease_name("hot"), &who, ms(1_000)).await.well() {
                epochs.push(lease.epoch);
                assert!(store.release_lease(&lease).await.well());
            }
            tokio::task::yield_now().await;
        }
        epochs
    })
    .await;
    let epochs: Vec<Epoch> = leases.into_iter().flatten().collect();
    let unique: BTreeSet<Epoch> = epochs.iter().copied().collect();
    assert!(!epochs.is_empty());
    assert_eq!(unique.len(), epochs.len());
    assert_eq!(unique.last(), Some(&Epoch(epochs.len() as i64)), "every epoch was somebody's");
}

pub async fn many_writers_number_messages_without_gaps(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    let numbers = together(harness, |writer, store| async move {
        let mut numbers = Vec::new();
        for round in 0..25 {
            let key = format!("{writer}-{round}");
            // The two partitions in either order: writers must not lock each other out.
            let mut pair = vec![message("p", &key), message("r", &key)];
            if writer % 2 == 1 {
                pair.reverse();
            }
            let given = publish(&*store, pair).await;
            numbers.push(if writer % 2 == 1 { given[1] } else { given[0] });
        }
        numbers
    })
    .await;
    let mut numbers: Vec<i64> = numbers.into_iter().flatten().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=HANDLES as i64 * 25).collect::<Vec<_>>());
    let runs = store.claim_messages(&delivery("s", "w", 1_000)).await.well();
    assert_eq!(runs.iter().map(|run| run.messages.len()).collect::<Vec<_>>(), [100, 100]);
}

pub async fn a_sink_registered_while_others_write_misses_nothing(harness: &dyn Harness) {
    let store = harness.open().await;
    together(harness, |number, store| async move {
        if number == 0 {
            tokio::task::yield_now().await;
            assert!(store.register_sink(&sink("late"), SinkStart::Beginning).await.well());
            return;
        }
        for round in 0..20 {
            publish(&*store, vec![message(&format!("p{}", round % 7), &format!("{number}-{round}"))]).await;
        }
    })
    .await;
    let runs = store.claim_messages(&delivery("late", "w", 1_000)).await.well();
    let keys: BTreeSet<_> =
        runs.iter().flat_map(|run| &run.messages).map(|message| &message.idempotency_key).collect();
    assert_eq!(keys.len(), (HANDLES - 1) * 20);
}

pub async fn many_deliverers_never_deliver_twice(harness: &dyn Harness) {
    let store = harness.open().await;
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(&*store, (0..200).map(|n| message(&format!("p{}", n % 8), &n.to_string())).collect()).await;
    let delivered = together(harness, |worker, store| async move {
        let claim = windlass_core::outbox::MessageClaim {
            ttl: ms(3_600_000),
            max_per_partition: 3,
            ..delivery("s", &format!("w{worker}"), 9)
        };
        let (mut sent, mut worked) = (Vec::new(), Instant::now());
        while store.outbox_depth().await.well()[0].waiting > 0 {
            let runs = store.claim_messages(&claim).await.well();
            if !runs.is_empty() {
                worked = Instant::now();
            }
            assert!(worked.elapsed() < MAX_IDLE, "messages wait and no worker gets them");
            for run in runs {
                store.mark_delivered(run.hold, run.messages.last().expect("never empty").seq).await.well();
                sent.extend(run.messages.into_iter().map(|message| message.idempotency_key));
            }
            tokio::task::yield_now().await;
        }
        sent
    })
    .await;
    let sent: Vec<String> = delivered.into_iter().flatten().collect();
    assert_eq!(sent.len(), 200);
    assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), 200);
}

pub async fn crossed_commits_do_not_lock_each_other_out(harness: &dyn Harness) {
    let store = harness.open().await;
    store.enqueue_jobs(vec![job("q", "a", "1"), job("q", "b", "2")]).await.well();
    let mut fences = Vec::new();
    for name in ["x", "y"] {
        let lease = store.acquire_lease(&lease_name(name), &owner("w"), ms(1_000)).await.well();
        fences.push(lease.expect("the lease is free"));
    }
    let jobs = tickets(&store.claim_jobs(&make::claim("q", "w", 2)).await.well());
    together(harness, |worker, store| {
        let (mut fences, mut jobs) = (fences.clone(), jobs.clone());
        if worker % 2 == 1 {
            fences.reverse();
            jobs.reverse();
        }
        async move {
            for round in 0..20 {
                let mut commit = Commit::of(vec![
                    put(&format!("w{worker}"), &round.to_string()),
                    Write::Enqueue(vec![job("q", "shared", "x")]),
                ]);
                for lease in &fences {
                    commit = commit.under_lease(lease);
                }
                for ticket in &jobs {
                    commit = commit.under_job(*ticket);
                }
                store.commit(commit).await.well();
            }
        }
    })
    .await;
    for worker in 0..HANDLES {
        assert_eq!(state(&*store, &format!("w{worker}")).await.as_deref(), Some("19"));
    }
    assert_eq!(open_jobs(&*store).await, 2 + HANDLES as u64 * 20);
}

pub async fn one_of_many_enqueues_a_unique_job(harness: &dyn Harness) {
    let outcomes = together(harness, |_, store| async move {
        let unique = windlass_core::job::NewJob { unique: true, ..job("q", "only", "x") };
        store.enqueue_jobs(vec![unique]).await
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let refusals = outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Duplicate { .. })));
    assert_eq!(refusals.count(), HANDLES - 1);
}

pub async fn one_of_many_completes_a_job(harness: &dyn Harness) {
    let store = harness.open().await;
    store.enqueue_jobs(vec![job("q", "a", "1")]).await.well();
    let ticket = store.claim_jobs(&make::claim("q", "w", 1)).await.well()[0].ticket;
    let outcomes = together(harness, |worker, store| async move {
        let key = state_key(&format!("won-{worker}"));
        let won = Write::PutState { key, value: Some("1".to_owned()) };
        store.commit(Commit::of(vec![won, Write::CompleteJob(ticket)]).under_job(ticket)).await
    })
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let mut traces = 0;
    for worker in 0..HANDLES {
        traces += usize::from(state(&*store, &format!("won-{worker}")).await.is_some());
    }
    assert_eq!(traces, 1);
}

/// On one handle, where completions that come together may share a commit: each is
/// judged by itself, stale ones among them, and the same one twice.
pub async fn completions_of_one_handle_are_judged_one_by_one(harness: &dyn Harness) {
    let store = harness.open().await;
    let jobs = (0..60).map(|number| job("q", &format!("lane{:02}", number % 20), "x"));
    store.enqueue_jobs(jobs.collect()).await.well();
    let wish = JobClaim { max_per_lane: 3, ..make::claim("q", "w", 60) };
    let claimed = tickets(&store.claim_jobs(&wish).await.well());
    assert_eq!(claimed.len(), 60);
    let mut calls = tokio::task::JoinSet::new();
    for lane in claimed.chunk_by(|one, other| one.job.lane == other.job.lane) {
        let stale = lane.iter().map(|ticket| JobTicket { epoch: Epoch(ticket.epoch.0 - 1), ..*ticket });
        for tickets in [stale.collect(), lane.to_vec(), lane.to_vec()] {
            let store = store.clone();
            calls.spawn(async move { (tickets.len(), store.complete_jobs(&tickets).await.well().len()) });
        }
    }
    let outcomes = calls.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == (3, 0)).count(), 20);
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == (3, 3)).count(), 40);
    assert_eq!(open_jobs(&*store).await, 0);
}
