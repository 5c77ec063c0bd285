//! `windlass vault revoke`

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::{AdminCall, VaultRole};

use super::common::{self, Consent, HowArgs, Where};
use super::grant::Role;
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which role
    role: Role,
    /// Who loses it
    #[arg(value_parser = parse_address)]
    account: Address,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read_with(&args.consent)?;
    let role = VaultRole::from(args.role);
    let purpose = format!("take {role} from {}", args.account);
    common::act(&args.place, &how, global, &AdminCall::RevokeRole(role, args.account), purpose).await
}
