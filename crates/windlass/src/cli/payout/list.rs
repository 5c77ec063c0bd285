//! `windlass payout list`

use std::sync::Arc;

use windlass_api::payout_json::PayoutsBody;
use windlass_core::code::Code;
use windlass_core::payout::partial_id::PartialId;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};
use windlass_core::store::Store;

use super::filter::Filter;
use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output;
use crate::output::style::{self, paint};
use crate::pay::tokens::Tokens;
use crate::pay::{find, options, refused, unattended, view};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// List the oldest first
    #[arg(long)]
    oldest_first: bool,
    /// Continue after this payout, the last of the previous page
    #[arg(long, value_name = "ID")]
    after: Option<PartialId>,
    /// Maximum number of payouts
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PAYOUT_PAGE)))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let tokens = Tokens::of(&loaded.config)?;
    let query = args.filter.query(&tokens)?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let listed = async {
        let verified = options::verified(&loaded.config, &store).await?;
        let note_refused = || verified.iter().for_each(|ledger| refused::note(&ledger.forgeries()));
        let ledger: Arc<dyn Payouts> = match &verified {
            Some(ledger) => ledger.clone(),
            None => store.clone(),
        };
        let after = match args.after {
            Some(id) => Some(find::payout_id(&*ledger, id).await?),
            None => None,
        };
        let query = PayoutQuery { after, newest_first: !args.oldest_first, limit: args.limit, ..query };
        let configured = options::vault(&loaded.config);
        if let Some(configured) = configured {
            note_unattended(&*store, configured).await?;
        }
        if args.json {
            let page = PayoutsBody::read(&*ledger, tokens.all(), query).await?;
            note_refused();
            return Ok::<_, Failure>(output::json(&page)?);
        }
        let payouts = ledger.list_payouts(&query).await?;
        output::print(&view::list(&tokens, configured, &payouts))?;
        note_refused();
        if let Some(last) = payouts.last().filter(|_| payouts.len() as u64 == u64::from(args.limit)) {
            output::note(&format!("there may be more: --after {}", last.id));
        }
        Ok(())
    };
    let listed = listed.await;
    store.close().await;
    listed
}

/// Says which vaults have payouts that wait while no process pays from them.
async fn note_unattended(store: &dyn Store, configured: VaultRef) -> Result<(), Failure> {
    for found in unattended::find(store, configured).await? {
        let (label, code) = (paint(style::WARNING, "warning"), Code::VaultUnattended);
        let message = unattended::message(&found, configured);
        let hint = paint(style::GOOD, "hint:");
        output::note(&format!("{label}[{code}]: {message}\n{hint} {}", unattended::hint(&found, configured)));
    }
    Ok(())
}
