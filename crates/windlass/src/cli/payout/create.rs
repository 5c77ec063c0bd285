//! `windlass payout create`

use std::path::PathBuf;

use windlass_api::payout_json::{CreatedBody, CreatedListBody};
use windlass_core::code::Code;
use windlass_core::money::Amount;
use windlass_core::payout::desk::{Created, NewPayout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::request::{IdempotencyKey, PayoutRequest, VaultRef};

use super::batch;
use super::filter::reference;
use crate::cli::global::Global;
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The recipient
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
    /// Show what would happen, without creating anything
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
        let body = if args.dry_run { CreatedBody::preview } else { CreatedBody::new };
        let mut data: Vec<CreatedBody> =
            created.into_iter().map(|created| body(session.tokens.all(), created)).collect();
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
        Some(path) => {
            let batch = batch::read(path, &session.tokens, session.paying.options.vault)?;
            batch.checked(&session.tokens, &*session.ledger).await?
        }
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
    let amount = amount(&session.tokens, text, args.token.as_deref())
        .map_err(|message| Failure::coded(Code::PayoutRefused, message))?;
    let key = key(args.key.as_deref()).map_err(Failure::usage)?;
    request(session.paying.options.vault, to, &amount, key).map_err(Failure::usage)
}

/// How much of which token, from what `--amount` and `--token` say.
pub(in crate::cli) fn amount(tokens: &Tokens, text: &str, token: Option<&str>) -> Result<Amount, String> {
    tokens.whole(text, token, "add --token")
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
    let payout = &created.payout;
    let amount = view::amount(tokens, payout.request.token, payout.request.amount);
    let what = format!("{amount} to {}", payout.request.to);
    match (created.is_new, is_dry_run) {
        (false, _) => {
            // They are those of the payout, whatever was given with the same key now.
            let memo = payout.memo.as_ref().map(|memo| format!(", memo \"{memo}\"")).unwrap_or_default();
            let reference = payout.reference.as_ref();
            let reference = reference.map(|text| format!(", reference \"{text}\"")).unwrap_or_default();
            format!("known already: payout {} is {}, {what}{memo}{reference}\n", payout.id, payout.state)
        }
        (true, true) => format!("would ask for {what}; {}\n", view::advice(created)),
        (true, false) => {
            format!("payout {}: {what}, waits for approval; {}\n", payout.id, view::advice(created))
        }
    }
}
