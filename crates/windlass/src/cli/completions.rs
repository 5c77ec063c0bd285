//! `windlass completions`

use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "windlass", &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}
