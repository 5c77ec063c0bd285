//! `windlass audit`

mod report;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainErrorKind, ChainReader};
use windlass_core::store::Store;
use windlass_engine::collect::audit::Audit;
use windlass_engine::collect::chain::CollectedChain;
use windlass_engine::collect::error::CollectError;

use self::report::Report;
use super::global::Global;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::ledger::unnamed;
use crate::collect::prepare;
use crate::collect::retry::retrying;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::chain::ChainName;
use crate::config::secret::Secret;
use crate::failure::Failure;
use crate::output;

/// A line is said every so many pages where there is no terminal.
const PAGES_PER_LINE: u64 = 20;
/// Endpoints that do not answer at the beginning are asked so often.
const MAX_TRIES: u32 = 3;
/// The pause after the first time; after the second it is twice as long.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exits with 1 if something differs that was not repaired, if blocks were given up (W0402), or if no block could be looked at."
)]
pub(crate) struct Args {
    /// Which chain, by its name in the configuration; the only one, if it is left out
    #[arg(long, value_parser = chain_name)]
    chain: Option<ChainName>,
    /// The first block; where collecting began, if it is left out
    #[arg(long)]
    from: Option<u64>,
    /// The last block; the last final one that was collected, if it is left out
    #[arg(long)]
    to: Option<u64>,
    /// Another endpoint, asked where a block does not prove itself: a URL, env:NAME or file:PATH
    #[arg(long, value_name = "URL", value_parser = secret)]
    rpc: Option<Secret>,
    /// Collect differing blocks again
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

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    if args.from.zip(args.to).is_some_and(|(from, to)| from > to) {
        return Err(Failure::usage("nothing lies between --from and --to").hint("--from comes first"));
    }
    let loaded = global.load()?;
    let chain = chosen(args.chain.as_ref(), &loaded.config)?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let audited = async {
        let audit = composed(&args, &chain, &loaded.config, &store).await?;
        examine(&args, &chain, &audit).await
    };
    let audited = audited.await;
    store.close().await;
    let (report, ended) = audited?;
    if args.json {
        output::json(&report)?;
    } else {
        output::print(&report.render())?;
    }
    match ended {
        Some(failure) => Err(failure),
        None => report.verdict(),
    }
}

/// The chain that is meant, where the configuration has several or none by that name.
fn chosen(named: Option<&ChainName>, config: &Config) -> Result<ChainName, Failure> {
    let names: Vec<&ChainName> = config.chain.keys().collect();
    match (named, &names[..]) {
        (Some(name), _) if names.contains(&name) => Ok(name.clone()),
        (Some(name), _) => {
            Err(Failure::refused(format_args!("there is no chain `{name}` in the configuration"))
                .hint("`windlass config show` lists the chains"))
        }
        (None, [only]) => Ok((*only).clone()),
        (None, []) => Err(Failure::refused("there is no chain in the configuration")
            .hint("`windlass init --contract` writes one")),
        (None, several) => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            Err(Failure::usage("there are several chains: say which one with --chain")
                .hint(format!("one of {}", several.join(", "))))
        }
    }
}

/// The audit of a configured chain, once its endpoints answer. One question that goes wrong
/// is no reason to give up before anything was looked at.
async fn composed(
    args: &Args,
    chain: &ChainName,
    config: &Config,
    store: &Arc<dyn Store>,
) -> Result<Audit, Failure> {
    let mut tries = 1;
    loop {
        match compose(args, chain, config, store.clone()).await {
            Err(failure) if tries < MAX_TRIES && is_passing(&failure) => {
                tracing::debug!(
                    tries,
                    error = failure.message,
                    "the endpoints are asked again after a pause"
                );
                tokio::time::sleep(PAUSE * tries).await;
                tries += 1;
            }
            done => return done,
        }
    }
}

fn is_passing(failure: &Failure) -> bool {
    matches!(failure.code, Some(Code::RpcUnreachable | Code::RpcLimited))
}

/// The audit of a configured chain.
async fn compose(
    args: &Args,
    name: &ChainName,
    config: &Config,
    store: Arc<dyn Store>,
) -> Result<Audit, Failure> {
    let section = config
        .chain
        .get(name)
        .ok_or_else(|| Failure::refused(format_args!("there is no chain `{name}` in the configuration")))?;
    let endpoints = Endpoints::open(name, section)?;
    retrying(|| endpoints.check_chain()).await?;
    let catalog = prepare::catalog(&*store, &endpoints, &Draft::all(config)?).await?;
    let owner = owner()?;
    let second: Option<Arc<dyn ChainReader>> = match &args.rpc {
        Some(secret) => Some(Arc::new(second(secret, section.id)?)),
        None => None,
    };
    let options = prepare::options(section, owner);
    let chain = CollectedChain::new(options, store, endpoints.pool.clone(), catalog).map_err(unnamed)?;
    Ok(Audit::new(Arc::new(chain), second).await?)
}

