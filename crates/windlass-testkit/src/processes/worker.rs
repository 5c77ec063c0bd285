//! One worker process: claims jobs, and commits each one's effect with its end.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::job::{ClaimedJob, DeletedJobs, JobClaim};
use windlass_core::outbox::NewMessage;
use windlass_core::store::Store;

use crate::make;

/// Says that this process is a worker, and on which database.
pub(super) const PLACE_VARIABLE: &str = "WINDLASS_TEST_SWARM_PLACE";
/// Says that this worker is to stop for good once it holds a job.
pub(super) const STOP_VARIABLE: &str = "WINDLASS_TEST_SWARM_STOP";
/// What such a worker says then.
pub(super) const HOLDS: &str = "this worker holds a job";
/// The queue that workers work off.
pub(super) const QUEUE: &str = "swarm";
/// How long what a killed worker held stays held.
const HOLD_MS: u64 = 250;
/// How long a worker waits when there is nothing for it.
const IDLE: Duration = Duration::from_millis(1);
/// More attempts than a test can kill.
const MAX_ATTEMPTS: u32 = 1_000;

/// What a job leaves behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Effect {
    /// Which job.
    pub(super) job: String,
    /// Which attempt succeeded.
    pub(super) attempt: u32,
}

/// The database that this process is to work on, if a test started it as a worker.
pub fn worker_place() -> Option<String> {
    std::env::var(PLACE_VARIABLE).ok()
}

/// How many jobs are open.
pub(super) async fn open_jobs(store: &dyn Store) -> u64 {
    let counts = store.count_jobs().await.expect("the database answers");
    counts.iter().map(|queue| queue.open).sum()
}

/// Works until no job is open, or until it is killed.
pub async fn work(store: Arc<dyn Store>) {
    let claim = JobClaim {
        ttl: make::ms(HOLD_MS),
        max_per_lane: 3,
        max_attempts: MAX_ATTEMPTS,
        deleted: DeletedJobs::Skip,
        ..make::claim(QUEUE, &format!("process {}", std::process::id()), 6)
    };
    while open_jobs(&*store).await > 0 {
        let jobs = store.claim_jobs(&claim).await.expect("a claim is answered");
        if jobs.is_empty() {
            tokio::time::sleep(IDLE).await;
        } else if std::env::var_os(STOP_VARIABLE).is_some() {
            let said = format!("{HOLDS}\n");
            std::io::stdout().write_all(said.as_bytes()).expect("the test listens");
            return std::future::pending().await;
        }
        for run in jobs.chunk_by(|a, b| a.ticket.job.lane == b.ticket.job.lane) {
            finish(&*store, run).await;
        }
    }
}

/// Finishes a lane's jobs one after another; stops where somebody else took over.
async fn finish(store: &dyn Store, run: &[ClaimedJob]) {
    for job in run {
        let effect = Effect { job: job.payload.clone(), attempt: job.attempt };
        let message = NewMessage {
            partition: make::partition(job.key.as_str()),
            idempotency_key: job.payload.clone(),
            topic: "swarm.done".to_owned(),
            payload: serde_json::to_string(&effect).expect("an effect is plain data"),
        };
        let writes = vec![Write::Publish(vec![message]), Write::CompleteJob(job.ticket)];
        match store.commit(Commit::of(writes).under_job(job.ticket)).await {
            Ok(_) => {}
            Err(StoreError::Fenced { .. } | StoreError::Busy) => return,
            Err(error) => panic!("a commit failed: {error}"),
        }
    }
}
