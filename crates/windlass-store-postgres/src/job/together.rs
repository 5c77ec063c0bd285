//! Completions that come in while one is under way wait for it, and then go
//! together: one statement, one sync of the disk, however many workers there are.
//!
//! Invariant: no two runs of one lane go together, so that each is judged by what
//! the one before it has left.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_core::error::{StoreError, StoreResult};

use super::finish::{Run, finish_alone};
use crate::PostgresStore;

/// The lanes that were moved past their runs.
type Finished = StoreResult<Arc<HashSet<i64>>>;

/// What one caller wants finished, and where it listens.
struct Waiting {
    runs: Vec<Run>,
    answer: oneshot::Sender<Finished>,
}

/// The completions that wait for the one under way.
#[derive(Default)]
pub(crate) struct Completions {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Waiting>,
    /// Whether a task takes from the queue until it is empty.
    is_served: bool,
}

impl Completions {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those who go next; when there is nobody, the task that asks has to end.
    fn next(&self) -> Vec<Waiting> {
        let mut queue = self.queue();
        let mut lanes = HashSet::new();
        let (next, later) = std::mem::take(&mut queue.waiting).into_iter().partition(|waiting| {
            let is_free = waiting.runs.iter().all(|run| !lanes.contains(&run.lane));
            lanes.extend(waiting.runs.iter().map(|run| run.lane));
            is_free
        });
        queue.waiting = later;
        queue.is_served = !lanes.is_empty();
        next
    }
}

/// Finishes runs, no two of one lane, with whatever else waits; returns the lanes for
/// which that was right. Goes on when the caller no longer listens.
pub(super) async fn finish(store: &PostgresStore, runs: Vec<Run>) -> Finished {
    let (answer, answered) = oneshot::channel();
    let is_served = {
        let mut queue = store.inner.completions.queue();
        queue.waiting.push(Waiting { runs, answer });
        std::mem::replace(&mut queue.is_served, true)
    };
    if !is_served {
        tokio::spawn(Serving { store: store.clone(), is_over: false }.run());
    }
    answered.await.unwrap_or(Err(StoreError::Closed))
}

/// The task that takes from the queue.
struct Serving {
    store: PostgresStore,
    is_over: bool,
}

impl Serving {
    async fn run(mut self) {
        loop {
            let next = self.store.inner.completions.next();
            if next.is_empty() {
                self.is_over = true;
                return;
            }
            let (runs, answers): (Vec<_>, Vec<_>) =
                next.into_iter().map(|waiting| (waiting.runs, waiting.answer)).unzip();
            let runs: Vec<Run> = runs.into_iter().flatten().collect();
            let finished = finish_alone(&self.store, &runs).await.map(Arc::new);
            for answer in answers {
                // Who has gone away does not need it.
                let _ = answer.send(finished.clone());
            }
        }
    }
}

impl Drop for Serving {
    /// Cut off by a panic or by the end of its runtime: nobody waits in vain, and the next may begin.
    fn drop(&mut self) {
        if !self.is_over {
            *self.store.inner.completions.queue() = Queue::default();
        }
    }
}
