//! The daemon: the store, and the roles that this process plays on it.
//!
//! Everything that can be wrong is found before any work begins; then every role
//! is a task under one supervisor, and they end together.

pub(crate) mod role;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;
use windlass_core::store::Store;
use windlass_engine::supervise::{Ending, Supervisor};
use windlass_engine::upkeep::Upkeep;

use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use role::Role;

/// What to run.
#[derive(Debug)]
pub(crate) struct RunOptions {
    /// The parts this process plays.
    pub(crate) roles: Vec<Role>,
    /// What is in force.
    pub(crate) config: Config,
}

/// Runs until the token is cancelled or a task fails.
pub(crate) async fn run(options: RunOptions, shutdown: CancellationToken) -> Result<(), Failure> {
    let store = store::open(&options.config.database, Access::Work).await?;
    let info = store.describe().await?;
    let mut supervisor = Supervisor::new(shutdown);
    for role in &options.roles {
        spawn(*role, &mut supervisor, store.clone());
    }
    let roles: Vec<&str> = options.roles.iter().map(|role| role.as_str()).collect();
    let roles = roles.join(",");
    tracing::info!(store = info.kind, place = info.place, schema = info.schema, roles, "running");
    tracing::warn!("no job is configured yet: nothing is collected, this process only keeps the store small");
    let limit = options.config.shutdown.limit.0;
    let ending = supervisor.run(limit).await;
    close(&*store).await;
    verdict(ending)
}

fn spawn(role: Role, supervisor: &mut Supervisor, store: Arc<dyn Store>) {
    match role {
        Role::Upkeep => {
            let upkeep = Upkeep::new(store);
            supervisor.spawn("upkeep", |shutdown| async move { Ok(upkeep.run(shutdown).await?) });
        }
    }
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
            Ending::Failed { task: "t".into(), error: "e".into() },
            Ending::Panicked { task: "t".into(), message: "m".into() },
            Ending::CutOff { tasks: 1 },
        ] {
            let failure = verdict(ending).expect_err("not clean");
            assert_eq!((failure.code, failure.exit), (Some(Code::TaskFailed), Exit::No));
        }
    }
}
