//! Jobs are finished, prolonged, given back; and who may do so.

use windlass_core::commit::{Commit, Fence, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::job::{JobId, JobState, JobTicket};
use windlass_core::lease::Epoch;

use super::support::{Well, claim, claim_runs, dead, enqueue, list, payloads, refused, retry, tickets};
use crate::harness::Harness;
use crate::make::{TTL_MS, ms, queue};

pub async fn a_finished_job_is_gone_and_its_lane_is_free(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let jobs = claim(&*store, "q", "w1").await;
    assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
    assert_eq!(store.show_job(ids[0]).await.well(), None);
    assert_eq!(payloads(&claim(&*store, "q", "w2").await), ["2"]);
}

pub async fn finishing_part_of_a_run_keeps_the_rest_held(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("a", "3")]).await;
    let jobs = claim_runs(&*store, "q", "w1", 3).await;
    assert_eq!(store.complete_jobs(&tickets(&jobs[..2])).await.well(), []);
    assert!(claim(&*store, "q", "w2").await.is_empty());
    let rest = list(&*store, "q", false).await;
    assert_eq!((rest.len(), rest[0].id, rest[0].state), (1, jobs[2].ticket.job, JobState::Running));
    assert_eq!(rest[0].at, jobs[2].lease_until);
    assert_eq!(store.complete_jobs(&tickets(&jobs[2..])).await.well(), []);
    assert!(list(&*store, "q", false).await.is_empty());
}

pub async fn the_rest_of_a_run_is_under_way_as_a_first_attempt(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let jobs = claim_runs(&*store, "q", "w", 2).await;
    assert_eq!(jobs[1].attempt, 1);
    assert_eq!(store.complete_jobs(&tickets(&jobs[..1])).await.well(), []);
    assert_eq!(list(&*store, "q", false).await[0].attempts, 1);
    harness.clock().advance_ms(crate::make::TTL_MS.cast_signed());
    assert_eq!(claim(&*store, "q", "w2").await[0].attempt, 2);
}

pub async fn a_gap_leaves_the_whole_lane_untouched(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("a", "3"), ("b", "4")]).await;
    let jobs = claim_runs(&*store, "q", "w", 3).await;
    let gap = [jobs[0].ticket, jobs[2].ticket, jobs[3].ticket];
    assert_eq!(store.complete_jobs(&gap).await.well(), [jobs[0].ticket, jobs[2].ticket]);
    let headless = [jobs[1].ticket, jobs[2].ticket];
    assert_eq!(store.complete_jobs(&headless).await.well(), headless);
    let open: Vec<JobId> = list(&*store, "q", false).await.iter().map(|row| row.id).collect();
    assert_eq!(open, [jobs[0].ticket.job, jobs[1].ticket.job, jobs[2].ticket.job], "only b is finished");
}

pub async fn a_job_is_finished_once(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let jobs = claim_runs(&*store, "q", "w", 2).await;
    let first = tickets(&jobs[..1]);
    assert_eq!(store.complete_jobs(&first).await.well(), []);
    assert_eq!(store.complete_jobs(&first).await.well(), first);
    assert_eq!(list(&*store, "q", false).await.len(), 1);
}

pub async fn a_late_holder_finishes_while_nobody_took_over(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1")]).await;
    let jobs = claim(&*store, "q", "w").await;
    harness.clock().advance_ms(50 * TTL_MS as i64);
    assert_eq!(store.complete_jobs(&tickets(&jobs)).await.well(), []);
    assert!(list(&*store, "q", false).await.is_empty());
}

pub async fn a_zombie_can_do_nothing_to_its_former_lane(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let old = tickets(&claim(&*store, "q", "zombie").await);
    harness.clock().advance_ms(TTL_MS as i64);
    let new = claim(&*store, "q", "w").await;
    let before = list(&*store, "q", false).await;
    assert_eq!(store.complete_jobs(&old).await.well(), old);
    assert_eq!(store.extend_jobs(&old, ms(99_000)).await.well(), old);
    refused!(store.fail_job(&retry(old[0], "late", 0)).await, StoreError::Fenced { epoch: 1, .. });
    refused!(store.fail_job(&dead(old[0], "late")).await, StoreError::Fenced { .. });
    store.release_jobs(&old).await.well();
    assert_eq!(list(&*store, "q", false).await, before);
    assert!(list(&*store, "q", true).await.is_empty());
    assert_eq!(store.complete_jobs(&tickets(&new)).await.well(), []);
}

