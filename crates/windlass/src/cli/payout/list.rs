//! `windlass payout list`

use windlass_core::chain::Address;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::time::Timestamp;

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::config::address::parse_address;
use crate::export::bound::Bound;
use crate::failure::Failure;
use crate::output;
use crate::pay::options;
use crate::pay::session::Session;
use crate::pay::tokens::{Tokens, Written};
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only payouts in this state, such as pending_risk
    #[arg(long, value_parser = state)]
    state: Option<PayoutState>,
    /// Only payouts to this address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    to: Option<Address>,
    /// Only payouts of this token: its symbol or its address
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Only payouts of exactly this amount, such as "12.5 USDC"
    #[arg(long)]
    amount: Option<String>,
    /// Only the payout with this idempotency key
    #[arg(long, value_parser = key)]
    key: Option<IdempotencyKey>,
    /// Only payouts created on or after this date or time, UTC
    #[arg(long, value_name = "TIME", value_parser = instant)]
    from: Option<Timestamp>,
    /// Only payouts created before this date or time, UTC
    #[arg(long, value_name = "TIME", value_parser = instant)]
    until: Option<Timestamp>,
    /// List the oldest first
    #[arg(long)]
    oldest_first: bool,
    /// Continue behind this payout, the last of the page before
    #[arg(long, value_name = "ID", value_parser = Session::id)]
    after: Option<PayoutId>,
    /// List at most so many
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

fn key(text: &str) -> Result<IdempotencyKey, String> {
    IdempotencyKey::new(text).map_err(|error| error.to_string())
}

/// A date or a time; dates begin at midnight, UTC.
fn instant(text: &str) -> Result<Timestamp, String> {
    match text.parse() {
        Ok(Bound::Time(second)) => Ok(Timestamp::from_ms(second.saturating_mul(1_000))),
        _ => Err("a date such as 2025-11-01, or a time such as 2025-11-01T12:00:00Z is wanted".to_owned()),
    }
}

impl Args {
    fn query(&self, tokens: &Tokens) -> Result<PayoutQuery, Failure> {
        let mut token = self.token.as_deref().map(|text| self.token(tokens, text)).transpose()?;
        let amount = match self.amount.as_deref().map(|text| tokens.amount(text)).transpose() {
            Ok(None) => None,
            Ok(Some(Written::Units(units))) => Some(units),
            Ok(Some(Written::Of(amount))) => {
                token = token.or(Some(amount.token.address()));
                Some(amount.units)
            }
            Err(message) => return Err(Failure::usage(message)),
        };
        Ok(PayoutQuery {
            state: self.state,
            to: self.to,
            token,
            amount,
            key: self.key.clone(),
            from: self.from.map(PayoutId::first_at),
            before: self.until.map(PayoutId::first_at),
            newest_first: !self.oldest_first,
            after: self.after,
            limit: self.limit,
            retry_of: None,
        })
    }

    /// A token by its address, which need not be configured any more, or by its symbol.
    fn token(&self, tokens: &Tokens, text: &str) -> Result<Address, Failure> {
        if let Ok(address) = parse_address(text) {
            return Ok(address);
        }
        Ok(tokens.find(text)?.address())
    }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let tokens = Tokens::of(&loaded.config)?;
    let query = args.query(&tokens)?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
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
