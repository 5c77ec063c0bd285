//! `windlass payout create`

use std::path::PathBuf;

use windlass_api::payout_json::{CreatedBody, CreatedListBody};
use windlass_core::money::Amount;
use windlass_core::payout::desk::{Created, NewPayout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::request::{IdempotencyKey, PayoutRequest, VaultRef};
use windlass_core::payout::risk::RiskVerdict;

use super::batch;
use super::filter::reference;
use crate::cli::global::Global;
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::tokens::{Tokens, Written};
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who gets it
    #[arg(long, value_name = "ADDRESS", required_unless_present = "csv", conflicts_with = "csv")]
    to: Option<WrittenAddress>,
    /// How much: "12.5 USDC", or 12.5 with --token
    #[arg(long, required_unless_present = "csv", conflicts_with = "csv")]
    amount: Option<String>,
    /// The token, by symbol or address, where the amount does not name it
    #[arg(long, conflicts_with = "csv")]
    token: Option<String>,
    /// Your own key for it, such as an invoice's number: the same key is the same payout, for ever
    #[arg(long, conflicts_with = "csv")]
    key: Option<String>,
    /// What it is for: up to 500 bytes on one line. It never changes
    #[arg(long, value_parser = memo, conflicts_with = "csv")]
    memo: Option<Memo>,
    /// Your identifier for it in another system: up to 200 bytes. It never changes
    #[arg(long, value_parser = reference, conflicts_with = "csv")]
    reference: Option<Reference>,
    /// Create all payouts of a file or none, `-` for standard input: columns `key`, `to`, `amount`, and perhaps `token`, `memo`, `reference`
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Say what would become of it, and ask for nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn memo(text: &str) -> Result<Memo, String> {
    Memo::new(text).map_err(|error| error.to_string())
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let session = Session::begin(&loaded.config, Deed::Operate).await?;
    let done = create(&args, &session).await;
    session.store.close().await;
    let created = done?;
    if args.json {
        let mut data: Vec<CreatedBody> =
            created.into_iter().map(|created| CreatedBody::new(session.tokens.all(), created)).collect();
        // One that was asked for by itself is answered by itself.
        let one = if args.csv.is_none() { data.pop() } else { None };
        match one {
            Some(one) => output::json(&one)?,
            None => output::json(&CreatedListBody { data })?,
        }
    } else {
        let lines: String = created.iter().map(|one| line(&session.tokens, one, args.dry_run)).collect();
        output::print(&lines)?;
    }
    if args.key.is_none() && args.csv.is_none() && !args.dry_run {
        output::note("no --key was given: the same command again asks for another payout");
    }
    Ok(())
}

async fn create(args: &Args, session: &Session) -> Result<Vec<Created>, Failure> {
    let asked = match &args.csv {
        Some(path) => batch::read(path, &session.tokens, session.paying.options.vault)?,
        None => vec![NewPayout {
            request: single(args, session)?,
            memo: args.memo.clone(),
            reference: args.reference.clone(),
        }],
    };
    if args.dry_run {
        return Ok(session.desk.preview_all(&asked, &session.actor).await?);
    }
    Ok(session.desk.create(&asked, &session.actor).await?)
}

fn single(args: &Args, session: &Session) -> Result<PayoutRequest, Failure> {
    let (Some(to), Some(text)) = (args.to, args.amount.as_deref()) else {
        return Err(Failure::usage("--to and --amount are wanted, or --csv"));
    };
    let amount = amount(&session.tokens, text, args.token.as_deref()).map_err(|message| {
        Failure::coded(windlass_core::code::Code::PayoutRefused, message)
            .hint("an amount is written \"12.5 USDC\", or 12.5 with --token")
    })?;
    let key = key(args.key.as_deref()).map_err(Failure::usage)?;
    request(session.paying.options.vault, to, &amount, key).map_err(Failure::usage)
}

/// How much of which token, from what was written. Whole ones, never base units: `12` and
/// `12.5` beside each other mean what they look like.
pub(in crate::cli) fn amount(tokens: &Tokens, text: &str, token: Option<&str>) -> Result<Amount, String> {
    let Some(token) = token.map(|token| tokens.named(token)).transpose()? else {
        return match tokens.amount(text)? {
            Written::Of(amount) => Ok(amount),
            Written::Units(_) => Err(format!("`{text}` names no token: write `{text} USDC`, or add --token")),
        };
    };
    match tokens.amount(text) {
        Ok(Written::Of(amount)) if amount.token.is_same_as(&token) => Ok(amount),
        Ok(Written::Of(amount)) => {
            Err(format!("the amount is of {}, and the token is {}", amount.token.symbol, token.symbol))
        }
        _ => Amount::parse(text.trim(), token).map_err(|error| error.to_string()),
    }
}

/// The key that was given, or one that nobody else has.
pub(in crate::cli) fn key(given: Option<&str>) -> Result<IdempotencyKey, String> {
    let text = given.map_or_else(|| format!("cli-{:032x}", rand::random::<u128>()), str::to_owned);
    IdempotencyKey::new(text).map_err(|error| error.to_string())
}

pub(in crate::cli) fn request(
    vault: VaultRef,
    to: WrittenAddress,
    amount: &Amount,
    key: IdempotencyKey,
) -> Result<PayoutRequest, String> {
    let token = amount.token.address();
    let request = PayoutRequest { vault, token, to: to.0, amount: amount.units, key };
    request.validate().map_err(|error| error.to_string())?;
    Ok(request)
}

fn line(tokens: &Tokens, created: &Created, is_dry_run: bool) -> String {
    let Created { payout, is_new, advice } = created;
    let amount = view::amount(tokens, payout.request.token, payout.request.amount);
    let what = format!("{amount} to {}", payout.request.to);
    let known = format!("known already: payout {} is {}, {what}\n", payout.id, payout.state);
    let risk = match advice {
        RiskVerdict::Passes => "the rules would let it pass".to_owned(),
        RiskVerdict::Waits { until } => {
            format!("the rules would let it pass after {}", output::time::instant(*until))
        }
        RiskVerdict::Refused(reason) => format!("the rules would refuse it: {reason}"),
    };
    match (is_new, is_dry_run) {
        (false, _) => known,
        (true, true) => format!("would ask for {what}; {risk}\n"),
        (true, false) => format!("payout {}: {what}, waits for approval; {risk}\n", payout.id),
    }
}
