//! `windlass vault deny`

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, HowArgs, Where};
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who is not to be paid
    #[arg(value_parser = parse_address)]
    account: Address,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let purpose = format!("refuse every payout to {}", args.account);
    common::act(&args.place, &how, global, &AdminCall::Deny(args.account), purpose).await
}
