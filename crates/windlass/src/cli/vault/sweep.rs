//! `windlass vault sweep`

use windlass_core::chain::{Address, U256};
use windlass_core::code::Code;
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::vault::admin::AdminCall;
use windlass_core::reader::BlockTag;

use super::common::{Consent, HowArgs, Where};
use crate::cli::global::Global;
use crate::config::address::parse_address;
use crate::failure::Failure;
use crate::vault::act;
use crate::vault::amount::{ALL, NamedToken};
use crate::vault::plan::Planned;
use crate::vault::site::Vault;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which token, by its address or its symbol in the configuration; never one that is or was payable
    #[arg(long)]
    token: String,
    /// The recipient
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    to: Address,
    /// How much, in base units of a token that is not configured: as much again each time; `all` for what the vault holds now
    #[arg(long, default_value = ALL)]
    amount: String,
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
    if token.address == NATIVE_COIN {
        return Err(Failure::refused("the chain's own coin cannot be swept")
            .hint("windlass vault emergency-withdraw sends it to the treasury, after the delay"));
    }
    let amount = match args.amount.as_str() {
        ALL => held(&vault, token.address).await?,
        text => token.units(text)?,
    };
    let purpose = format!("send {amount} base units of {} to {}", token.address, args.to);
    let call = AdminCall::Sweep { token: token.address, to: args.to, amount };
    let planned = Planned::call(&vault, &call, purpose);
    act::run(&loaded.config, &vault.site, &planned, &how).await.map(drop)
}

/// What the vault holds of a token.
async fn held(vault: &Vault, token: Address) -> Result<U256, Failure> {
    vault.balance(token, BlockTag::Latest).await?.ok_or_else(|| {
        Failure::coded(Code::ContractMissing, format_args!("{token} does not tell balances: it is no token"))
            .hint("check --token, and that it is on this chain")
    })
}
