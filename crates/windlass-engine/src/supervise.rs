//! Runs long-lived tasks together.
//!
//! Tasks end because they are told to; one that ends by itself with an error, or
//! by a panic, takes the others down with it. Every task gets the shutdown limit
//! to let go of what it holds (its leases above all) before it is cut off.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;
use windlass_core::error::StoreError;

use crate::collect::error::CollectError;

/// What a task ends with.
pub type TaskResult = Result<(), Box<dyn Error + Send + Sync>>;

/// Tasks that live and end together.
pub struct Supervisor {
    shutdown: CancellationToken,
    tasks: JoinSet<TaskResult>,
    names: HashMap<Id, String>,
}

/// How it all ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Every task let go in time.
    Clean,
    /// A task failed.
    Failed {
        /// Which one.
        task: String,
        /// With what.
        error: String,
        /// Under which code that is explained, if it has one.
        code: Option<Code>,
    },
    /// A task panicked.
    Panicked {
        /// Which one.
        task: String,
        /// With which words.
        message: String,
    },
    /// Tasks did not let go within the limit and were cut off.
    CutOff {
        /// How many.
        tasks: usize,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clean => f.write_str("every task ended in time"),
            Self::Failed { task, error, .. } => write!(f, "{task} failed: {error}"),
            Self::Panicked { task, message } => write!(f, "{task} panicked: {message}"),
            Self::CutOff { tasks: 1 } => f.write_str("a task did not end within the shutdown limit"),
            Self::CutOff { tasks } => write!(f, "{tasks} tasks did not end within the shutdown limit"),
        }
    }
}

impl Supervisor {
    /// A supervisor whose tasks end when this token is cancelled.
    pub fn new(shutdown: CancellationToken) -> Self {
        Self { shutdown, tasks: JoinSet::new(), names: HashMap::new() }
    }

    /// Starts a task, which is to end when its token is cancelled.
    pub fn spawn<F>(&mut self, name: impl Into<String>, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = TaskResult> + Send + 'static,
    {
        let handle = self.tasks.spawn(task(self.shutdown.clone()));
        self.names.insert(handle.id(), name.into());
    }

    /// Waits until every task has ended, and says how. The first trouble is what counts.
    pub async fn run(mut self, limit: Duration) -> Ending {
        let mut ending = Ending::Clean;
        while !self.tasks.is_empty() && !self.shutdown.is_cancelled() {
            let ended = tokio::select! {
                ended = self.tasks.join_next_with_id() => ended,
                () = self.shutdown.cancelled() => break,
            };
            self.note(&mut ending, ended);
        }
        self.shutdown.cancel();
        let letting_go = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                self.note(&mut ending, Some(ended));
            }
        };
        if tokio::time::timeout(limit, letting_go).await.is_err() {
            let tasks = self.tasks.len();
            let limit_ms = limit.as_millis();
            tracing::error!(tasks, limit_ms, "tasks did not end within the shutdown limit and are cut off");
            self.tasks.shutdown().await;
            return if ending == Ending::Clean { Ending::CutOff { tasks } } else { ending };
        }
        ending
    }

    fn note(&mut self, ending: &mut Ending, ended: Option<Result<(Id, TaskResult), JoinError>>) {
        let trouble = match ended {
            None | Some(Ok((_, Ok(())))) => return,
            Some(Ok((id, Err(error)))) => {
                Ending::Failed { task: self.name(id), error: error.to_string(), code: code(&*error) }
            }
            Some(Err(error)) => {
                let task = self.name(error.id());
                Ending::Panicked { task, message: panic_message(error) }
            }
        };
        tracing::error!(%trouble, "a task ended in trouble; the others are told to end");
        self.shutdown.cancel();
        if *ending == Ending::Clean {
            *ending = trouble;
        }
    }

    fn name(&self, id: Id) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| "unnamed".to_owned())
    }
}

