//! `windlass explain`

use windlass_core::code::Code;

use crate::failure::Failure;
use crate::{explain, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An error's code, such as W0001; without one, all are listed
    code: Option<Code>,
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let text = match args.code {
        Some(code) => explain::page(code).to_owned(),
        None => Code::ALL.iter().map(|code| format!("{}\n", title(*code))).collect(),
    };
    Ok(output::print(&text)?)
}

/// The first line of a page, without its mark.
fn title(code: Code) -> &'static str {
    explain::page(code).lines().next().unwrap_or_default().trim_start_matches("# ")
}
