//! `windlass config check`

use crate::cli::global::Global;
use crate::collect::draft::{self, Draft};
use crate::config::load::invalid;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(global: &Global) -> Result<(), Failure> {
    let (loaded, mut problems) = global.examine()?;
    // ABI files are a part of it.
    for (name, section) in loaded.config.index.iter().filter(|(_, section)| section.abi.is_some()) {
        let troubles = draft::abi_troubles(&loaded.config, name, section);
        problems.extend(troubles.into_iter().map(|trouble| trouble.problem(name, &loaded.tree)));
    }
    if problems.is_empty() {
        let drafts =
            loaded.config.index.iter().map(|(name, section)| Draft::new(&loaded.config, name, section));
        let drafts = drafts.collect::<Result<Vec<_>, _>>()?;
        let crowds = draft::crowds(&drafts).into_iter();
        problems.extend(crowds.map(|(name, trouble)| trouble.problem(name, &loaded.tree)));
    }
    if !problems.is_empty() {
        return Err(invalid(problems));
    }
    let place = match &loaded.file {
        Some(path) => path.display().to_string(),
        None => "no file, defaults and environment".to_owned(),
    };
    Ok(output::print(&format!("ok: {place}\n"))?)
}
