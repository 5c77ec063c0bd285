//! `windlass payout retry`

use windlass_api::payout_json::CreatedBody;
use windlass_core::payout::desk::{Created, DeskError};
use windlass_core::payout::store::Payouts;

use super::create::key;
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::find::PayoutName;
use crate::pay::session::Session;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The payout that was rejected or has failed: its id, its first 8 or last 6 digits or more, or its key
    id: PayoutName,
    /// The new payout's key [default: the old one's with `-retry`]
    #[arg(long)]
    key: Option<String>,
    /// Show what would be created, without creating it
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
    let created = done?;
    if args.json {
        let body = if args.dry_run { CreatedBody::preview } else { CreatedBody::new };
        return Ok(output::json(&body(session.tokens.all(), created))?);
    }
    let payout = &created.payout;
    let text = if args.dry_run {
        let amount = view::amount(&session.tokens, payout.request.token, payout.request.amount);
        let (to, key) = (payout.request.to, &payout.request.key);
        format!("would ask again for {amount} to {to}, under key {key}; {}\n", view::advice(&created))
    } else if created.is_new {
        let advice = view::advice(&created);
        format!("asked for again as payout {}: it waits for approval; {advice}\n", payout.id)
    } else {
        format!("asked for again already, as payout {}: it is {}\n", payout.id, payout.state)
    };
    Ok(output::print(&text)?)
}

async fn retry(args: &Args, session: &Session) -> Result<Created, Failure> {
    let id = session.payout_id(&args.id).await?;
    let text = match &args.key {
        Some(key) => key.clone(),
        None => {
            let old = session.ledger.payouts(&[id]).await?.pop();
            let old = old.ok_or(DeskError::NotFound(id))?;
            format!("{}-retry", old.request.key)
        }
    };
    let key = key(Some(&text)).map_err(|error| Failure::usage(error).hint("give the new payout a --key"))?;
    if args.dry_run {
        let new = session.desk.preview_retry(id, key).await?;
        let mut created = session.desk.preview(&new, &session.actor).await?;
        created.payout.retry_of = Some(id);
        return Ok(created);
    }
    Ok(session.desk.retry(id, key, &session.actor).await?)
}
