//! `windlass config check`

use crate::cli::global::Global;
use crate::collect::draft::Draft;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    // ABI files are a part of it.
    Draft::all(&loaded.config)?;
    let place = match &loaded.file {
        Some(path) => path.display().to_string(),
        None => "no file, defaults and environment".to_owned(),
    };
    Ok(output::print(&format!("ok: {place}\n"))?)
}
