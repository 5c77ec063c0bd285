//! `windlass index show`

use std::fmt::Write;

use crate::cli::global::Global;
use crate::collect::progress::IndexView;
use crate::compose::store::{self, Access};
use crate::config::index::IndexName;
use crate::export;
use crate::failure::Failure;
use crate::output::{self, human};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
    name: IndexName,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let overview = super::look(&*store, &loaded.config).await;
    store.close().await;
    let overview = overview?;
    let known = || overview.indexes.iter().map(|index| index.name.as_str());
    let view = overview.index(args.name.identifier());
    let view = view.ok_or_else(|| export::missing(args.name.identifier(), known()))?;
    if args.json {
        return Ok(output::json(view)?);
    }
    Ok(output::print(&render(view))?)
}

fn render(index: &IndexView) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name:<9} {value}");
    };
    let block = |block: Option<u64>| block.map_or("unknown".to_owned(), |block| block.to_string());
    line("index", index.name.to_string());
    let chain = index.chain_name.as_ref().map_or(String::new(), |name| format!("{name}, "));
    line("chain", format!("{chain}id {}", index.chain));
    line("state", index.state.as_str().to_owned());
    let health = index.health.state.as_str();
    line(
        "health",
        match (index.health.code, &index.health.message) {
            (Some(code), Some(message)) => format!("{health}: {message} (see: windlass explain {code})"),
            _ => health.to_owned(),
        },
    );
    line("start", block(index.start));
    line("through", index.collected_through.map_or("nothing yet".to_owned(), |through| through.to_string()));
    line("head", format!("{}, final {}", block(index.head), block(index.finalized)));
    line("lag", index.lag_blocks.map_or("unknown".to_owned(), |lag| format!("{} blocks", human::count(lag))));
    line("events", human::count(index.events));
    if let Some(rate) = index.events_per_s {
        line("rate", format!("{} events/s", human::rate(rate)));
    }
    if let Some(eta_s) = index.eta_s {
        line("left", human::seconds(eta_s));
    }
    for gap in &index.gaps {
        line("gap", format!("blocks {} to {}, given up: `windlass jobs dead` says why", gap.from, gap.to));
    }
    for table in &index.tables {
        line("table", format!("{}: {}, {} rows", table.name, table.signature, human::count(table.rows)));
    }
    text
}
