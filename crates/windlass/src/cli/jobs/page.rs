//! What `jobs list` and `jobs dead` share: a page of jobs.

use windlass_core::job::{JobFilter, JobId, JobRow, MAX_LISTED_JOBS};
use windlass_core::name::Queue;

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::table::{self, Side};
use crate::output::{self, time};

/// The longest error a listing shows, in characters; `jobs show` has all of it.
const MAX_SHOWN_ERROR_CHARS: usize = 60;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct PageArgs {
    /// Only jobs of this queue
    #[arg(long)]
    queue: Option<Queue>,
    /// Continue after this job, the last of the previous page
    #[arg(long, value_name = "ID")]
    after: Option<JobId>,
    /// Maximum number of rows
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LISTED_JOBS)))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PageArgs {
    fn filter(self, dead: bool) -> JobFilter {
        JobFilter { queue: self.queue, dead, after: self.after, limit: self.limit }
    }
}

/// Prints a page of open or dead jobs.
pub(crate) async fn run(args: PageArgs, dead: bool, global: &Global) -> Result<(), Failure> {
    let json = args.json;
    let filter = args.filter(dead);
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let rows = store.list_jobs(&filter).await;
    store.close().await;
    let rows = rows?;
    if json {
        return Ok(output::json(&rows)?);
    }
    output::print(&render(&rows))?;
    if let Some(last) = rows.last().filter(|_| rows.len() as u64 == u64::from(filter.limit)) {
        output::note(&format!("there may be more: --after {}", last.id));
    }
    Ok(())
}

fn render(rows: &[JobRow]) -> String {
    if rows.is_empty() {
        return "no jobs\n".to_owned();
    }
    let header = [
        ("id", Side::Left),
        ("queue", Side::Left),
        ("key", Side::Left),
        ("state", Side::Left),
        ("attempts", Side::Right),
        ("at", Side::Left),
        ("error", Side::Left),
    ];
    table::render(
        &header,
        rows.iter().map(|row| {
            vec![
                row.id.to_string(),
                row.queue.to_string(),
                row.key.to_string(),
                row.state.to_string(),
                row.attempts.to_string(),
                time::instant(row.at),
                shortened(row.error.as_deref().unwrap_or("-")),
            ]
        }),
    )
}

/// The first line of an error, as far as a table has room for it.
fn shortened(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_SHOWN_ERROR_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_is_cut_between_characters() {
        assert_eq!(shortened("short\nsecond line"), "short");
        assert_eq!(shortened(&"é".repeat(100)).chars().count(), MAX_SHOWN_ERROR_CHARS + 1);
    }
}
