//! `windlass vault set-risk-signer`

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, Announced, HowArgs, Where};
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::failure::Failure;
use crate::vault::announced::Announcement;

/// How no signer is written.
const NONE: &str = "none";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose approval each payout is to need; `none` for payouts without approval
    #[arg(value_name = "ADDRESS|none", value_parser = signer)]
    signer_account: Address,
    /// Announce it although it is announced: the delay begins again
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
}

fn signer(text: &str) -> Result<Address, String> {
    if text == NONE { Ok(Address::ZERO) } else { parse_address(text) }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let account = args.signer_account;
    let purpose = match account.is_zero() {
        true => "announce that payouts will need no approval".to_owned(),
        false => format!("announce {account} as the risk signer"),
    };
    let announced = Announced {
        call: AdminCall::ScheduleRiskSigner(account),
        what: Announcement::RiskSigner,
        same: account.to_string(),
        purpose,
    };
    common::announce(&args.place, &how, global, announced, args.again).await
}
