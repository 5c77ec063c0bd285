//! `windlass payout approve`

use serde::Serialize;
use windlass_core::payout::desk::{Approved, DeskError, Prospect};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::state::PayoutState;

use crate::cli::global::Global;
use crate::failure::Failure;
use crate::output;
use crate::output::exit::Exit;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids of payouts
    #[arg(required = true, value_parser = Session::id)]
    ids: Vec<PayoutId>,
    /// Show what would be approved, and approve nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What became of a payout, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Answer {
    payout: Payout,
    approvals: u32,
    needed: u32,
    /// What the rules would say, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    risk: Option<RiskVerdict>,
}

impl Answer {
    fn is_refused(&self) -> bool {
        self.payout.state == PayoutState::Rejected || matches!(self.risk, Some(RiskVerdict::Refused(_)))
    }
}

fn in_words<S: serde::Serializer>(risk: &Option<RiskVerdict>, serializer: S) -> Result<S::Ok, S::Error> {
    risk.as_ref().map(view::verdict).serialize(serializer)
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let session = Session::begin(&loaded.config, Deed::Approve).await?;
    let (answers, trouble) = approve(&args, &session).await;
    session.store.close().await;
    // What was done is told, whatever came then.
    if args.json {
        output::json(&answers)?;
    } else {
        let lines: String =
            answers.iter().map(|answer| line(answer, &session.tokens, args.dry_run)).collect();
        output::print(&lines)?;
    }
    if let Some(failure) = trouble {
        return Err(failure);
    }
    // The rules said no: the answer to "approve it" is no.
    let is_refused = answers.iter().any(Answer::is_refused);
    if is_refused { Err(Failure::silent(Exit::No)) } else { Ok(()) }
}

/// One after another; the first that cannot be approved ends it, and what came before stands.
async fn approve(args: &Args, session: &Session) -> (Vec<Answer>, Option<Failure>) {
    let mut answers = Vec::with_capacity(args.ids.len());
    for id in &args.ids {
        let answer = if args.dry_run { preview(*id, session).await } else { one(*id, session).await };
        match answer {
            Ok(answer) => answers.push(answer),
            Err(error) => {
                let failure = Failure::from(error);
                let message = format!("payout {id}: {}", failure.message);
                return (answers, Some(Failure { message, ..failure }));
            }
        }
    }
    (answers, None)
}

async fn one(id: PayoutId, session: &Session) -> Result<Answer, DeskError> {
    let Approved { payout, approvals, needed } = session.desk.approve(id, &session.actor).await?;
    Ok(Answer { payout, approvals, needed, risk: None })
}

async fn preview(id: PayoutId, session: &Session) -> Result<Answer, DeskError> {
    let Prospect { payout, approvals, needed, verdict } =
        session.desk.preview_approve(id, &session.actor).await?;
    // The rules are asked by the last approval that it takes.
    let risk = (approvals >= needed).then_some(verdict);
    Ok(Answer { payout, approvals, needed, risk })
}

fn line(answer: &Answer, tokens: &Tokens, is_dry_run: bool) -> String {
    let Answer { payout, approvals, needed, risk } = answer;
    let amount = view::amount(tokens, payout.request.token, payout.request.amount);
    let what = format!("payout {}, {amount} to {}", payout.id, payout.request.to);
    let count = format!("{approvals} of {needed} approvals");
    if is_dry_run {
        let would = match risk {
            None => "would wait for more".to_owned(),
            Some(RiskVerdict::Refused(reason)) => format!("the rules would refuse it: {reason}"),
            Some(RiskVerdict::Passes) => "would be APPROVED".to_owned(),
            Some(RiskVerdict::Waits { until }) => {
                format!("would be APPROVED, and wait until {}", output::time::instant(*until))
            }
        };
        return format!("{what}: {count}, {would}\n");
    }
    match payout.state {
        PayoutState::PendingRisk => format!("{what}: {count}, waits for more\n"),
        PayoutState::Rejected => {
            format!("{what}: REJECTED, {}\n", payout.reason.as_deref().unwrap_or("without a reason"))
        }
        state => format!("{what}: {state}, {count}\n"),
    }
}
