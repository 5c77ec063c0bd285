//! `windlass run`

use super::global::Global;
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
    let options = RunOptions { roles: Role::chosen(args.roles), is_explicit, config: loaded.config };
    run::run(options, signals::shutdown()?).await
}
