//! `windlass vault cancel`

use std::str::FromStr;

use windlass_core::payout::vault::admin::AdminCall;

use super::common::{HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::vault::act;
use crate::vault::amount::NamedToken;
use crate::vault::cancelled::Which;
use crate::vault::plan::Planned;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A payout's id or key, a request's id, or what was announced: risk-signer, admin, emergency-withdrawal
    what: What,
    /// Of a withdrawal: the token, by its symbol in the configuration or its address
    #[arg(long, value_name = "TOKEN", required_if_eq("what", "emergency-withdrawal"))]
    token: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
}

/// What is cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Request(Which),
    RiskSigner,
    Admin,
    Withdrawal,
}

impl FromStr for What {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "risk-signer" => Ok(Self::RiskSigner),
            "admin" => Ok(Self::Admin),
            "emergency-withdrawal" => Ok(Self::Withdrawal),
            name => name.parse().map(Self::Request),
        }
    }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let loaded = global.load()?;
    let vault = args.place.open(&loaded.config).await?;
    let (call, purpose) = match args.what {
        What::Request(which) => {
            let payout = which.payout(&loaded.config, &vault).await?;
            (
                AdminCall::CancelRequest(payout),
                format!("make sure that request {} is never paid", payout.request_id),
            )
        }
        What::RiskSigner => (AdminCall::CancelRiskSigner, "drop the announced risk signer".to_owned()),
        What::Admin => (AdminCall::CancelAdminTransfer, "drop the announced admin".to_owned()),
        What::Withdrawal => {
            let token = NamedToken::read(&vault.site, args.token.as_deref().unwrap_or_default())?;
            (AdminCall::CancelEmergencyWithdrawal(token.address), "drop the announced withdrawal".to_owned())
        }
    };
    let planned = Planned::call(&vault, &call, purpose);
    act::run(&loaded.config, &vault.site, &planned, &how).await.map(drop)
}
