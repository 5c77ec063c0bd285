//! `windlass vault unpause`

use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let purpose = "let payouts go on".to_owned();
    common::act(&args.place, &how, global, &AdminCall::Unpause, purpose).await
}
