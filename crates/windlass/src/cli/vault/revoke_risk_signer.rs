//! `windlass vault revoke-risk-signer`

use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, Consent, HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;

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
    let purpose = "take the risk signer's power, pause the vault and void every approval: another signer takes the whole delay".to_owned();
    common::act(&args.place, &how, global, &AdminCall::RevokeRiskSigner, purpose).await
}
