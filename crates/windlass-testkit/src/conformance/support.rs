//! What cases share: asking without ceremony.

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::error::StoreResult;
use windlass_core::job::{ClaimedJob, JobFailure, JobFilter, JobId, JobRow, JobTicket, MAX_LISTED_JOBS};
use windlass_core::name::StateKey;
use windlass_core::outbox::NewMessage;
use windlass_core::retry::Verdict;
use windlass_core::store::Store;

use crate::make;

/// An answer that must not be a refusal.
pub(super) trait Well<T> {
    /// The answer, or the end of the case.
    fn well(self) -> T;
}

impl<T> Well<T> for StoreResult<T> {
    #[track_caller]
    fn well(self) -> T {
        match self {
            Ok(answer) => answer,
            Err(error) => panic!("the store refused: {error} ({error:?})"),
        }
    }
}

/// Asserts that an answer is this refusal.
macro_rules! refused {
    ($answer:expr, $refusal:pat $(if $guard:expr)?) => {
        match $answer {
            Err($refusal) $(if $guard)? => {}
            other => panic!("expected {}, not {other:?}", stringify!($refusal)),
        }
    };
}
pub(super) use refused;

/// Puts jobs `(lane, payload)` into a queue.
pub(super) async fn enqueue(store: &dyn Store, queue: &str, jobs: &[(&str, &str)]) -> Vec<JobId> {
    let jobs = jobs.iter().map(|(lane, payload)| make::job(queue, lane, payload)).collect();
    store.enqueue_jobs(jobs).await.well()
}

/// Claims one job of each lane, with room for many.
pub(super) async fn claim(store: &dyn Store, queue: &str, owner: &str) -> Vec<ClaimedJob> {
    store.claim_jobs(&make::claim(queue, owner, 100)).await.well()
}

/// Claims runs of up to so many jobs a lane.
pub(super) async fn claim_runs(
    store: &dyn Store,
    queue: &str,
    owner: &str,
    per_lane: u32,
) -> Vec<ClaimedJob> {
    let claim = windlass_core::job::JobClaim { max_per_lane: per_lane, ..make::claim(queue, owner, 100) };
    store.claim_jobs(&claim).await.well()
}

/// Their tickets.
pub(super) fn tickets(jobs: &[ClaimedJob]) -> Vec<JobTicket> {
    jobs.iter().map(|job| job.ticket).collect()
}

/// Their payloads.
pub(super) fn payloads(jobs: &[ClaimedJob]) -> Vec<&str> {
    jobs.iter().map(|job| job.payload.as_str()).collect()
}

/// A failure to be tried again after so many milliseconds.
pub(super) fn retry(ticket: JobTicket, error: &str, after_ms: u64) -> JobFailure {
    JobFailure { ticket, error: error.to_owned(), verdict: Verdict::RetryAfter(make::ms(after_ms)) }
}

/// A failure for good.
pub(super) fn dead(ticket: JobTicket, error: &str) -> JobFailure {
    JobFailure { ticket, error: error.to_owned(), verdict: Verdict::Dead }
}

/// The open or dead jobs of a queue.
pub(super) async fn list(store: &dyn Store, queue: &str, dead: bool) -> Vec<JobRow> {
    let filter = JobFilter { queue: Some(make::queue(queue)), dead, after: None, limit: MAX_LISTED_JOBS };
    store.list_jobs(&filter).await.well()
}

/// Commits writes that stand on nothing.
pub(super) async fn write(store: &dyn Store, writes: Vec<Write>) -> Vec<Written> {
    store.commit(Commit::of(writes)).await.well()
}

/// Publishes messages; returns their numbers.
pub(super) async fn publish(store: &dyn Store, messages: Vec<NewMessage>) -> Vec<i64> {
    match write(store, vec![Write::Publish(messages)]).await.pop() {
        Some(Written::Messages(numbers)) => numbers,
        other => panic!("publishing answered {other:?}"),
    }
}

/// A write that leaves a trace under a key.
pub(super) fn put(key: &str, value: &str) -> Write {
    Write::PutState { key: make::state_key(key), value: Some(value.to_owned()) }
}

/// What is kept under a key.
pub(super) async fn state(store: &dyn Store, key: &str) -> Option<String> {
    let key: StateKey = make::state_key(key);
    store.state(&key).await.well()
}