pub async fn a_ticket_dies_with_the_hold_it_came_from(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = tickets(&claim(&*store, "q", "w").await);
    store.release_jobs(&jobs[..1]).await.well();
    store.fail_job(&retry(jobs[1], "no", 0)).await.well();
    assert_eq!(store.complete_jobs(&jobs).await.well(), jobs, "free lanes are nobody's");
    assert_eq!(store.extend_jobs(&jobs, ms(1)).await.well(), jobs);
    assert_eq!(list(&*store, "q", false).await.len(), 2);
}

pub async fn tickets_of_unknown_lanes_are_refused(harness: &dyn Harness) {
    let store = harness.open().await;
    let forged = [JobTicket { job: JobId { lane: 4_711, seq: 1 }, epoch: Epoch(1) }];
    assert_eq!(store.complete_jobs(&forged).await.well(), forged);
    assert_eq!(store.extend_jobs(&forged, ms(1)).await.well(), forged);
    store.release_jobs(&forged).await.well();
    refused!(store.fail_job(&retry(forged[0], "x", 0)).await, StoreError::Fenced { .. });
}

pub async fn extending_holds_lanes_longer_from_now_on(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = claim(&*store, "q", "w1").await;
    clock.advance_ms(TTL_MS as i64 - 1);
    assert_eq!(store.extend_jobs(&tickets(&jobs[..1]), ms(TTL_MS)).await.well(), []);
    clock.advance_ms(TTL_MS as i64 - 1);
    assert_eq!(payloads(&claim(&*store, "q", "w2").await), ["2"], "only the other one ran out");
    clock.advance_ms(1);
    assert_eq!(payloads(&claim(&*store, "q", "w2").await), ["1"]);
}

pub async fn giving_lanes_back_takes_no_attempt(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let jobs = claim_runs(&*store, "q", "w1", 2).await;
    store.release_jobs(&tickets(&jobs)).await.well();
    let row = &list(&*store, "q", false).await[0];
    assert_eq!((row.state, row.attempts, &row.owner), (JobState::Waiting, 0, &None));
    let again = claim_runs(&*store, "q", "w2", 2).await;
    assert_eq!((payloads(&again), again[0].attempt), (vec!["1", "2"], 1));
    assert_eq!(again[0].ticket.epoch, jobs[0].ticket.epoch.next());
}

pub async fn a_dropped_queue_is_gone_with_all_it_had(harness: &dyn Harness) {
    let store = harness.open().await;
    let ids = enqueue(&*store, "q", &[("a", "1"), ("a", "2"), ("b", "3")]).await;
    enqueue(&*store, "q2", &[("a", "4")]).await;
    let held = claim(&*store, "q", "w").await;
    store.fail_job(&dead(held[0].ticket, "no")).await.well();
    let drop = |name| Commit::of(vec![Write::DropQueue(queue(name))]);
    assert_eq!(store.commit(drop("q")).await.well(), [Written::Rows(3)]);
    assert_eq!(store.commit(drop("q")).await.well(), [Written::Rows(0)]);
    assert!(list(&*store, "q", false).await.is_empty() && list(&*store, "q", true).await.is_empty());
    assert!(store.requeue_dead_jobs(&ids).await.well().is_empty());
    let left: Vec<String> = store.count_jobs().await.well().iter().map(|row| row.queue.to_string()).collect();
    assert_eq!(left, ["q2"]);
    assert_eq!(payloads(&claim(&*store, "q2", "w").await), ["4"]);
    let again = enqueue(&*store, "q", &[("a", "5")]).await;
    assert!(ids.iter().all(|id| id.lane != again[0].lane), "a lane's number is never used again");
    refused!(store.commit(drop("outbox/s")).await, StoreError::Invalid(_));
}

pub async fn who_held_a_job_of_a_dropped_queue_is_fenced(harness: &dyn Harness) {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("a", "1")]).await;
    let held = claim(&*store, "q", "w").await;
    store.commit(Commit::of(vec![Write::DropQueue(queue("q"))])).await.well();
    enqueue(&*store, "q", &[("a", "2")]).await;
    claim(&*store, "q", "w").await;
    let ticket = held[0].ticket;
    assert_eq!(store.complete_jobs(&[ticket]).await.well(), [ticket]);
    assert_eq!(store.extend_jobs(&[ticket], ms(1)).await.well(), [ticket]);
    refused!(store.fail_job(&retry(ticket, "x", 0)).await, StoreError::Fenced { .. });
    let finish = Commit::of(vec![Write::CompleteJob(ticket)]);
    refused!(store.commit(finish).await, StoreError::Fenced { .. });
    let standing = Commit { fences: vec![Fence::Job(ticket)], ..Commit::default() };
    refused!(store.commit(standing).await, StoreError::Fenced { .. });
    assert_eq!(list(&*store, "q", false).await.len(), 1);
}
