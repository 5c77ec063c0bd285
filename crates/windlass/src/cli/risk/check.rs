//! `windlass risk check`

use serde::Serialize;
use windlass_core::chain::{Address, U256};
use windlass_core::code::Code;
use windlass_core::money::Amount;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::BudgetKey;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::store::Payouts;

use crate::cli::global::Global;
use crate::cli::payout::{amount, key, request};
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::output;
use crate::output::exit::Exit;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::view::{Lines, shown, verdict};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who would get it
    #[arg(long, value_name = "ADDRESS")]
    to: WrittenAddress,
    /// How much: "12.5 USDC", or 12.5 with --token
    #[arg(long)]
    amount: String,
    /// The token, by symbol or address, where the amount does not name it
    #[arg(long)]
    token: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer, as `--json` prints it. Amounts are in base units; no limit is `null`.
#[derive(Debug, Serialize)]
struct Answer {
    passes: bool,
    verdict: String,
    approvals_needed: u32,
    is_known_recipient: bool,
    day: String,
    held_today: String,
    held_today_for_recipient: String,
    max_per_request: Option<String>,
    max_daily_total: Option<String>,
    max_daily_per_recipient: Option<String>,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let session = Session::begin(&loaded.config, Deed::Look).await?;
    let done = check(&args, &session).await;
    session.store.close().await;
    let (answer, amount) = done?;
    if args.json {
        output::json(&answer)?;
    } else {
        output::print(&render(&answer, &amount, args.to.0))?;
    }
    if answer.passes { Ok(()) } else { Err(Failure::silent(Exit::No)) }
}

async fn check(args: &Args, session: &Session) -> Result<(Answer, Amount), Failure> {
    let amount = amount(&session.tokens, &args.amount, args.token.as_deref())
        .map_err(|message| Failure::coded(Code::PayoutRefused, message))?;
    let request = request(session.paying.options.vault, args.to, &amount, key(None).map_err(Failure::usage)?)
        .map_err(|message| Failure::coded(Code::PayoutRefused, message))?;
    let created = session.desk.preview(&request, &session.actor).await?;
    let day = UtcDay::of(session.store.now().await?);
    let budget = |to| BudgetKey { vault: request.vault, token: request.token, day, to };
    let held = session.ledger.budgets(&[budget(None), budget(Some(request.to))]).await?;
    let total = |place: usize| held.get(place).map_or(U256::ZERO, |budget| budget.total).to_string();
    let rules = &session.paying.options.rules;
    let limits = rules.limits_of(request.token);
    let text = |limit: Option<U256>| limit.map(|limit| limit.to_string());
    let answer = Answer {
        passes: !matches!(created.advice, RiskVerdict::Refused(_)),
        verdict: verdict(&created.advice),
        approvals_needed: session.desk.needed(&created.payout),
        is_known_recipient: !session.ledger.paid_to(request.vault, &[request.to]).await?.is_empty(),
        day: day.to_string(),
        held_today: total(0),
        held_today_for_recipient: total(1),
        max_per_request: text(limits.max_per_request),
        max_daily_total: text(limits.max_daily_total),
        max_daily_per_recipient: text(rules.recipient_limit(request.token, request.to)),
    };
    Ok((answer, amount))
}

fn render(answer: &Answer, amount: &Amount, to: Address) -> String {
    let units = |text: &str| shown(&amount.token, text.parse().unwrap_or_default());
    let of = |held: &str, limit: &Option<String>| match limit {
        Some(limit) => format!("{} of {}", units(held), units(limit)),
        None => format!("{}, without a limit", units(held)),
    };
    let mut lines = Lines::default();
    lines.add("payout", format_args!("{amount} to {to}"));
    lines.add("verdict", &answer.verdict);
    lines.add("approvers", answer.approvals_needed);
    lines.add("recipient", if answer.is_known_recipient { "was paid before" } else { "is new" });
    lines.add("one payout", of(&amount.units.to_string(), &answer.max_per_request));
    lines.add(&answer.day, of(&answer.held_today, &answer.max_daily_total));
    lines.add("  for them", of(&answer.held_today_for_recipient, &answer.max_daily_per_recipient));
    lines.0
}
