//! `windlass audit`

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;

use serde::Serialize;
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_core::range::BlockRange;
use windlass_core::reader::ChainReader;
use windlass_engine::collect::audit::{Audit, Audited, Proof};
use windlass_engine::collect::chain::CollectedChain;
use windlass_engine::collect::compare::Compared;

use super::global::Global;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::ledger::unnamed;
use crate::collect::prepare;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::chain::ChainName;
use crate::config::secret::Secret;
use crate::failure::Failure;
use crate::output::{self, human};

/// The most differences that are named; all are counted.
const MAX_NAMED: usize = 100;
/// A line is said every so many pages where there is no terminal.
const PAGES_PER_LINE: u64 = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which chain, by its name in the configuration
    #[arg(long, value_parser = chain_name)]
    chain: ChainName,
    /// The first block; where collecting began, if it is left out
    #[arg(long)]
    from: Option<u64>,
    /// The last block; the last final one that was collected, if it is left out
    #[arg(long)]
    to: Option<u64>,
    /// Another endpoint, asked where a block does not prove itself: a URL, env:NAME or file:PATH
    #[arg(long, value_name = "URL", value_parser = secret)]
    rpc: Option<Secret>,
    /// Collect blocks that differ anew
    #[arg(long)]
    repair: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn chain_name(text: &str) -> Result<ChainName, String> {
    ChainName::try_from(text.to_owned())
}

fn secret(text: &str) -> Result<Secret, String> {
    Secret::try_from(text.to_owned()).map_err(|error| error.to_string())
}

/// What the audit found.
#[derive(Debug, Serialize)]
struct Report {
    chain: ChainName,
    blocks: BlockRange,
    proofs: Vec<Proven>,
    missing: u64,
    extra: u64,
    altered: u64,
    differences: Vec<Difference>,
    disputed_blocks: Vec<u64>,
    repaired_blocks: u64,
    /// Told by creations that had been missing.
    contracts_found: u64,
    /// Still being collected.
    skipped_blocks: u64,
}

/// How many blocks stand on a proof.
#[derive(Debug, Serialize)]
struct Proven {
    by: Proof,
    blocks: u64,
}

/// One row that differs.
#[derive(Debug, Serialize)]
struct Difference {
    what: &'static str,
    table: String,
    block: u64,
    log_index: u32,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    if args.from.zip(args.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("nothing lies between --from and --to").hint("--from comes first"));
    }
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let audited = async {
        let audit = compose(&args, &loaded.config, store.clone()).await?;
        examine(&args, &audit).await
    };
    let audited = audited.await;
    store.close().await;
    let report = audited?;
    if args.json {
        output::json(&report)?;
    } else {
        output::print(&report.render())?;
    }
    report.verdict()
}

/// The audit of a configured chain.
async fn compose(
    args: &Args,
    config: &Config,
    store: Arc<dyn windlass_core::store::Store>,
) -> Result<Audit, Failure> {
    let section = config.chain.get(&args.chain).ok_or_else(|| {
        Failure::refused(format_args!("there is no chain `{}` in the configuration", args.chain))
            .hint("`windlass config show` lists the chains")
    })?;
    let endpoints = Endpoints::open(&args.chain, section)?;
    endpoints.check_chain().await?;
    let catalog = prepare::catalog(&*store, &endpoints, &Draft::all(config)?).await?;
    let owner = Owner::new(format!("audit-{}", std::process::id())).map_err(unnamed)?;
    let second: Option<Arc<dyn ChainReader>> = match &args.rpc {
        Some(secret) => Some(Arc::new(second(secret, section.id)?)),
        None => None,
    };
    let options = prepare::options(section, owner);
    let chain = CollectedChain::new(options, store, endpoints.pool.clone(), catalog).map_err(unnamed)?;
    Ok(Audit::new(Arc::new(chain), second).await?)
}

fn second(secret: &Secret, chain: windlass_core::chain::ChainId) -> Result<EvmPool, Failure> {
    use secrecy::ExposeSecret;
    let url = secret.resolve().map_err(|error| Failure::coded(Code::SecretMissing, error))?;
    Ok(EvmPool::new(&[url.expose_secret()], chain, PoolOptions::default())?)
}

