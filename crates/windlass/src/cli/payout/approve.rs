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
use crate::pay::rule_names::readable;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids of payouts, their first 8 or last 6 digits or more, or their keys
    #[arg(required = true)]
    ids: Vec<PayoutName>,
    /// Show what would be approved, without approving it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What became of a payout, or would.
struct Answer {
    approved: Approved,
    /// Whether this approver had approved it before, where that is only looked at.
    is_repeated: bool,
}

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
        answers.into_iter().map(|answer| ApprovedBody::new(tokens.all(), answer.approved)).collect();
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
    let Answer { approved, .. } = answer;
    approved.payout.state == PayoutState::Rejected || (is_dry_run && would_be_refused(approved).is_some())
}

/// The rules are asked by the last approval of a payout that waits for approvals, and by no other.
fn would_be_refused(approved: &Approved) -> Option<RiskReason> {
    let is_last = approved.payout.state == PayoutState::PendingRisk && approved.approvals >= approved.needed;
    match approved.report.as_ref().filter(|_| is_last)?.verdict {
        RiskVerdict::Refused(reason) => Some(reason),
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
        let approved = session.desk.approve(id, &session.actor).await?;
        return Ok(Answer { approved, is_repeated: false });
    }
    let Prospect { payout, approvals, needed, is_repeated, report } =
        session.desk.preview_approve(id, &session.actor).await?;
    // What is signed already is decided.
    let is_open = matches!(payout.state, PayoutState::PendingRisk | PayoutState::Approved);
    let report = is_open.then_some(report);
    Ok(Answer { approved: Approved { payout, approvals, needed, report }, is_repeated })
}

fn line(answer: &Answer, tokens: &Tokens, is_dry_run: bool) -> String {
    let Approved { payout, approvals, needed, report } = &answer.approved;
    let amount = view::amount(tokens, payout.request.token, payout.request.amount);
    let what = format!("payout {}, {amount} to {}", payout.id, payout.request.to);
    let count = format!("{approvals} of {needed} approvals");
    let outcome = match payout.state {
        _ if is_dry_run => format!("{count}, {}", prospect(answer)),
        PayoutState::PendingRisk => format!("{count}, waits for more"),
        PayoutState::Rejected => {
            format!("REJECTED, {}", readable(payout.reason.as_deref().unwrap_or("without a reason")))
        }
        state => format!("{state}, {count}"),
    };
    let rules = report.as_ref().map(|report| view::rules(tokens, payout.request.token, report));
    format!("{what}: {outcome}\n{}", rules.unwrap_or_default())
}

/// What an approval would bring about.
fn prospect(answer: &Answer) -> String {
    let Answer { approved, is_repeated } = answer;
    let is_short = approved.approvals < approved.needed;
    match (approved.payout.state, is_repeated) {
        (PayoutState::PendingRisk, true) if is_short => {
            "nothing would change: you have approved it already, and it waits for others".to_owned()
        }
        (PayoutState::PendingRisk, false) if is_short => "would wait for more".to_owned(),
        (PayoutState::PendingRisk, _) => verdict(approved),
        (state, true) => format!("nothing would change: you have approved it already, and it is {state}"),
        (state, false) if is_short => format!("it is {state}, and would wait for more"),
        (state, false) => format!("it is {state}, and would have all the approvals that it takes"),
    }
}

/// What the rules would make of the last approval.
fn verdict(approved: &Approved) -> String {
    if let Some(reason) = would_be_refused(approved) {
        return format!("the rules would refuse it: {}", readable(&reason.to_string()));
    }
    match approved.report.as_ref().map(|report| report.verdict) {
        Some(RiskVerdict::Waits { until }) => {
            format!("would be APPROVED, and wait until {}", output::time::instant(until))
        }
        _ => "would be APPROVED".to_owned(),
    }
}
