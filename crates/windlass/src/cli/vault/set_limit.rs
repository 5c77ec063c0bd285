//! `windlass vault set-limit`

use windlass_core::payout::vault::admin::AdminCall;
use windlass_core::payout::vault::admin::ask;
use windlass_core::reader::BlockTag;

use super::common::{HowArgs, Where};
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::vault::act;
use crate::vault::amount::NamedToken;
use crate::vault::plan::Planned;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Amounts are such as 12.5 or `12.5 USDC`, by the decimals in `[pay.token.<symbol>]`; of a token that is not configured, whole numbers of base units. A limit has up to twelve digits and then zeros, in base units."
)]
pub(crate) struct Args {
    /// Which token, by its symbol in the configuration or its address
    #[arg(long)]
    token: String,
    /// The most of one payout; `none` for no limit [default: as it is]
    #[arg(long, value_name = "AMOUNT", required_unless_present_any = ["per_day", "disable"])]
    per_payout: Option<String>,
    /// The most of a UTC day; `none` for no limit [default: as it is]
    #[arg(long, value_name = "AMOUNT")]
    per_day: Option<String>,
    /// Stop paying the token; without this it is made payable
    #[arg(long)]
    disable: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let loaded = global.load()?;
    let vault = args.place.open(&loaded.config).await?;
    let token = NamedToken::read(&vault.site, &args.token)?;
    vault.check_asset(token.address).await?;
    let policy = vault.ask(&ask::token_policy(token.address), BlockTag::Latest).await?;
    let limit = |text: Option<&String>, now| text.map_or(Ok(now), |text| token.limit(text));
    let call = AdminCall::SetToken {
        token: token.address,
        enabled: !args.disable,
        payout_limit: limit(args.per_payout.as_ref(), policy.payout_limit)?,
        day_limit: limit(args.per_day.as_ref(), policy.day_limit)?,
    };
    let purpose = match args.disable {
        true => format!("stop paying {}", args.token),
        false => format!("make {} payable within these limits", args.token),
    };
    let planned = Planned::call(&vault, &call, purpose);
    act::run(&loaded.config, &vault.site, &planned, &how).await.map(drop)
}
