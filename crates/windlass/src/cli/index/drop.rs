//! `windlass index drop`

use crate::cli::global::Global;
use crate::collect::change;
use crate::collect::draft::Draft;
use crate::collect::drop::{self, Stored};
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::index::IndexName;
use crate::failure::Failure;
use crate::output::{self, human};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which index
    name: IndexName,
    /// Remove its tables with everything in them
    #[arg(long, requires = "yes")]
    data: bool,
    /// Yes, really
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let done = async {
        let stored = Stored::read(&*store, args.name.identifier()).await?;
        refuse_wanted(&loaded.config, &args.name, &stored)?;
        if args.data {
            drop::remove(&*store, &stored).await?;
        }
        Ok::<_, Failure>(stored)
    };
    let done = done.await;
    store.close().await;
    let stored = done?;
    let rows = human::count(stored.rows());
    let tables: Vec<&str> = stored.tables.iter().map(|info| info.spec.name.as_str()).collect();
    let text = match args.data {
        true => format!("removed {} with {rows} rows\n", tables.join(", ")),
        false => format!(
            "{} is not configured and not collected; its data is kept: {} with {rows} rows\n",
            args.name,
            tables.join(", ")
        ),
    };
    output::print(&text)?;
    if !args.data {
        output::note(&format!("to remove it: windlass index drop {} --data --yes", args.name));
    }
    Ok(())
}

/// What the configuration wants as it is stays. What it contradicts may go.
fn refuse_wanted(config: &Config, name: &IndexName, stored: &Stored) -> Result<(), Failure> {
    let Some(section) = config.index.get(name) else { return Ok(()) };
    let draft = Draft::new(config, name, section)?;
    if change::conflict(&draft, &stored.tables, &stored.plan_of(draft.chain())).is_some() {
        return Ok(());
    }
    Err(Failure::refused(format_args!("index {name} is configured, and would be collected anew")).hint(
        format_args!("remove `[index.{name}]` first; `windlass index pause {name}` stops it for a while"),
    ))
}
