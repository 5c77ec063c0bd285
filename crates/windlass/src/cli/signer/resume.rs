//! `windlass signer resume`

use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::payout::ledger::SignerRow;
use windlass_core::payout::store::Payouts;
use windlass_engine::pay::resume::{ResumeError, resume};

use crate::cli::global::Global;
use crate::config::Config;
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::keys;
use crate::pay::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The signer's name, or its account
    signer: String,
    /// You have seen what the account has sent, and know that nobody else uses the key
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let account = account(&args.signer, &loaded.config).await?;
    let session = Session::begin(&loaded.config, Deed::Administer).await?;
    let done = go_on(&args, &session, account).await;
    session.store.close().await;
    let row = done?;
    if args.json {
        return Ok(output::json(&row)?);
    }
    Ok(output::print(&format!("account {} signs again, from nonce {} on\n", row.address, row.next_nonce))?)
}

async fn account(text: &str, config: &Config) -> Result<Address, Failure> {
    if text.starts_with("0x") {
        return text.parse::<WrittenAddress>().map(|address| address.0).map_err(Failure::usage);
    }
    let name = text.parse().map_err(Failure::usage)?;
    Ok(keys::open(config, &name).await?.address())
}

async fn go_on(args: &Args, session: &Session, account: Address) -> Result<SignerRow, Failure> {
    let chain = session.paying.options.vault.chain;
    let halted = session.ledger.signer(chain, account).await?.and_then(|row| row.halted);
    if let Some(why) = halted.filter(|_| !args.yes) {
        return Err(Failure::coded(Code::SignerHalted, format_args!("account {account} was halted: {why}"))
            .hint("look at its transactions; if all is explained and nobody else uses the key: --yes"));
    }
    let resumed =
        resume(&session.ledger, &*session.paying.chain, &session.paying.options, account, &session.actor)
            .await;
    resumed.map_err(|error| match error {
        ResumeError::Store(error) => error.into(),
        ResumeError::Chain(error) => error.into(),
        error @ (ResumeError::Unknown(_) | ResumeError::NotHalted(_)) => {
            Failure::refused(error).hint("`windlass signer list` shows every account")
        }
        error => Failure::coded(Code::SignerHalted, error),
    })
}
