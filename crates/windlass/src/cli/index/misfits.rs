//! `windlass index misfits`: logs of an index that do not fit its events.
//!
//! They are kept as they came, and are told apart by sorting them once more: what does
//! not fit what is configured now is listed, with the reason.

use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;
use windlass_core::chain::{Address, B256, Bytes};
use windlass_core::event::LogEvent;
use windlass_core::index::{Creation, IndexSpec};
use windlass_core::route::{Router, Sorted};
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::{MAX_EVENT_PAGE, Store};
use windlass_core::table::{Identifier, TableSpec, Value};

use crate::cli::global::Global;
use crate::collect::draft::Draft;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::index::IndexName;
use crate::export;
use crate::failure::Failure;
use crate::output;

/// The most misfits of one page.
const MAX_LISTED: u32 = 1_000;
/// So many bytes of a log's data are shown to people; JSON has all of them.
const MAX_SHOWN_BYTES: usize = 96;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
    name: IndexName,
    /// Continue after this log, the last of the previous page
    #[arg(long, value_name = "BLOCK:LOG")]
    after: Option<LogPlace>,
    /// Maximum number of rows
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LISTED)))]
    limit: u32,
    /// Print JSON with all data
    #[arg(long)]
    json: bool,
}

/// Where a log stands: its block, and its place among the block's logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogPlace(u64, u32);

impl FromStr for LogPlace {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, &'static str> {
        let read = || {
            let (block, log) = text.split_once(':')?;
            Some(Self(block.parse().ok()?, log.parse().ok()?))
        };
        read().ok_or("a block and a place among its logs is wanted, such as 78600000:3")
    }
}

/// A log that does not fit.
#[derive(Debug, Serialize)]
struct MisfitRow {
    block_number: u64,
    log_index: u32,
    block_hash: B256,
    block_timestamp: u64,
    transaction_hash: B256,
    address: String,
    topics: Vec<B256>,
    data: Bytes,
    /// The table that came nearest.
    table: Identifier,
    reason: String,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let found = find(&*store, &loaded.config, &args).await;
    store.close().await;
    let found = found?;
    if args.json {
        return Ok(output::json(&found)?);
    }
    let text: String = found.iter().map(render).collect();
    output::print(if text.is_empty() { "no misfits\n" } else { &text })?;
    if let Some(last) = found.last().filter(|_| found.len() as u64 == u64::from(args.limit)) {
        output::note(&format!("there may be more: --after {}:{}", last.block_number, last.log_index));
    }
    Ok(())
}

async fn find(store: &dyn Store, config: &Config, args: &Args) -> Result<Vec<MisfitRow>, Failure> {
    let tables: Vec<Arc<TableSpec>> = store.list_tables().await?.into_iter().map(|info| info.spec).collect();
    let Some(section) = config.index.get(&args.name) else {
        return Err(not_configured(&args.name, &tables));
    };
    let spec = Draft::new(config, &args.name, section)?.named(&tables)?;
    let router = Router::new(spec.chain, &spec.sources(&created(store, &spec, &tables).await?));
    let mut from = args.after.map_or((0, 0), |LogPlace(block, log)| next(block, log));
    let mut found = Vec::new();
    loop {
        let page = store.events(spec.chain, from, MAX_EVENT_PAGE).await?;
        let Some(last) = page.last() else { return Ok(found) };
        from = next(last.block.number, last.log_index);
        let room = args.limit as usize - found.len();
        found.extend(page.iter().filter_map(|log| misfit(&router, log)).take(room));
        if found.len() == args.limit as usize {
            return Ok(found);
        }
    }
}

/// The place behind a log.
const fn next(block: u64, log_index: u32) -> (u64, u32) {
    match log_index.checked_add(1) {
        Some(log_index) => (block, log_index),
        None => (block + 1, 0),
    }
}

/// A log with the reason why it does not fit, if it is the index's and does not.
fn misfit(router: &Router, log: &LogEvent) -> Option<MisfitRow> {
    let mut sorted = Sorted::default();
    router.route(log, &mut sorted);
    let report = sorted.misfits.pop()?;
    Some(MisfitRow {
        block_number: log.block.number,
        log_index: log.log_index,
        block_hash: log.block.hash,
        block_timestamp: log.timestamp_s,
        transaction_hash: log.transaction_hash,
        address: log.address.to_string(),
        topics: log.topics.as_slice().to_vec(),
        data: log.data.clone(),
        table: report.table,
        reason: report.reason.to_string(),
    })
}

/// The contracts that were created, as far as they are known.
async fn created(
    store: &dyn Store,
    spec: &IndexSpec,
    tables: &[Arc<TableSpec>],
) -> Result<Vec<Address>, Failure> {
    let mut created = Vec::new();
    let Some(Creation { table, column }) = &spec.creation else { return Ok(created) };
    if !tables.iter().any(|known| known.name == table.name) {
        return Ok(created);
    }
    let mut query = RowQuery {
        table: table.name.clone(),
        conditions: Vec::new(),
        order: RowOrder::OldestFirst,
        after: None,
        limit: MAX_ROW_PAGE,
    };
    loop {
        let page = store.rows(&query).await?;
        let Some(last) = page.last() else { return Ok(created) };
        query.after = Some(last.head.key());
        created.extend(page.iter().filter_map(|row| match row.values.get(*column) {
            Some(Value::Address(address)) => Some(*address),
            _ => None,
        }));
    }
}

fn not_configured(name: &IndexName, tables: &[Arc<TableSpec>]) -> Failure {
    let known = || tables.iter().map(|table| table.index.as_str());
    if !known().any(|known| known == name.identifier().as_str()) {
        return export::missing(name.identifier(), known());
    }
    Failure::refused(format_args!("index {name} is not configured: nobody can say what would fit"))
        .hint(format_args!("write `[index.{name}]` as it was, and ask again"))
}

fn render(row: &MisfitRow) -> String {
    let mut text = format!("block {}, log {}: {}\n", row.block_number, row.log_index, row.reason);
    let mut line = |name: &str, value: String| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "  {name:<11} {value}");
    };
    line("table", row.table.to_string());
    line("transaction", row.transaction_hash.to_string());
    line("address", row.address.clone());
    let topics: Vec<String> = row.topics.iter().map(ToString::to_string).collect();
    line("topics", topics.join("\n              "));
    line("data", shown(&row.data));
    text
}

fn shown(data: &Bytes) -> String {
    match data.get(..MAX_SHOWN_BYTES) {
        Some(start) if data.len() > MAX_SHOWN_BYTES => {
            format!("{}… of {} bytes; --json has all", Bytes::copy_from_slice(start), data.len())
        }
        _ => data.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_block_and_a_log() {
        assert_eq!("7:3".parse(), Ok(LogPlace(7, 3)));
        for text in ["", "7", "7:", ":3", "7:-1", "7:3:1", "a:b"] {
            assert!(text.parse::<LogPlace>().is_err(), "{text}");
        }
        assert_eq!([next(7, 3), next(7, u32::MAX)], [(7, 4), (8, 0)]);
    }

    #[test]
    fn long_data_is_cut_for_people() {
        assert_eq!(shown(&Bytes::from(vec![1, 2])), "0x0102");
        let long = shown(&Bytes::from(vec![0xff; 1_000]));
        assert!(long.len() < 300 && long.ends_with("… of 1000 bytes; --json has all"), "{long}");
    }
}
