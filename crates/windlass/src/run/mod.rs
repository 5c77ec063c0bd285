//! The daemon: the store, and the roles that this process plays on it.
//!
//! Everything that can be wrong is found before any work begins; then every role
//! is a task under one supervisor, and they end together.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | from the first check to the last word |
//! | [`role`] | the parts a process can play |
//! | `crew` | everything that runs, ready to be started |
//! | `wanted` | what is to be collected, checked |
//! | `probe` | whether the store can be written |
//! | `chain` | the loops of one chain |
//! | `pay` | the loops that pay |
//! | `signatures` | whether a chain's contracts emit what is collected |
//! | `gate` | where a chain waits until it can be collected |

mod chain;
mod crew;
mod gate;
mod pay;
mod probe;
pub(crate) mod role;
mod signatures;
mod wanted;

use std::sync::PoisonError;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;
use windlass_core::store::Store;
use windlass_engine::supervise::{Ending, Supervisor};

use crate::config::Config;
use crate::failure::{Failure, store_hint};
use crew::Crew;
use role::Role;

/// What to run.
#[derive(Debug)]
pub(crate) struct RunOptions {
    /// The parts this process plays.
    pub(crate) roles: Vec<Role>,
    /// Whether they were asked for by name: then each of them has to have something to do.
    pub(crate) is_explicit: bool,
    /// What is in force.
    pub(crate) config: Config,
}

/// Runs until the token is cancelled or a task fails.
pub(crate) async fn run(options: RunOptions, shutdown: CancellationToken) -> Result<(), Failure> {
    let Some(crew) = shutdown.run_until_cancelled(Crew::assemble(&options)).await else {
        tracing::info!("stopped before anything was begun");
        return Ok(());
    };
    let crew = crew?;
    crew.announce(&options).await?;
    let (store, refusal) = (crew.store.clone(), crew.refusal.clone());
    let mut supervisor = Supervisor::new(shutdown);
    crew.start(&mut supervisor)?;
    let ending = supervisor.run(options.config.shutdown.limit.0).await;
    close(&*store).await;
    let refused = refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
    refused.map_or_else(|| verdict(ending), Err)
}

/// How long closing the store may take, once nobody uses it any more.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

async fn close(store: &dyn Store) {
    if tokio::time::timeout(CLOSE_LIMIT, store.close()).await.is_err() {
        tracing::warn!("the store did not close in time");
    }
}

fn verdict(ending: Ending) -> Result<(), Failure> {
    let hint = match &ending {
        Ending::Clean => {
            tracing::info!("stopped");
            return Ok(());
        }
        // What is known by a code of its own is told by it.
        Ending::Failed { code: Some(code), .. } => {
            return Err(Failure::coded(*code, &ending).hint(store_hint(*code)));
        }
        Ending::Failed { .. } => "the log has more; what was committed is safe",
        Ending::Panicked { .. } => "this is a defect; what was committed is safe, start it again",
        Ending::CutOff { .. } => "their leases run out by themselves; `shutdown.limit` gives them longer",
    };
    Err(Failure::coded(Code::TaskFailed, ending).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::exit::Exit;

    #[test]
    fn only_a_clean_end_is_a_success() {
        assert!(verdict(Ending::Clean).is_ok());
        for ending in [
            Ending::Failed { task: "t".into(), error: "e".into(), code: None },
            Ending::Panicked { task: "t".into(), message: "m".into() },
            Ending::CutOff { tasks: 1 },
        ] {
            let failure = verdict(ending).expect_err("not clean");
            assert_eq!((failure.code, failure.exit), (Some(Code::TaskFailed), Exit::No));
        }
    }

    #[test]
    fn what_has_a_code_of_its_own_is_told_by_it() {
        let code = Some(Code::DiskFull);
        let failure = verdict(Ending::Failed { task: "t".into(), error: "e".into(), code });
        let failure = failure.expect_err("not clean");
        assert_eq!((failure.code, failure.exit), (code, Exit::No));
        assert!(failure.hint.is_some_and(|hint| hint.contains("space")));
    }
}
