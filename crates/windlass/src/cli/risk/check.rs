//! `windlass risk check`

use serde::Serialize;
use windlass_api::payout_json::{RiskBody, RuleBody};
use windlass_core::chain::U256;
use windlass_core::code::Code;
use windlass_core::money::Amount;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::request::PayoutRequest;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::risk_report::RiskRule;
use windlass_core::payout::store::Payouts;

use crate::cli::global::Global;
use crate::cli::payout::{amount, key, request};
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::output;
use crate::output::exit::Exit;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::view::{Lines, rules, verdict};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The recipient
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
    /// Each rule with what is used, the limit, and what is left after this payout.
    rules: Vec<RuleBody>,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let session = Session::begin(&loaded.config, Deed::Look).await?;
    let done = check(&args, &session).await;
    session.store.close().await;
    let (answer, text) = done?;
    if args.json {
        output::json(&answer)?;
    } else {
        output::print(&text)?;
    }
    if answer.passes { Ok(()) } else { Err(Failure::silent(Exit::No)) }
}

async fn check(args: &Args, session: &Session) -> Result<(Answer, String), Failure> {
    let amount = amount(&session.tokens, &args.amount, args.token.as_deref())
        .map_err(|message| Failure::coded(Code::PayoutRefused, message))?;
    let request = request(session.paying.options.vault, args.to, &amount, key(None).map_err(Failure::usage)?)
        .map_err(|message| Failure::coded(Code::PayoutRefused, message))?;
    let created = session.desk.preview(&request.clone().into(), &session.actor).await?;
    let report = session.desk.report(&created.payout).await?;
    let headroom = |rule| report.rules.iter().find(|check| check.rule == rule)?.headroom;
    let used = |rule| headroom(rule).map_or(U256::ZERO, |headroom| headroom.used).to_string();
    let limit = |rule| headroom(rule)?.limit.map(|limit| limit.to_string());
    let answer = Answer {
        passes: !matches!(report.verdict, RiskVerdict::Refused(_)),
        verdict: match report.verdict {
            RiskVerdict::Refused(reason) => format!("refused: {reason}"),
            passes => verdict(&passes),
        },
        approvals_needed: session.desk.needed(&created.payout),
        is_known_recipient: !session.ledger.paid_to(request.vault, &[request.to]).await?.is_empty(),
        day: UtcDay::of(session.store.now().await?).to_string(),
        held_today: used(RiskRule::MaxDailyTotal),
        held_today_for_recipient: used(RiskRule::MaxDailyPerRecipient),
        max_per_request: limit(RiskRule::MaxPerRequest),
        max_daily_total: limit(RiskRule::MaxDailyTotal),
        max_daily_per_recipient: limit(RiskRule::MaxDailyPerRecipient),
        rules: RiskBody::from(report.clone()).rules,
    };
    let mut text = render(&answer, &amount, &request, &verdict(&report.verdict));
    text.push_str(&rules(&session.tokens, request.token, &report));
    Ok((answer, text))
}

fn render(answer: &Answer, amount: &Amount, request: &PayoutRequest, verdict: &str) -> String {
    let mut lines = Lines::default();
    lines.add("payout", format_args!("{amount} to {}", request.to));
    lines.add("verdict", verdict);
    lines.add("approvers", answer.approvals_needed);
    lines.add("recipient", if answer.is_known_recipient { "was paid before" } else { "is new" });
    lines.add("day", &answer.day);
    lines.0
}