async fn examine(args: &Args, audit: &Audit) -> Result<Report, Failure> {
    let extent = audit.extent().await?.ok_or_else(|| {
        Failure::refused("nothing has been collected of this chain yet").hint("start `windlass run` first")
    })?;
    let blocks = BlockRange {
        from: args.from.unwrap_or(extent.from).max(extent.from),
        to: args.to.unwrap_or(extent.to).min(extent.to),
    };
    if blocks.from > blocks.to {
        let hint = format!("blocks {} to {} can be audited", extent.from, extent.to);
        return Err(Failure::refused("there is no block to audit between --from and --to").hint(hint));
    }
    let mut report = Report::new(args.chain.clone(), blocks);
    let (mut from, mut pages) = (blocks.from, 0);
    while let Some(page) = next_page(audit, from, blocks.to).await? {
        report.skipped_blocks += page.from - from;
        report.add(audit.page(page, args.repair).await?);
        pages += 1;
        if std::io::stderr().is_terminal() || pages % PAGES_PER_LINE == 0 {
            tracing::info!(block = page.to, of = blocks.to, "audited");
        }
        from = page.to + 1;
    }
    report.skipped_blocks += (blocks.to + 1).saturating_sub(from);
    Ok(report)
}

async fn next_page(audit: &Audit, from: u64, to: u64) -> Result<Option<BlockRange>, Failure> {
    if from > to { Ok(None) } else { Ok(audit.next_page(from, to).await?) }
}

impl Report {
    fn new(chain: ChainName, blocks: BlockRange) -> Self {
        Self {
            chain,
            blocks,
            proofs: Vec::new(),
            missing: 0,
            extra: 0,
            altered: 0,
            differences: Vec::new(),
            disputed_blocks: Vec::new(),
            repaired_blocks: 0,
            contracts_found: 0,
            skipped_blocks: 0,
        }
    }

    fn add(&mut self, page: Audited) {
        for (by, blocks) in page.proofs {
            match self.proofs.iter_mut().find(|proven| proven.by == by) {
                Some(proven) => proven.blocks += blocks,
                None => self.proofs.push(Proven { by, blocks }),
            }
        }
        for (table, compared) in &page.differences {
            self.missing += compared.missing.len() as u64;
            self.extra += compared.extra.len() as u64;
            self.altered += compared.altered.len() as u64;
            self.name(table.as_str(), compared);
        }
        let room = MAX_NAMED.saturating_sub(self.disputed_blocks.len());
        self.disputed_blocks.extend(page.disputed.into_iter().take(room));
        self.repaired_blocks += page.repaired;
        self.contracts_found += page.contracts_found;
    }

    fn name(&mut self, table: &str, compared: &Compared) {
        let kinds =
            [("missing", &compared.missing), ("extra", &compared.extra), ("altered", &compared.altered)];
        let rows = kinds.into_iter().flat_map(|(what, keys)| keys.iter().map(move |key| (what, key)));
        let room = MAX_NAMED.saturating_sub(self.differences.len());
        self.differences.extend(rows.take(room).map(|(what, key)| Difference {
            what,
            table: table.to_owned(),
            block: key.block,
            log_index: key.log_index,
        }));
    }

    fn render(&self) -> String {
        let mut text = format!("chain {}, blocks {} to {}\n", self.chain, self.blocks.from, self.blocks.to);
        for proven in &self.proofs {
            let _ = writeln!(text, "  {} blocks {}", human::count(proven.blocks), words(proven.by));
        }
        if self.skipped_blocks > 0 {
            let count = human::count(self.skipped_blocks);
            let _ = writeln!(text, "  {count} blocks are still being collected and were left out");
        }
        for row in &self.differences {
            let Difference { what, table, block, log_index } = row;
            let _ = writeln!(text, "  {what}: {table}, block {block}, log {log_index}");
        }
        for block in &self.disputed_blocks {
            let _ = writeln!(text, "  disputed: the endpoints disagree about block {block}");
        }
        if self.contracts_found > 0 {
            let _ = writeln!(
                text,
                "  {} contracts were found that nobody knew of; audit the blocks up to the head too",
                human::count(self.contracts_found)
            );
        }
        let _ = match self.count() {
            0 => writeln!(text, "nothing is missing, extra or altered"),
            _ => writeln!(
                text,
                "{} missing, {} extra, {} altered; {} blocks repaired",
                self.missing, self.extra, self.altered, self.repaired_blocks
            ),
        };
        text
    }

    const fn count(&self) -> u64 {
        self.missing + self.extra + self.altered
    }

    /// No if something differs that was not repaired.
    fn verdict(&self) -> Result<(), Failure> {
        if !self.disputed_blocks.is_empty() || (self.count() > 0 && self.repaired_blocks == 0) {
            let failure = Failure::coded(Code::StoreDiffers, "the store differs from the chain");
            return Err(failure.hint("`--repair` collects the blocks that differ anew"));
        }
        Ok(())
    }
}

fn words(proof: Proof) -> &'static str {
    match proof {
        Proof::Receipts => "proven by their receipts",
        Proof::Bloom => "proven to be without wanted logs by their blooms",
        Proof::TwoEndpoints => "told alike by two endpoints",
        Proof::OneEndpoint => "told by one endpoint only",
    }
}
