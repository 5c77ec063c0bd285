//! `windlass explain`

use windlass_core::code::Code;

use crate::config::problem::nearest;
use crate::failure::Failure;
use crate::output::markdown;
use crate::{explain, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An error's code, such as W0001; without one, all are listed
    #[arg(value_parser = code)]
    code: Option<Code>,
}

/// A code; one that does not exist comes with the nearest that does.
fn code(text: &str) -> Result<Code, String> {
    text.parse().map_err(|error| {
        let wrong = text.to_ascii_uppercase();
        match nearest(&wrong, Code::ALL.iter().map(|code| code.as_str())) {
            Some(near) => format!("{error}; did you mean {near}?"),
            None => format!("{error}; `windlass explain` lists them"),
        }
    })
}

pub(crate) fn run(args: Args) -> Result<(), Failure> {
    let text = match args.code {
        Some(code) => match output::columns() {
            Some(columns) => markdown::render(explain::page(code), columns),
            None => explain::page(code).to_owned(),
        },
        None => Code::ALL.iter().map(|code| format!("{}\n", title(*code))).collect(),
    };
    Ok(output::print(&text)?)
}

/// The first line of a page, without its mark.
fn title(code: Code) -> &'static str {
    explain::page(code).lines().next().unwrap_or_default().trim_start_matches("# ")
}
