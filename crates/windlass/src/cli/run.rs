//! `windlass run`

use windlass_core::code::Code;

use super::global::Global;
use crate::compose::store;
use crate::config::Loaded;
use crate::config::database::Location;
use crate::failure::Failure;
use crate::run::role::Role;
use crate::run::{self, RunOptions};
use crate::{output, signals};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What this process does, several separated by commas [default: everything]
    #[arg(long = "role", value_name = "ROLE", value_enum, value_delimiter = ',')]
    roles: Vec<Role>,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let is_explicit = !args.roles.is_empty();
    if !is_explicit {
        refuse_nothing(&loaded)?;
    }
    let options = RunOptions { roles: Role::chosen(args.roles), is_explicit, config: loaded.config };
    run::run(options, signals::shutdown()?).await
}

/// Where nothing is configured and nothing was ever stored, nothing would run: says what to do first.
fn refuse_nothing(loaded: &Loaded) -> Result<(), Failure> {
    // How logs look is no configuration of what is to run.
    let is_configured = loaded.file.is_some() || loaded.tree.keys().any(|section| section != "log");
    let has_database =
        !matches!(store::locate(&loaded.config.database)?, Location::Sqlite(path) if !path.exists());
    if is_configured || has_database {
        return Ok(());
    }
    Err(Failure::coded(Code::ConfigUnreadable, "there is nothing to run: this folder has no windlass.toml")
        .details([
            "windlass init      writes one that collects a contract's events".to_owned(),
            "windlass pay init  writes one that pays out, with keys and a vault".to_owned(),
            "windlass demo      shows both at work, without a configuration".to_owned(),
        ]))
}
