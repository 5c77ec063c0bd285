//! `windlass index list`

use std::fmt::Write;

use crate::cli::global::Global;
use crate::collect::progress::{ChainView, IndexView};
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::style::{self, paint};
use crate::output::table::{self, Side};
use crate::output::{self, human};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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
    if args.json {
        return Ok(output::json(&overview.indexes)?);
    }
    let table = render(&overview.indexes).unwrap_or_else(|| "no indexes\n".to_owned());
    Ok(output::print(&(table + &concerns(&overview.chains)))?)
}

/// What wants somebody's attention, with what to do and where to read on.
pub(crate) fn concerns(chains: &[ChainView]) -> String {
    let mut text = String::new();
    for (chain, concern) in chains.iter().flat_map(|chain| chain.concerns().map(move |one| (chain, one))) {
        let label = paint(style::WARNING, format_args!("warning[{}]:", concern.code));
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "\n{label} {}: {}", chain.label(), concern.message);
        if let Some(hint) = concern.hint {
            let _ = writeln!(text, "{} {hint}", paint(style::GOOD, "hint:"));
        }
    }
    text
}

/// A line for each index; nothing where there is none.
pub(crate) fn render(indexes: &[IndexView]) -> Option<String> {
    let header = [
        ("index", Side::Left),
        ("chain", Side::Left),
        ("state", Side::Left),
        ("health", Side::Left),
        ("start", Side::Right),
        ("through", Side::Right),
        ("head", Side::Right),
        ("lag", Side::Right),
        ("done", Side::Right),
        ("events", Side::Right),
        ("events/s", Side::Right),
        ("left", Side::Right),
        ("gaps", Side::Right),
    ];
    (!indexes.is_empty()).then(|| table::render(&header, indexes.iter().map(row)))
}

fn row(index: &IndexView) -> Vec<String> {
    let block = |block: Option<u64>| block.map_or("-".to_owned(), |block| block.to_string());
    vec![
        index.name.to_string(),
        index.chain_name.clone().unwrap_or_else(|| index.chain.to_string()),
        index.state.as_str().to_owned(),
        index.health.state.as_str().to_owned(),
        block(index.start),
        block(index.collected_through),
        block(index.head),
        block(index.lag_blocks),
        index.percent().map_or("-".to_owned(), |percent| format!("{} %", whole(percent))),
        human::count(index.events),
        index.events_per_s.map_or("-".to_owned(), human::rate),
        index.eta_s.map_or("-".to_owned(), human::seconds),
        index.gaps.len().to_string(),
    ]
}

/// Percents with one decimal. What is not whole is never shown as 100.
pub(crate) fn whole(percent: f64) -> String {
    format!("{:.1}", (percent * 10.0).floor() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_everything_is_not_everything() {
        assert_eq!([0.0, 49.96, 99.999, 100.0].map(whole), ["0.0", "49.9", "99.9", "100.0"]);
    }
}
