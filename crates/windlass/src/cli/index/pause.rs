//! `windlass index pause`, and what it shares with `resume`.

use windlass_core::commit::{Commit, Write};
use windlass_core::store::Store;
use windlass_engine::collect::names::paused_key;

use crate::cli::global::Global;
use crate::collect::progress::{self, IndexState, Known};
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::index::IndexName;
use crate::export;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
    name: IndexName,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    change(&args.name, global, true).await
}

/// Pauses an index, or lets it go on.
pub(super) async fn change(name: &IndexName, global: &Global, pause: bool) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let changed = set(&*store, &loaded.config, name, pause).await;
    store.close().await;
    let word = if pause { "paused" } else { "resumed" };
    let text = match changed? {
        true => format!(
            "{word} {name}; a process that collects it notices at its next look, within the poll interval\n"
        ),
        false if pause => format!("{name} is paused already\n"),
        false => format!("{name} is not paused\n"),
    };
    Ok(output::print(&text)?)
}

/// Whether anything was changed.
async fn set(store: &dyn Store, config: &Config, name: &IndexName, pause: bool) -> Result<bool, Failure> {
    let overview = progress::read(store, &Known::of(config)).await?;
    let known = || overview.indexes.iter().map(|index| index.name.as_str());
    let view = overview.index(name.identifier());
    let view = view.ok_or_else(|| export::missing(name.identifier(), known()))?;
    if view.state == IndexState::Removed {
        return Err(Failure::refused(format_args!(
            "index {name} is not configured: it is not collected anyway"
        )));
    }
    let key = paused_key(name.identifier().as_str()).map_err(Failure::unexpected)?;
    if store.state(&key).await?.is_some() == pause {
        return Ok(false);
    }
    let value = pause.then(|| "true".to_owned());
    store.commit(Commit::of(vec![Write::PutState { key, value }])).await?;
    Ok(true)
}
