//! `windlass payout list`

use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output;
use crate::pay::options;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only payouts that stand there, such as pending_risk
    #[arg(long, value_parser = state)]
    state: Option<PayoutState>,
    /// Continue behind this payout, the last of the page before
    #[arg(long, value_name = "ID", value_parser = Session::id)]
    after: Option<PayoutId>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PAYOUT_PAGE)))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn state(text: &str) -> Result<PayoutState, String> {
    let known = || PayoutState::ALL.map(|state| state.as_str().to_lowercase()).join(", ");
    text.to_uppercase().parse().map_err(|_| format!("known are {}", known()))
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let tokens = Tokens::of(&loaded.config)?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let query =
        PayoutQuery { state: args.state, after: args.after, limit: args.limit, ..PayoutQuery::default() };
    let payouts = async {
        let ledger = options::looked_at(&loaded.config, &store).await?;
        Ok::<_, Failure>(ledger.list_payouts(&query).await?)
    };
    let payouts = payouts.await;
    store.close().await;
    let payouts = payouts?;
    if args.json {
        return Ok(output::json(&payouts)?);
    }
    output::print(&view::list(&tokens, &payouts))?;
    if let Some(last) = payouts.last().filter(|_| payouts.len() as u64 == u64::from(args.limit)) {
        output::note(&format!("there may be more: --after {}", last.id));
    }
    Ok(())
}
