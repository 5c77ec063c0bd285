//! `windlass vault execute`

use clap::ValueEnum;
use windlass_core::payout::vault::admin::AdminCall;

use super::common::{self, Consent, HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::vault::amount::NamedToken;
use crate::vault::announced::Announcement;
use crate::vault::site::Vault;

/// What can be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    RiskSigner,
    EmergencyWithdrawal,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What was announced: a signer is put in force, a withdrawal goes to the treasury
    what: What,
    /// Of a withdrawal: the token, by its symbol in the configuration or its address
    #[arg(long, value_name = "TOKEN", required_if_eq("what", "emergency-withdrawal"))]
    token: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read_with(&args.consent)?;
    let Some(token) = args.token.filter(|_| args.what == What::EmergencyWithdrawal) else {
        let purpose = "put the announced risk signer in force, and void every approval".to_owned();
        let call = (AdminCall::ApplyRiskSigner, Announcement::RiskSigner);
        return common::carry_out(&args.place, &how, global, |_| Ok(call), purpose).await;
    };
    let purpose = format!("send the announced amount of {token} to the treasury");
    let call = |vault: &Vault| {
        let token = NamedToken::read(&vault.site, &token)?.address;
        Ok::<_, Failure>((AdminCall::ExecuteEmergencyWithdrawal(token), Announcement::Withdrawal(token)))
    };
    common::carry_out(&args.place, &how, global, call, purpose).await
}
