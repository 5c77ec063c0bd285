//! `windlass pay accept-chain`

use windlass_core::chain::BlockRef;
use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_engine::pay::identity::{AcceptError, AcceptedChain};

use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
    /// Show the blocks that would be accepted, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let session = Session::begin(&loaded.config, Deed::Administer).await?;
    let done = accept(&args, &session).await;
    session.store.close().await;
    let accepted = done?;
    if args.json {
        return Ok(output::json(&accepted)?);
    }
    let word = if args.dry_run { "would be known by" } else { "is known by" };
    let mut text = format!("the vault's chain {word} {}\n", named(&accepted.now));
    text.push_str(&format!("  before: {}\n", named(&accepted.was)));
    if !args.dry_run {
        text.push_str("next: once the chain is as long as the old one was, `windlass payout list` shows payments that it does not have\n");
    }
    Ok(output::print(&text)?)
}

async fn accept(args: &Args, session: &Session) -> Result<AcceptedChain, Failure> {
    session.paying.check_with(&session.ledger).await?;
    let owner = Owner::new(session.actor.clone()).map_err(unnamed)?;
    let payer = session.paying.auditor(session.ledger.clone(), owner)?;
    if args.dry_run {
        return payer.preview_accept_chain().await.map_err(refused);
    }
    if !args.yes {
        let AcceptedChain { was, now } = payer.preview_accept_chain().await.map_err(refused)?;
        let message = format!("this accepts a chain with {} instead of {}", named(&now), named(&was));
        return Err(Failure::refused(message).hint(
            "payments on the chain of before are then missing; for a test chain that began anew, begin with a new \
             database instead. If the chain was replaced on purpose: --yes",
        ));
    }
    payer.accept_chain().await.map_err(refused)
}

fn named(blocks: &[BlockRef]) -> String {
    let named: Vec<String> = blocks.iter().map(|block| format!("block {block}")).collect();
    if named.is_empty() { "no known block".to_owned() } else { named.join(", ") }
}

fn refused(error: AcceptError) -> Failure {
    match error {
        AcceptError::Pay(error) => error.into(),
        error @ (AcceptError::Same | AcceptError::NotAgreed) => {
            Failure::coded(Code::FinalityViolated, error).hint("`windlass doctor` compares the endpoints")
        }
    }
}
