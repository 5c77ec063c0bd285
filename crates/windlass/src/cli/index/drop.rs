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
    /// The index; remove its section from the configuration first
    name: IndexName,
    /// Delete its tables with all rows; required
    #[arg(long, requires = "yes")]
    data: bool,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let done = async {
        let stored = Stored::read(&*store, args.name.identifier()).await?;
        refuse_wanted(&loaded.config, &args.name, &stored)?;
        if !args.data {
            return Err(kept(&args.name, &stored));
        }
        drop::remove(&*store, &stored).await?;
        Ok(stored)
    };
    let done = done.await;
    store.close().await;
    Ok(output::print(&format!("removed {}\n", told(&done?)))?)
}

/// Nothing goes unless it is asked for by name; said as a refusal, so that no script takes it for done.
fn kept(name: &IndexName, stored: &Stored) -> Failure {
    Failure::refused(format_args!("nothing was removed without --data: there is still {}", told(stored)))
        .hint(format_args!("to remove it: windlass index drop {name} --data --yes"))
}

fn told(stored: &Stored) -> String {
    let tables: Vec<&str> = stored.tables.iter().map(|info| info.spec.name.as_str()).collect();
    format!("{} with {} rows", tables.join(", "), human::count(stored.rows()))
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
