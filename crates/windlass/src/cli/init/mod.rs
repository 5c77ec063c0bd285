//! `windlass init`
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | what was typed, the checks, and the file |
//! | [`template`] | the example with settings filled in |
//! | `questions` | what is asked on a terminal |
//! | `from_env` | the variables of the fee collector |

mod from_env;
mod questions;
pub(crate) mod template;

pub(in crate::cli) use questions::said;

use std::fs::{OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use secrecy::ExposeSecret;
use windlass_chain::evm::EvmRpc;
use windlass_core::chain::{Address, ChainId};
use windlass_core::code::Code;

use super::global::Global;
use super::index::inspect;
use super::index::section::{IndexArgs, Section, typed_address};
use crate::collect::retry::retrying;
use crate::config::FILE_NAME;
use crate::config::chain::{ChainName, RpcUrl};
use crate::config::index::IndexName;
use crate::config::secret::Secret;
use crate::failure::Failure;
use crate::output;
use crate::output::prompt::Prompt;
use template::Template;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// An endpoint to fill in, with the chain id it answers; best as env:NAME or file:PATH
    #[arg(long, value_name = "URL")]
    rpc: Option<String>,
    /// What the chain is called [default: what most people call it]
    #[arg(long, value_name = "NAME", requires = "rpc")]
    chain_name: Option<String>,
    /// A contract to collect; may be repeated
    #[arg(long = "contract", value_name = "ADDRESS", value_parser = typed_address, requires = "rpc")]
    contracts: Vec<Address>,
    #[command(flatten)]
    index: IndexArgs,
    /// What the index is called: the names of its tables begin so
    #[arg(long, value_name = "NAME", default_value = "contract")]
    index_name: IndexName,
    /// Take over the variables of the fee collector, such as ACTIVE_CHAIN and RPC_URL
    #[arg(long, conflicts_with_all = ["rpc", "chain_name", "contracts", "events", "abi", "start", "index_name"])]
    from_env: bool,
    /// Print what would be written
    #[arg(long)]
    dry_run: bool,
    /// Overwrite the file
    #[arg(long, conflicts_with = "dry_run")]
    force: bool,
}

/// What is written.
pub(in crate::cli) struct Written {
    pub(in crate::cli) text: String,
    /// Whether it may hold a key, and is nobody else's to read.
    pub(in crate::cli) private: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let path = global.file().map_or(Path::new(FILE_NAME), |path| path.as_path()).to_owned();
    let (dry_run, force) = (args.dry_run, args.force);
    // Refused before any question.
    if !dry_run && !force && path.exists() {
        return Err(unwritable(&path, &ErrorKind::AlreadyExists.into()));
    }
    let prompt = Prompt::open().filter(|_| !args.from_env);
    let mut args = match prompt {
        Some(prompt) => questions::ask(args, prompt, (global, &path)).await?,
        None => args,
    };
    let written = loop {
        let (written, has_unseen) = compose(args.clone(), global, &path).await?;
        let Some(prompt) = prompt.filter(|_| has_unseen && !dry_run) else { break written };
        if !questions::ask_for_another_event(prompt, &mut args)? {
            break written;
        }
    };
    if dry_run {
        return Ok(output::print(&written.text)?);
    }
    write(&path, &written, force)?;
    if written.private {
        output::note(&format!(
            "the endpoint's URL may hold a key, so only you may read {}; better keep it elsewhere: --rpc env:NAME",
            path.display()
        ));
    }
    output::note(&format!("wrote {}; next: windlass doctor", path.display()));
    Ok(())
}

/// What is written, and whether the contract's logs have none of an event that it names.
async fn compose(args: Args, global: &Global, path: &Path) -> Result<(Written, bool), Failure> {
    let mut template = Template::example();
    if args.from_env {
        let carried = from_env::Carried::read(|name| std::env::var(name).ok())?;
        let section = carried.fill_in(&mut template)?;
        carried.notes().iter().for_each(|note| output::note(note));
        let has_unseen = with_index(&mut template, section, global, path).await?;
        return Ok((Written { text: template.text(), private: false }, has_unseen));
    }
    let Some(rpc) = args.rpc else { return Ok((Written { text: template.text(), private: false }, false)) };
    let chain = with_endpoint(&mut template, &rpc, args.chain_name).await?;
    let mut has_unseen = false;
    if !args.contracts.is_empty() {
        let section = Section::new(args.index_name, chain, args.contracts, args.index)?.for_file(path);
        has_unseen = with_index(&mut template, section, global, path).await?;
    }
    Ok((Written { text: template.text(), private: may_hold_key(&rpc) }, has_unseen))
}

