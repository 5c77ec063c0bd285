//! `windlass vault grant`

use clap::ValueEnum;
use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::{AdminCall, VaultRole};

use super::common::{self, HowArgs, Where};
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::failure::Failure;

/// A role as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Role {
    Operator,
    Guardian,
}

impl From<Role> for VaultRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Operator => Self::Operator,
            Role::Guardian => Self::Guardian,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which role: an operator pays, a guardian can only make the vault stricter
    role: Role,
    /// The recipient
    #[arg(value_parser = parse_address)]
    account: Address,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let role = VaultRole::from(args.role);
    let purpose = format!("give {role} to {}", args.account);
    common::act(&args.place, &how, global, &AdminCall::GrantRole(role, args.account), purpose).await
}
