//! `windlass jobs show`

use std::fmt::Write;

use windlass_core::code::Code;
use windlass_core::job::{JobId, JobRow, JobState};

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::{self, time};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job's id, such as 12-3
    id: JobId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let row = store.show_job(args.id).await;
    store.close().await;
    let row = row?.ok_or_else(|| missing(args.id))?;
    if args.json {
        return Ok(output::json(&row)?);
    }
    Ok(output::print(&render(&row))?)
}

fn missing(id: JobId) -> Failure {
    Failure::coded(Code::JobMissing, format_args!("job {id} is neither open nor dead"))
        .hint("`windlass jobs list` shows open jobs, `windlass jobs dead` those given up")
}

fn render(row: &JobRow) -> String {
    let at = match row.state {
        JobState::Waiting | JobState::Retrying => "due",
        JobState::Running => "held until",
        JobState::Dead => "died",
    };
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name:<11} {}", value.replace('\n', "\n            "));
    };
    line("id", &row.id.to_string());
    line("queue", row.queue.as_str());
    line("key", row.key.as_str());
    line("state", &row.state.to_string());
    line("attempts", &row.attempts.to_string());
    line("enqueued", &time::instant(row.enqueued_at));
    line(at, &time::instant(row.at));
    if let Some(owner) = &row.owner {
        line("owner", owner.as_str());
    }
    if let Some(error) = &row.error {
        line("error", error);
    }
    line("payload", &row.payload);
    text
}