/// The code of an error that has one.
fn code(error: &(dyn Error + Send + Sync + 'static)) -> Option<Code> {
    let collecting = error.downcast_ref::<CollectError>().map(CollectError::code);
    collecting.or_else(|| error.downcast_ref::<StoreError>().map(StoreError::code))
}

fn panic_message(error: JoinError) -> String {
    let Ok(payload) = error.try_into_panic() else { return "it was cancelled".to_owned() };
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without words".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A task that waits for its end and then lets go of something.
    fn holder(supervisor: &mut Supervisor) -> Arc<AtomicBool> {
        let released = Arc::new(AtomicBool::new(false));
        let flag = released.clone();
        supervisor.spawn("holder", |shutdown| async move {
            shutdown.cancelled().await;
            flag.store(true, Ordering::SeqCst);
            Ok(())
        });
        released
    }

    #[test]
    fn endings_are_told_in_plain_words() {
        let told = |ending: Ending| ending.to_string();
        let (task, error) = ("collector".to_owned(), "no database".to_owned());
        assert_eq!(told(Ending::Failed { task, error, code: None }), "collector failed: no database");
        let (task, message) = ("clumsy".to_owned(), "tripped".to_owned());
        assert_eq!(told(Ending::Panicked { task, message }), "clumsy panicked: tripped");
        assert_eq!(told(Ending::CutOff { tasks: 2 }), "2 tasks did not end within the shutdown limit");
        assert_eq!(told(Ending::Clean), "every task ended in time");
    }

    #[tokio::test]
    async fn tasks_end_cleanly_when_told() {
        let shutdown = CancellationToken::new();
        let mut supervisor = Supervisor::new(shutdown.clone());
        let released = holder(&mut supervisor);
        shutdown.cancel();
        assert_eq!(supervisor.run(Duration::from_secs(5)).await, Ending::Clean);
        assert!(released.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panic_takes_all_down_after_they_let_go() {
        let mut supervisor = Supervisor::new(CancellationToken::new());
        let released = holder(&mut supervisor);
        supervisor.spawn("clumsy", |_| async { panic!("tripped over {}", 1) });
        let ending = supervisor.run(Duration::from_secs(5)).await;
        assert_eq!(ending, Ending::Panicked { task: "clumsy".into(), message: "tripped over 1".into() });
        assert!(released.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_failure_is_named() {
        let mut supervisor = Supervisor::new(CancellationToken::new());
        let released = holder(&mut supervisor);
        supervisor.spawn("collector", |_| async { Err("no database".into()) });
        let ending = supervisor.run(Duration::from_secs(5)).await;
        let (task, error) = ("collector".to_owned(), "no database".to_owned());
        assert_eq!(ending, Ending::Failed { task, error, code: None });
        assert!(released.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_failure_that_has_a_code_keeps_it() {
        for error in [
            Box::new(StoreError::DiskFull) as Box<dyn Error + Send + Sync>,
            Box::new(CollectError::Unwritten(StoreError::DiskFull)),
        ] {
            let mut supervisor = Supervisor::new(CancellationToken::new());
            supervisor.spawn("collector", |_| async { Err(error) });
            let ending = supervisor.run(Duration::from_secs(5)).await;
            assert!(matches!(ending, Ending::Failed { code: Some(Code::DiskFull), .. }), "{ending:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_let_go_is_cut_off() {
        let shutdown = CancellationToken::new();
        let mut supervisor = Supervisor::new(shutdown.clone());
        supervisor.spawn("stubborn", |_| std::future::pending());
        shutdown.cancel();
        assert_eq!(supervisor.run(Duration::from_secs(5)).await, Ending::CutOff { tasks: 1 });
    }

    #[tokio::test]
    async fn it_is_over_when_all_tasks_are() {
        let mut supervisor = Supervisor::new(CancellationToken::new());
        supervisor.spawn("short", |_| async { Ok(()) });
        assert_eq!(supervisor.run(Duration::from_secs(5)).await, Ending::Clean);
    }
}
