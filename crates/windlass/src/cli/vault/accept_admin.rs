//! `windlass vault accept-admin`

use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, Consent, HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::vault::announced::Announcement;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read_with(&args.consent)?;
    let purpose = "make the sender the admin, and take that from the one before".to_owned();
    common::carry_out(
        &args.place,
        &how,
        global,
        |_| Ok((AdminCall::AcceptAdminTransfer, Announcement::Admin)),
        purpose,
    )
    .await
}