/// Who repairs. A process number alone may be another's too, in a container of its own.
fn owner() -> Result<Owner, Failure> {
    Owner::new(format!("{}-{:08x}/audit", std::process::id(), rand::random::<u32>())).map_err(unnamed)
}

fn second(secret: &Secret, chain: windlass_core::chain::ChainId) -> Result<EvmPool, Failure> {
    use secrecy::ExposeSecret;
    let url = secret.resolve().map_err(|error| Failure::coded(Code::SecretMissing, error))?;
    Ok(EvmPool::new(&[url.expose_secret()], chain, PoolOptions::default())?)
}

/// Looks at everything that was asked for; and why not at all of it, if it ended early.
async fn examine(
    args: &Args,
    chain: &ChainName,
    audit: &Audit,
) -> Result<(Report, Option<Failure>), Failure> {
    let extent = audit.extent().await?.ok_or_else(|| {
        Failure::refused("nothing has been collected of this chain yet").hint("start `windlass run` first")
    })?;
    let blocks = BlockRange {
        from: args.from.unwrap_or(extent.from).max(extent.from),
        to: args.to.unwrap_or(extent.to).min(extent.to),
    };
    if extent.from > extent.to {
        let why = "no block that was collected is final yet";
        return Err(Failure::refused(why).hint("only final blocks are audited: try again later"));
    }
    if blocks.from > blocks.to {
        let hint = format!("blocks {} to {} can be audited", extent.from, extent.to);
        return Err(Failure::refused("there is no block to audit between --from and --to").hint(hint));
    }
    let not_final = args.to.map_or(0, |to| to.saturating_sub(extent.to));
    let mut report = Report::new(chain.clone(), blocks, not_final);
    let (mut from, mut pages) = (blocks.from, 0);
    while from <= blocks.to {
        match page(audit, from, blocks.to, args.repair, &mut report).await {
            Ok(next) => from = next,
            Err(error) if from == blocks.from => return Err(not_begun(audit, blocks, error).await),
            // What was found until here is not lost.
            Err(error) => {
                report.end_before(from);
                let failure = Failure::from(error);
                let hint = failure.hint.clone().map(|hint| format!("{hint}; ")).unwrap_or_default();
                return Ok((report, Some(failure.hint(format_args!("{hint}go on with `--from {from}`")))));
            }
        }
        pages += 1;
        if std::io::stderr().is_terminal() || pages % PAGES_PER_LINE == 0 {
            tracing::info!(block = from - 1, of = blocks.to, "audited");
        }
    }
    report.add_phantoms(&audit.phantoms(args.repair).await?);
    Ok((report, None))
}

/// Why not even the first blocks could be audited. Where the endpoints have only later ones, the
/// hint says from which on.
async fn not_begun(audit: &Audit, blocks: BlockRange, error: CollectError) -> Failure {
    let is_unknown =
        matches!(&error, CollectError::Chain(error) if error.kind == ChainErrorKind::UnknownBlock);
    let first = if is_unknown { audit.first_known(blocks).await.ok().flatten() } else { None };
    match first.filter(|first| *first > blocks.from) {
        Some(first) => Failure::from(error).hint(format_args!(
            "the first block that the endpoints have is {first}: audit from there with `--from {first}`; \
             for older ones, name an endpoint that has them with --rpc"
        )),
        None => error.into(),
    }
}

/// Looks at the next blocks; says where to go on.
async fn page(
    audit: &Audit,
    from: u64,
    to: u64,
    repairs: bool,
    report: &mut Report,
) -> Result<u64, CollectError> {
    let next = audit.next_page(from, to).await?;
    let Some(page) = next.page else {
        report.skip(next.left_out);
        return Ok(to + 1);
    };
    report.add(audit.page(page, repairs).await?);
    report.skip(next.left_out);
    Ok(page.to + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_chain_need_not_be_named() {
        let config = |chains: &[&str]| -> Config {
            let chain = |name: &&str| format!("[chain.{name}]\nid = 1\nrpc = [\"http://h\"]\n");
            toml::from_str(&chains.iter().map(chain).collect::<String>()).expect("a configuration")
        };
        let name = |text: &str| chain_name(text).expect("a name");
        assert_eq!(chosen(None, &config(&["a"])).expect("one"), name("a"));
        assert_eq!(chosen(Some(&name("b")), &config(&["a", "b"])).expect("one"), name("b"));
        for (named, chains) in [(None, &["a", "b"][..]), (None, &[]), (Some(name("c")), &["a"])] {
            let failure = chosen(named.as_ref(), &config(chains)).expect_err("none");
            assert!(failure.hint.is_some(), "{failure:?}");
        }
    }

    /// Guards against two containers, in each of which the process has the number 1.
    #[test]
    fn nobody_else_repairs_under_the_same_name() {
        let [one, other] = [owner().expect("a name"), owner().expect("a name")];
        assert_ne!(one, other);
    }
}
