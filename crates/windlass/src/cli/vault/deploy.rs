//! `windlass vault deploy`

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::deploy::Deployment;

use super::common::{HowArgs, chain_name};
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::config::chain::ChainName;
use crate::config::duration::HumanDuration;
use crate::failure::Failure;
use crate::vault::deploy::{self, Wanted};
use crate::vault::site::Site;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who pays: the account of a signer in `[pay]`
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    operator: Address,
    /// Where emergency withdrawals go; it can never be changed
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    treasury: Address,
    /// Who sets the rules, such as a Safe [default: who deploys]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    admin: Option<Address>,
    /// Who may stop it
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    guardian: Option<Address>,
    /// Whose approval each payout needs
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    risk_signer: Option<Address>,
    /// How long a new risk signer, a withdrawal and a hand-over wait: 1h to 720h; it can never be changed
    #[arg(long, value_name = "DURATION", default_value = "48h")]
    delay: HumanDuration,
    /// Make another although the account's last transaction made a contract
    #[arg(long)]
    again: bool,
    /// Which chain, by its name in the configuration [default: that of `[pay]`]
    #[arg(long, value_name = "NAME", value_parser = chain_name)]
    chain: Option<ChainName>,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let how = args.how.read()?;
    let HumanDuration(delay) = args.delay;
    if delay.subsec_nanos() != 0 {
        return Err(Failure::usage("--delay is whole seconds"));
    }
    let loaded = global.load()?;
    let site = Site::open(&loaded.config, args.chain.as_ref()).await?;
    let rest = Deployment {
        admin: Address::ZERO,
        operator: args.operator,
        guardian: args.guardian.filter(|guardian| !guardian.is_zero()),
        treasury: args.treasury,
        risk_signer: args.risk_signer.filter(|signer| !signer.is_zero()),
        delay_s: delay.as_secs(),
    };
    deploy::run(&loaded.config, &site, Wanted { admin: args.admin, rest, again: args.again }, &how).await
}
