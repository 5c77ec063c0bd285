//! `windlass jobs retry`

use windlass_core::code::Code;
use windlass_core::job::{JobFilter, JobId, MAX_LISTED_JOBS};
use windlass_core::name::Queue;
use windlass_core::store::Store;

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids of dead jobs, such as 12-3
    #[arg(required_unless_present = "all")]
    ids: Vec<JobId>,
    /// Every dead job
    #[arg(long, conflicts_with = "ids")]
    all: bool,
    /// With --all: only jobs of this queue
    #[arg(long, requires = "all")]
    queue: Option<Queue>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which dead jobs are meant.
enum Chosen {
    These(Vec<JobId>),
    All(Option<Queue>),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let chosen = if args.all { Chosen::All(args.queue) } else { Chosen::These(args.ids) };
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let requeued = retry(&*store, chosen).await;
    store.close().await;
    let requeued = requeued?;
    if args.json {
        return Ok(output::json(&requeued)?);
    }
    let text = match requeued.as_slice() {
        [] => "no dead jobs\n".to_owned(),
        ids => ids.iter().map(|id| format!("requeued as {id}\n")).collect(),
    };
    Ok(output::print(&text)?)
}

async fn retry(store: &dyn Store, chosen: Chosen) -> Result<Vec<JobId>, Failure> {
    match chosen {
        Chosen::All(queue) => all(store, queue).await,
        Chosen::These(ids) => {
            let requeued = store.requeue_dead_jobs(&ids).await?;
            if requeued.is_empty() {
                return Err(Failure::coded(Code::JobMissing, "none of these jobs is dead")
                    .hint("`windlass jobs dead` lists the dead ones"));
            }
            Ok(requeued)
        }
    }
}

/// Those that are dead now: what dies again while this runs is left for the next time.
async fn all(store: &dyn Store, queue: Option<Queue>) -> Result<Vec<JobId>, Failure> {
    let mut filter = JobFilter { queue, dead: true, after: None, limit: MAX_LISTED_JOBS };
    let mut dead = Vec::new();
    loop {
        let page: Vec<JobId> = store.list_jobs(&filter).await?.iter().map(|row| row.id).collect();
        filter.after = page.last().copied();
        dead.extend(page);
        if filter.after.is_none() {
            break;
        }
    }
    let mut requeued = Vec::new();
    for ids in dead.chunks(MAX_LISTED_JOBS as usize) {
        requeued.extend(store.requeue_dead_jobs(ids).await?);
    }
    Ok(requeued)
}
