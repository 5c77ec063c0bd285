//! `windlass status`

use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;
use windlass_core::cursor::Cursor;
use windlass_core::error::StoreResult;
use windlass_core::job::QueueCounts;
use windlass_core::lease::Lease;
use windlass_core::name::CursorName;
use windlass_core::outbox::SinkDepth;
use windlass_core::store::{Store, StoreInfo};

use super::global::Global;
use super::index;
use crate::collect::progress::{ChainView, IndexView, Overview};
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::table::{self, Side};
use crate::output::{self, time};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How everything stands.
#[derive(Debug, Serialize)]
struct Status {
    store: StoreInfo,
    chains: Vec<ChainView>,
    indexes: Vec<IndexView>,
    queues: Vec<QueueCounts>,
    outbox: Vec<SinkDepth>,
    cursors: Vec<Position>,
    leases: Vec<Lease>,
}

/// Where a loop has got to.
#[derive(Debug, Serialize)]
struct Position {
    name: CursorName,
    cursor: Cursor,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let status = read(&store, &loaded.config).await;
    store.close().await;
    let status = status?;
    if args.json {
        return Ok(output::json(&status)?);
    }
    Ok(output::print(&render(&status))?)
}

async fn read(store: &Arc<dyn Store>, config: &Config) -> Result<Status, Failure> {
    let Overview { chains, indexes } = index::look(&**store, config).await?;
    Ok(Status {
        store: store.describe().await?,
        chains,
        indexes,
        queues: store.count_jobs().await?,
        outbox: store.outbox_depth().await?,
        cursors: cursors(&**store).await?,
        leases: store.list_leases().await?,
    })
}

async fn cursors(store: &dyn Store) -> StoreResult<Vec<Position>> {
    let listed = store.list_cursors().await?;
    Ok(listed.into_iter().map(|(name, cursor)| Position { name, cursor }).collect())
}

fn render(status: &Status) -> String {
    let StoreInfo { kind, version, place, schema } = &status.store;
    let mut text = format!("store: {kind} {version} at {place}, schema {schema}\n");
    section(&mut text, "chains", chains(&status.chains));
    section(&mut text, "indexes", index::list::render(&status.indexes));
    text.push_str(&index::list::concerns(&status.chains));
    section(&mut text, "jobs", queues(&status.queues));
    section(&mut text, "outbox", outbox(&status.outbox));
    section(&mut text, "cursors", positions(&status.cursors));
    section(&mut text, "leases", leases(&status.leases));
    text
}

fn section(text: &mut String, title: &str, table: Option<String>) {
    // Writing to a `String` cannot fail.
    let _ = match table {
        Some(table) => write!(text, "\n{title}\n{table}"),
        None => write!(text, "\n{title}: none\n"),
    };
}

fn chains(chains: &[ChainView]) -> Option<String> {
    let header = [
        ("chain", Side::Left),
        ("id", Side::Right),
        ("state", Side::Left),
        ("head", Side::Right),
        ("final", Side::Right),
        ("followed", Side::Right),
        ("lag", Side::Right),
        ("reorgs", Side::Right),
        ("open ranges", Side::Right),
        ("dead ranges", Side::Right),
        ("misfits", Side::Right),
    ];
    let block = |block: Option<u64>| block.map_or("-".to_owned(), |block| block.to_string());
    let rows = chains.iter().map(|chain| {
        vec![
            chain.name.clone().unwrap_or_else(|| "-".to_owned()),
            chain.id.to_string(),
            chain.health.state.as_str().to_owned(),
            block(chain.head),
            block(chain.finalized),
            block(chain.followed),
            block(chain.lag_blocks),
            chain.reorgs.to_string(),
            chain.open_ranges.to_string(),
            chain.dead_ranges.to_string(),
            chain.misfits.to_string(),
        ]
    });
    (!chains.is_empty()).then(|| table::render(&header, rows))
}

fn queues(queues: &[QueueCounts]) -> Option<String> {
    let header = [
        ("queue", Side::Left),
        ("open", Side::Right),
        ("running lanes", Side::Right),
        ("retrying lanes", Side::Right),
        ("dead", Side::Right),
    ];
    let rows = queues.iter().map(|counts| {
        let numbers = [counts.open, counts.running_lanes, counts.retrying_lanes, counts.dead];
        [counts.queue.to_string()].into_iter().chain(numbers.map(|n| n.to_string())).collect()
    });
    (!queues.is_empty()).then(|| table::render(&header, rows))
}

fn outbox(sinks: &[SinkDepth]) -> Option<String> {
    let header = [("sink", Side::Left), ("waiting", Side::Right), ("dead", Side::Right)];
    let rows = sinks
        .iter()
        .map(|depth| vec![depth.sink.to_string(), depth.waiting.to_string(), depth.dead.to_string()]);
    (!sinks.is_empty()).then(|| table::render(&header, rows))
}

fn positions(positions: &[Position]) -> Option<String> {
    let header = [("cursor", Side::Left), ("at", Side::Right), ("which is", Side::Left)];
    let rows = positions.iter().map(|position| {
        let cursor = &position.cursor;
        vec![position.name.to_string(), cursor.primary().to_string(), cursor.secondary().to_owned()]
    });
    (!positions.is_empty()).then(|| table::render(&header, rows))
}

fn leases(leases: &[Lease]) -> Option<String> {
    let header =
        [("lease", Side::Left), ("owner", Side::Left), ("epoch", Side::Right), ("until", Side::Left)];
    let rows = leases.iter().map(|lease| {
        vec![
            lease.name.to_string(),
            lease.owner.to_string(),
            lease.epoch.0.to_string(),
            time::instant(lease.expires_at),
        ]
    });
    (!leases.is_empty()).then(|| table::render(&header, rows))
}
