//! `windlass payout approve`

use serde::Serialize;
use windlass_api::payout_json::ApprovedBody;
use windlass_core::payout::desk::{Approved, Prospect};
use windlass_core::payout::risk::{RiskReason, RiskVerdict};
use windlass_core::payout::state::PayoutState;

use crate::cli::global::Global;
use crate::failure::Failure;
use crate::output;
use crate::output::exit::Exit;
use crate::pay::caller::Deed;
use crate::pay::find::PayoutName;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids of payouts, their first 8 or last 6 digits or more, or their keys
    #[arg(required = true)]
    ids: Vec<PayoutName>,
    /// Show what would be approved, and approve nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What became of a payout, or would.
type Answer = Approved;

/// Several payouts, as `--json` prints them.
#[derive(Debug, Serialize)]
struct AnswerList {
    data: Vec<ApprovedBody>,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let session = Session::begin(&loaded.config, Deed::Approve).await?;
    let (answers, trouble) = approve(&args, &session).await;
    session.store.close().await;
    // What was done is told, whatever came then.
    let is_refused = answers.iter().any(|answer| is_refused(answer, args.dry_run));
    if args.json {
        print_json(answers, args.ids.len() == 1, &session.tokens)?;
    } else {
        let lines: String =
            answers.iter().map(|answer| line(answer, &session.tokens, args.dry_run)).collect();
        output::print(&lines)?;
    }
    if let Some(failure) = trouble {
        return Err(failure);
    }
    // The rules said no: the answer to "approve it" is no.
    if is_refused { Err(Failure::silent(Exit::No)) } else { Ok(()) }
}

/// One that was approved by itself is answered by itself.
fn print_json(answers: Vec<Answer>, is_single: bool, tokens: &Tokens) -> Result<(), Failure> {
    let mut data: Vec<ApprovedBody> =
        answers.into_iter().map(|answer| ApprovedBody::new(tokens.all(), answer)).collect();
    if !is_single {
        return Ok(output::json(&AnswerList { data })?);
    }
    match data.pop() {
        Some(one) => Ok(output::json(&one)?),
        None => Ok(()),
    }
}

/// Whether the rules refuse it, or would. They are asked by the last approval that it takes.
fn is_refused(answer: &Answer, is_dry_run: bool) -> bool {
    answer.payout.state == PayoutState::Rejected || (is_dry_run && would_be_refused(answer).is_some())
}

fn would_be_refused(answer: &Answer) -> Option<RiskReason> {
    let verdict = answer.report.as_ref().map(|report| report.verdict);
    match verdict.filter(|_| answer.approvals >= answer.needed) {
        Some(RiskVerdict::Refused(reason)) => Some(reason),
        _ => None,
    }
}

/// One after another; the first that cannot be approved ends it, and what came before stands.
async fn approve(args: &Args, session: &Session) -> (Vec<Answer>, Option<Failure>) {
    let mut answers = Vec::with_capacity(args.ids.len());
    for id in &args.ids {
        match one(id, session, args.dry_run).await {
            Ok(answer) => answers.push(answer),
            Err(failure) => {
                let message = format!("payout {id}: {}", failure.message);
                return (answers, Some(Failure { message, ..failure }));
            }
        }
    }
    (answers, None)
}

async fn one(id: &PayoutName, session: &Session, is_dry_run: bool) -> Result<Answer, Failure> {
    let id = session.payout_id(id).await?;
    if !is_dry_run {
        return Ok(session.desk.approve(id, &session.actor).await?);
    }
    let Prospect { payout, approvals, needed, report } =
        session.desk.preview_approve(id, &session.actor).await?;
    Ok(Approved { payout, approvals, needed, report: Some(report) })
}

fn line(answer: &Answer, tokens: &Tokens, is_dry_run: bool) -> String {
    let Approved { payout, approvals, needed, report } = answer;
    let amount = view::amount(tokens, payout.request.token, payout.request.amount);
    let what = format!("payout {}, {amount} to {}", payout.id, payout.request.to);
    let count = format!("{approvals} of {needed} approvals");
    let outcome = match payout.state {
        _ if is_dry_run => format!("{count}, {}", prospect(answer)),
        PayoutState::PendingRisk => format!("{count}, waits for more"),
        PayoutState::Rejected => {
            format!("REJECTED, {}", payout.reason.as_deref().unwrap_or("without a reason"))
        }
        state => format!("{state}, {count}"),
    };
    let rules = report.as_ref().map(|report| view::rules(tokens, payout.request.token, report));
    format!("{what}: {outcome}\n{}", rules.unwrap_or_default())
}

fn prospect(answer: &Answer) -> String {
    if answer.approvals < answer.needed {
        return "would wait for more".to_owned();
    }
    if let Some(reason) = would_be_refused(answer) {
        return format!("the rules would refuse it: {reason}");
    }
    match answer.report.as_ref().map(|report| report.verdict) {
        Some(RiskVerdict::Waits { until }) => {
            format!("would be APPROVED, and wait until {}", output::time::instant(until))
        }
        _ => "would be APPROVED".to_owned(),
    }
}
