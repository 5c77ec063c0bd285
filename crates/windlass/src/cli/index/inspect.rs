//! Looks at an index that somebody wants to add: the file with it in, its chain and
//! its contracts. Nothing is written.

use std::path::Path;

use windlass_core::code::Code;
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_engine::collect::deployment;

use super::section::Section;
use crate::cli::global::Global;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::retry::{RetryingReader, retrying};
use crate::collect::sample::{self, Sample};
use crate::collect::{preflight, prepare};
use crate::config::index::start::Start;
use crate::failure::Failure;
use crate::output;
use crate::output::style::{self, paint};

/// What was seen of an index.
pub(crate) struct Inspected {
    /// Where it begins: where it was told to, or where the first of its contracts came to be.
    pub(crate) start: Start,
    /// Whether the contracts' first logs have none of one of its events, which was said.
    pub(crate) has_unseen: bool,
}

/// Makes sure that the index can be collected, and looks where it begins. `text` is the whole file.
pub(crate) async fn inspect(
    global: &Global,
    path: &Path,
    text: &str,
    section: &Section,
) -> Result<Inspected, Failure> {
    let config = global.read(path, text)?;
    let wanted = config.index.get(&section.name).zip(config.chain.get(&section.chain));
    let (index, chain) = wanted.ok_or_else(|| {
        let message = format!("`[index.{}]` is not in force: something else overrides it", section.name);
        Failure::coded(Code::ConfigInvalid, message).hint("`windlass config show` says what is")
    })?;
    let draft = Draft::new(&config, &section.name, index)?;
    let endpoints = Endpoints::open(&section.chain, chain)?;
    let known = preflight::Known::default();
    retrying(|| preflight::check(&endpoints, std::slice::from_ref(&draft), &known)).await?;
    if let Some(start) = section.start {
        warn_if_above_head(&endpoints, start).await?;
        let has_unseen = warn_if_unseen(&endpoints, &draft, start).await;
        return Ok(Inspected { start, has_unseen });
    }
    let mut first = u64::MAX;
    for contract in draft.contracts() {
        let reader = RetryingReader(&*endpoints.pool);
        let found = deployment::first_block(&reader, *contract, endpoints.finality).await;
        let found = found.map_err(|error| prepare::not_found(error, &endpoints, &draft))?;
        first = first.min(found);
    }
    let start = Start::Block(first);
    let has_unseen = warn_if_unseen(&endpoints, &draft, start).await;
    Ok(Inspected { start, has_unseen })
}

/// A signature that none of the contract's first logs has is likelier a slip than a plan.
/// Logs that cannot be had are no reason to refuse the index.
async fn warn_if_unseen(endpoints: &Endpoints, draft: &Draft, start: Start) -> bool {
    let Start::Block(first) = start else { return false };
    let Ok(sample) = Sample::read(&*endpoints.pool, draft, first).await else { return false };
    let unseen = sample.unseen(draft);
    for message in &unseen {
        let (label, code) = (paint(style::WARNING, "warning"), Code::EventUnseen);
        output::note(&format!(
            "{label}[{code}]: {message}\n{} {}",
            paint(style::GOOD, "hint:"),
            sample::HINT
        ));
    }
    !unseen.is_empty()
}

/// A first block that does not exist yet is likelier a slip than a plan.
async fn warn_if_above_head(endpoints: &Endpoints, start: Start) -> Result<(), Failure> {
    let Start::Block(first) = start else { return Ok(()) };
    let newest = RetryingReader(&*endpoints.pool).header(BlockTag::Latest).await?;
    let newest = newest.map(|header| header.block.number);
    if let Some(newest) = newest.filter(|newest| first > *newest) {
        let label = paint(style::WARNING, "warning:");
        output::note(&format!(
            "{label} block {first} does not exist yet, the newest is {newest}: nothing is collected before it comes"
        ));
    }
    Ok(())
}
