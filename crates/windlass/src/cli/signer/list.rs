//! `windlass signer list`

use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;
use windlass_core::chain::Address;
use windlass_core::payout::gas::{GasBalance, GasLevel, TYPICAL_GAS};
use windlass_core::payout::ledger::SignerRow;
use windlass_core::reader::{BlockTag, ChainError};

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::database::Location;
use crate::failure::Failure;
use crate::output;
use crate::output::exit::Exit;
use crate::output::table::{self, Side};
use crate::pay::keys;
use crate::pay::paying::Paying;

/// How long an endpoint may take to say what an account has.
const MAX_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A configured key, and what is known of its account.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    account: Option<Address>,
    /// What it is for: `pays`, `approves`, or nothing here.
    used_for: &'static str,
    next_nonce: Option<u64>,
    /// What an account that pays has for gas, where an endpoint says so.
    gas: Option<GasBalance>,
    trouble: Option<String>,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let listed = list(&loaded.config).await?;
    if args.json {
        output::json(&listed)?;
    } else {
        output::print(&render(&listed))?;
    }
    let is_well = listed.iter().all(|signer| signer.trouble.is_none());
    if is_well { Ok(()) } else { Err(Failure::silent(Exit::No)) }
}

async fn list(config: &Config) -> Result<Vec<Listed>, Failure> {
    let rows = rows(config).await?;
    let prices = GasPrices::read(config).await;
    let mut listed = Vec::new();
    for name in config.signer.keys() {
        let pay = config.pay.as_ref();
        let used_for = match pay {
            Some(pay) if pay.signers.contains(name) => "pays",
            Some(pay) if pay.risk_signer.as_ref() == Some(name) => "approves",
            _ => "-",
        };
        let (account, trouble) = match keys::open(config, name).await {
            Ok(signer) => (Some(signer.address()), None),
            Err(failure) => (None, Some(failure.message)),
        };
        let row = rows.iter().find(|row| Some(row.address) == account);
        let asked = match (&prices, account) {
            (Some(prices), Some(account)) if used_for == "pays" => Some(gas(prices, account).await),
            _ => None,
        };
        let (gas, silence) = match asked {
            Some(Ok(gas)) => (Some(gas), None),
            Some(Err(why)) => (None, Some(format!("what it has for gas is not known: {why}"))),
            None => (None, None),
        };
        let short = gas.filter(|gas| gas.level() == GasLevel::Short).map(|gas| format!("it {gas}"));
        let halted = row.and_then(|row| row.halted.clone()).map(|why| format!("halted: {why}"));
        listed.push(Listed {
            name: name.to_string(),
            account,
            used_for,
            next_nonce: row.map(|row| row.next_nonce),
            gas,
            trouble: trouble.or(halted).or(short).or(silence),
        });
    }
    Ok(listed)
}

/// What gas costs on the vault's chain.
struct GasPrices {
    paying: Paying,
    max_fee: u128,
}

impl GasPrices {
    /// `None` where nothing is paid; why where no endpoint answers in time.
    async fn read(config: &Config) -> Option<Result<Self, String>> {
        let paying = Paying::of(config).ok()?;
        let fees = answer(paying.chain.gas_fees()).await;
        Some(fees.map(|fees| Self { paying, max_fee: fees.max_fee }))
    }

    async fn balance_of(&self, account: Address) -> Result<GasBalance, String> {
        let balance = answer(self.paying.chain.balance(account, BlockTag::Latest)).await?;
        let warn_below = self.paying.options.warn_below_wei;
        Ok(GasBalance::new(balance, TYPICAL_GAS, self.max_fee, warn_below))
    }
}

/// What an account has for gas, or why that is not known.
async fn gas(prices: &Result<GasPrices, String>, account: Address) -> Result<GasBalance, String> {
    prices.as_ref().map_err(Clone::clone)?.balance_of(account).await
}

/// What an endpoint answers in time.
async fn answer<T>(question: impl Future<Output = Result<T, ChainError>>) -> Result<T, String> {
    match timeout(MAX_WAIT, question).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no endpoint has answered within {} seconds", MAX_WAIT.as_secs())),
    }
}

/// What is stored of accounts on the vault's chain; nothing where nothing has run yet.
async fn rows(config: &Config) -> Result<Vec<SignerRow>, Failure> {
    let chain = config.pay.as_ref().and_then(|pay| config.chain.get(&pay.chain)).map(|chain| chain.id);
    if let Location::Sqlite(path) = store::locate(&config.database)?
        && !path.exists()
    {
        return Ok(Vec::new());
    }
    let store = store::open(&config.database, Access::Look).await?;
    let rows = store.list_signers().await;
    store.close().await;
    Ok(rows?.into_iter().filter(|row| Some(row.chain) == chain).collect())
}

fn render(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "no signers are configured\n".to_owned();
    }
    let header = [
        ("name", Side::Left),
        ("account", Side::Left),
        ("used for", Side::Left),
        ("next nonce", Side::Right),
        ("gas", Side::Right),
        ("trouble", Side::Left),
    ];
    let dash = || "-".to_owned();
    table::render(
        &header,
        listed.iter().map(|signer| {
            vec![
                signer.name.clone(),
                signer.account.map_or_else(dash, |account| account.to_string()),
                signer.used_for.to_owned(),
                signer.next_nonce.map_or_else(dash, |nonce| nonce.to_string()),
                signer.gas.map_or_else(dash, |gas| gas.balance.to_string()),
                signer.trouble.clone().unwrap_or_else(dash),
            ]
        }),
    )
}