/// Fills in an endpoint that has been asked for its chain; says what that is called.
async fn with_endpoint(
    template: &mut Template,
    rpc: &str,
    chain_name: Option<String>,
) -> Result<ChainName, Failure> {
    let secret = Secret::try_from(rpc.to_owned()).map_err(Failure::usage)?;
    let url = RpcUrl::try_from(secret).map_err(Failure::usage)?;
    let resolved = url.resolve().map_err(|error| {
        let hint = format!("{}, then try again", error.advice());
        Failure::coded(Code::SecretMissing, error).hint(hint)
    })?;
    let chain = chain_name.map(|name| ChainName::try_from(name).map_err(Failure::usage)).transpose()?;
    let rpc_client = EvmRpc::new(resolved.expose_secret())?;
    let id = retrying(|| rpc_client.chain_id()).await?;
    fill_in_chain(template, id, rpc, chain)
}

/// Fills in a chain and its endpoint; says what it is called.
fn fill_in_chain(
    template: &mut Template,
    id: ChainId,
    rpc: &str,
    chain: Option<ChainName>,
) -> Result<ChainName, Failure> {
    let chain = match chain {
        Some(chain) => chain,
        None => ChainName::try_from(name_of(id)).map_err(Failure::unexpected)?,
    };
    let section = format!("chain.{chain}");
    template.name_chain(&chain.to_string());
    template.set(&section, "id", id.as_i64());
    template.set(&section, "rpc", vec![rpc.to_owned()]);
    Ok(chain)
}

/// Fills in an index that has been looked at, with its first block. Says whether the contract's logs have
/// none of one of its events.
async fn with_index(
    template: &mut Template,
    mut section: Section,
    global: &Global,
    path: &Path,
) -> Result<bool, Failure> {
    let mut trial = template.clone();
    trial.index(&section.text());
    let inspected = inspect::inspect(global, path, &trial.text(), &section).await?;
    section.start = Some(inspected.start);
    template.index(&section.text());
    Ok(inspected.has_unseen)
}

/// Whether a written-out URL has a part that providers put keys into.
pub(in crate::cli) fn may_hold_key(rpc: &str) -> bool {
    windlass_chain::evm::parse_url(rpc).is_some_and(|url| {
        let user = !url.username().is_empty() || url.password().is_some();
        user || url.query().is_some() || !matches!(url.path(), "" | "/")
    })
}

/// The name most people would choose.
pub(in crate::cli) fn name_of(id: ChainId) -> String {
    let known = match id.as_u64() {
        1 => "ethereum",
        10 => "optimism",
        56 => "bsc",
        100 => "gnosis",
        137 => "polygon",
        8_453 => "base",
        42_161 => "arbitrum",
        43_114 => "avalanche",
        31_337 => "local",
        11_155_111 => "sepolia",
        other => return format!("chain_{other}"),
    };
    known.to_owned()
}

/// Readable and writable by the owner alone.
const PRIVATE_MODE: u32 = 0o600;

/// Writes the file; without `force` only where there is none.
pub(in crate::cli) fn write(path: &Path, written: &Written, force: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if written.private {
        options.mode(PRIVATE_MODE);
    }
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let done = options.open(path).and_then(|mut file| {
        // A file that was there keeps the rights it had.
        if written.private {
            file.set_permissions(Permissions::from_mode(PRIVATE_MODE))?;
        }
        file.write_all(written.text.as_bytes())
    });
    done.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::coded(Code::ConfigExists, format_args!("`{path}` is there already"))
                .hint("--force overwrites it, --dry-run prints what would be written")
        }
        _ => Failure::coded(Code::ConfigUnreadable, format_args!("cannot write `{path}`: {error}"))
            .hint("check the folder and its rights"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn an_endpoint_is_filled_in() {
        for (id, name) in [(137, "polygon"), (99_999, "chain_99999"), (31_337, "local")] {
            let mut template = Template::example();
            fill_in_chain(&mut template, ChainId::new(id).expect("an id"), "env:RPC", None)
                .expect("filled in");
            let config: Config = toml::from_str(&template.text()).expect("a configuration");
            let (found, chain) = config.chain.first_key_value().expect("a chain");
            assert_eq!((found.to_string().as_str(), chain.id.as_u64()), (name, id));
            assert_eq!(chain.rpc.iter().map(RpcUrl::shown).collect::<Vec<_>>(), ["env:RPC"]);
        }
    }
}
