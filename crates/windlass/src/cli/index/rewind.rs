//! `windlass index rewind`

use std::sync::Arc;
use std::time::Duration;

use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_engine::collect::catalog::Catalog;
use windlass_engine::collect::chain::CollectedChain;
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::rewind::Rewound;

use crate::cli::global::Global;
use crate::collect::endpoints::Endpoints;
use crate::collect::ledger::unnamed;
use crate::collect::prepare;
use crate::collect::retry::{MayPass, retrying};
use crate::compose::store::{self, Access};
use crate::config::chain::ChainName;
use crate::failure::Failure;
use crate::output::{self, human};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of a configured chain
    #[arg(long)]
    chain: String,
    /// The last block to keep
    #[arg(long, value_name = "BLOCK")]
    to: u64,
    /// Skip the confirmation
    #[arg(long, required = true)]
    yes: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let name = ChainName::try_from(args.chain).map_err(Failure::usage)?;
    let section = loaded.config.chain.get(&name).ok_or_else(|| {
        Failure::coded(Code::ConfigInvalid, format_args!("there is no chain `{name}`"))
            .hint("`windlass config show` lists the chains there are")
    })?;
    let endpoints = Endpoints::open(&name, section)?;
    retrying(|| endpoints.check_chain()).await?;
    let owner = format!("{}-{:08x}/rewind", std::process::id(), rand::random::<u32>());
    let options = prepare::options(section, Owner::new(owner).map_err(unnamed)?);
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let catalog = Catalog::new(section.id, []);
    let chain = CollectedChain::new(options, store.clone(), Arc::clone(&endpoints.pool) as _, catalog);
    let done = match chain {
        Ok(chain) => retrying(|| rewind(&chain, args.to)).await.map_err(failed),
        Err(error) => Err(unnamed(error)),
    };
    store.close().await;
    Ok(output::print(&told(done?, &name, args.to)?)?)
}

/// What an endpoint refuses in passing is asked again.
async fn rewind(chain: &CollectedChain, to: u64) -> Result<Rewound, CollectError> {
    chain.rewind(to).await
}

impl MayPass for CollectError {
    fn retry(&self) -> Option<(Duration, u32)> {
        match self {
            Self::Chain(error) => MayPass::retry(error),
            _ => None,
        }
    }
}

fn told(done: Rewound, name: &ChainName, to: u64) -> Result<String, Failure> {
    match done {
        Rewound::Done { rows } => Ok(format!(
            "took back {} rows; {name} goes on behind block {to} with the next `windlass run`\n",
            human::count(rows)
        )),
        Rewound::InUse => Err(Failure::refused(format_args!("a process is collecting {name}"))
            .hint("stop `windlass run` first; one that died keeps its lease for `lease_ttl`")),
        Rewound::NothingAbove { position } => {
            let at =
                position.map_or("nothing was followed".to_owned(), |at| format!("{name} stands at {at}"));
            Err(Failure::refused(format_args!("there is nothing above block {to}: {at}"))
                .hint("`windlass status` shows where it stands"))
        }
        Rewound::Mixed { open_from, rewind_to } => {
            let message = format!(
                "the chain was replaced while ranges from block {open_from} on were being collected: their rows may be of either chain"
            );
            Err(lower(Failure::coded(Code::FinalityViolated, message), name, rewind_to))
        }
        Rewound::Differs { stored, found, rewind_to } => {
            let message = format!(
                "block {} is stored as {}, and the chain has {}",
                stored.number, stored.hash, found.hash
            );
            Err(lower(Failure::coded(Code::FinalityViolated, message), name, rewind_to))
        }
    }
}

fn failed(error: CollectError) -> Failure {
    match error {
        CollectError::Store(error) => error.into(),
        CollectError::Chain(error) => error.into(),
        other => Failure::unexpected(other),
    }
}

/// Says which block would do.
fn lower(failure: Failure, name: &ChainName, rewind_to: Option<u64>) -> Failure {
    match rewind_to {
        Some(block) => failure.hint(format_args!(
            "choose a lower block; up to here both have the same: `windlass index rewind --chain {name} --to {block} --yes`"
        )),
        None => failure.hint("choose a lower block: the last one that both have"),
    }
}
