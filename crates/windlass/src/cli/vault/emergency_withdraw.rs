//! `windlass vault emergency-withdraw`

use windlass_core::payout::vault::admin::{AdminCall, EVERYTHING};

use super::common::{self, Announced, Consent, HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::vault::amount::{ALL, NamedToken};
use crate::vault::announced::Announcement;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which token, by its symbol in the configuration or its address
    #[arg(long)]
    token: String,
    /// How much, such as 12.5; base units of a token that is not configured; `all` for what the vault holds then
    #[arg(long, default_value = ALL)]
    amount: String,
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
    let loaded = global.load()?;
    let vault = args.place.open(&loaded.config).await?;
    let token = NamedToken::read(&vault.site, &args.token)?;
    vault.check_asset(token.address).await?;
    let amount = match args.amount.as_str() {
        ALL => EVERYTHING,
        text => token.units(text)?,
    };
    let announced = Announced {
        call: AdminCall::ScheduleEmergencyWithdrawal { token: token.address, amount },
        what: Announcement::Withdrawal(token.address),
        same: amount.to_string(),
        purpose: format!("announce a withdrawal of {} to the treasury, after the delay", args.token),
    };
    common::announce_at(&loaded.config, &vault, &how, announced, args.again).await
}
