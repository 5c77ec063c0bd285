//! `windlass payout retry`

use windlass_core::payout::desk::{Created, DeskError};
use windlass_core::payout::request::{PayoutId, PayoutRequest};
use windlass_core::payout::store::Payouts;

use super::create::key;
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The payout that was rejected or has failed
    #[arg(value_parser = Session::id)]
    id: PayoutId,
    /// The new payout's key [default: the old one's with `-retry`]
    #[arg(long)]
    key: Option<String>,
    /// Say what would be asked for, and ask for nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let session = Session::begin(&loaded.config, Deed::Operate).await?;
    let done = retry(&args, &session).await;
    session.store.close().await;
    let created = match done? {
        Retried::Would(request) if args.json => return Ok(output::json(&request)?),
        Retried::Would(request) => {
            let amount = view::amount(&session.tokens, request.token, request.amount);
            let text = format!("would ask again for {amount} to {}, under key {}\n", request.to, request.key);
            return Ok(output::print(&text)?);
        }
        Retried::Asked(created) if args.json => return Ok(output::json(&created.payout)?),
        Retried::Asked(created) => created,
    };
    let word = if created.is_new { "asked for again as" } else { "asked for again already, as" };
    Ok(output::print(&format!("{word} payout {}: it waits for approval\n", created.payout.id))?)
}

/// What came of it.
enum Retried {
    /// This would be asked for.
    Would(PayoutRequest),
    /// It was asked for.
    Asked(Box<Created>),
}

async fn retry(args: &Args, session: &Session) -> Result<Retried, Failure> {
    let text = match &args.key {
        Some(key) => key.clone(),
        None => {
            let old = session.ledger.payouts(&[args.id]).await?.pop();
            let old = old.ok_or(DeskError::NotFound(args.id))?;
            format!("{}-retry", old.request.key)
        }
    };
    let key = key(Some(&text)).map_err(|error| Failure::usage(error).hint("give the new payout a --key"))?;
    if args.dry_run {
        return Ok(Retried::Would(session.desk.preview_retry(args.id, key).await?));
    }
    Ok(Retried::Asked(Box::new(session.desk.retry(args.id, key, &session.actor).await?)))
}
