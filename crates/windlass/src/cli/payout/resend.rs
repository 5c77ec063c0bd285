//! `windlass payout resend`

use serde::Serialize;
use windlass_api::payout_json::PayoutBody;
use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_engine::pay::resend::{ResendError, Resent};

use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::find::PayoutName;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A payout whose payment was final and is gone: its id, its first 8 or last 6 digits or more, or its key
    id: PayoutName,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
    /// Say what would be sent again; send nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is sent again, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Answer {
    transaction: String,
    payouts: Vec<PayoutBody>,
}

impl Answer {
    fn of(tokens: &Tokens, resent: Resent) -> Self {
        let body = |payout| PayoutBody::new(tokens.all(), payout);
        Self {
            transaction: resent.transaction.to_string(),
            payouts: resent.payouts.into_iter().map(body).collect(),
        }
    }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let session = Session::begin(&loaded.config, Deed::Operate).await?;
    let done = resend(&args, &session).await;
    session.store.close().await;
    let resent = done?;
    if args.json {
        return Ok(output::json(&Answer::of(&session.tokens, resent))?);
    }
    let word = if args.dry_run { "would be sent again" } else { "is sent again" };
    let mut text = format!("transaction {} {word}; it pays\n", resent.transaction);
    for payout in &resent.payouts {
        let request = &payout.request;
        let amount = view::amount(&session.tokens, request.token, request.amount);
        text.push_str(&format!("  {amount} to {}, payout {}\n", request.to, payout.id));
    }
    if !args.dry_run {
        text.push_str("next: `windlass signer resume`, once every payment that is gone is sent again\n");
    }
    Ok(output::print(&text)?)
}

async fn resend(args: &Args, session: &Session) -> Result<Resent, Failure> {
    session.paying.check_with(&session.ledger).await?;
    let id = session.payout_id(&args.id).await?;
    let owner = Owner::new(session.actor.clone()).map_err(unnamed)?;
    let payer = session.paying.auditor(session.ledger.clone(), owner)?;
    if args.dry_run || !args.yes {
        let resent = payer.preview_resend(id).await.map_err(refused)?;
        if args.dry_run {
            return Ok(resent);
        }
        let message = format!("this sends transaction {} again", resent.transaction);
        return Err(Failure::refused(message).hint("look at it with --dry-run, then say --yes"));
    }
    payer.resend(id).await.map_err(refused)
}

fn refused(error: ResendError) -> Failure {
    match error {
        ResendError::Pay(error) => error.into(),
        ResendError::Store(error) => error.into(),
        ResendError::Name(error) => unnamed(error),
        error @ ResendError::NotFound(_) => Failure::coded(Code::PayoutMissing, error)
            .hint("`windlass payout list` shows what there is"),
        error @ ResendError::AlreadyResent(_) => Failure::coded(Code::PayoutRefused, error)
            .hint("nothing is left to do: `windlass payout show <id>` follows it"),
        error @ ResendError::Contended(_) => {
            Failure::coded(Code::DatabaseBusy, error).hint("run the same command again")
        }
        error => Failure::coded(Code::PayoutRefused, error)
            .hint("`windlass payout show <id>` says how it is; `run` marks a payment that is gone at its second look"),
    }
}
