//! `windlass vault begin-admin`

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, Announced, Consent, HowArgs, Where};
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::failure::Failure;
use crate::vault::announced::Announcement;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who is to be the admin
    #[arg(value_parser = parse_address)]
    account: Address,
    /// Announce it although it is announced: the delay begins again
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read_with(&args.consent)?;
    let announced = Announced {
        call: AdminCall::ScheduleAdminTransfer(args.account),
        what: Announcement::Admin,
        same: args.account.to_string(),
        purpose: format!(
            "announce {} as the admin, who can take the whole vault over after the delay",
            args.account
        ),
    };
    common::announce(&args.place, &how, global, announced, args.again).await
}
