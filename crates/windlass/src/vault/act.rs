//! One of three ways: shown, written to a file, or sent.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use windlass_core::chain::{Address, B256};
use windlass_core::payout::vault::VaultRefusal;
use windlass_core::time::{Timestamp, duration_ms};

use super::account::Account;
use super::plan::{Planned, Told};
use super::safe;
use super::send::{self, Mined, coins, gwei};
use super::site::Site;
use super::trial::{self, Trial};
use crate::config::Config;
use crate::config::signer::SignerName;
use crate::failure::Failure;
use crate::output::exit::Exit;
use crate::output::{self, human};

/// What is to be done with a planned transaction.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    /// Tried and shown.
    DryRun {
        /// As whom, where it is not a signer.
        from: Option<Address>,
    },
    /// Written for a Safe.
    Calldata {
        /// Where to.
        file: PathBuf,
        /// Which Safe.
        safe: Option<Address>,
    },
    /// Sent.
    Send,
}

/// How.
#[derive(Debug, Clone)]
pub(crate) struct How {
    /// What is to be done.
    pub(crate) way: Way,
    /// Whose key, where it was named.
    pub(crate) signer: Option<SignerName>,
    /// With which nonce, where it was named.
    pub(crate) nonce: Option<u64>,
    /// How long its receipt is waited for.
    pub(crate) timeout: Duration,
    /// Whether it was agreed to; `None` where nobody has to.
    pub(crate) yes: Option<bool>,
    /// Whether a program reads the answer.
    pub(crate) json: bool,
}

/// What was, or would be, sent.
#[derive(Serialize)]
struct Report<'a> {
    chain: String,
    chain_id: u64,
    contract: Option<String>,
    function: &'a str,
    arguments: &'a [Told],
    data: String,
}

impl How {
    /// Refuses what nobody agreed to, and says what it would do.
    pub(crate) fn agreed(&self, site: &Site, planned: &Planned) -> Result<(), Failure> {
        if !matches!(self.way, Way::Send) || self.yes != Some(false) {
            return Ok(());
        }
        let message = format!("this would {}; nothing was sent without --yes", planned.purpose);
        Err(Failure::refused(message)
            .details(planned.lines(site).lines().map(str::to_owned))
            .hint("--dry-run shows what would become of it; --yes sends it"))
    }

    /// Whether it may really be sent.
    pub(crate) const fn is_sending(&self) -> bool {
        matches!(self.way, Way::Send)
    }
}

/// Does it; gives what was mined, if something was sent.
pub(crate) async fn run(
    config: &Config,
    site: &Site,
    planned: &Planned,
    how: &How,
) -> Result<Option<Mined>, Failure> {
    match &how.way {
        Way::DryRun { from: Some(from) } => dry_run(site, planned, how, (*from, None)).await.map(|()| None),
        Way::DryRun { from: None } => {
            let account = Account::open(config, site, how.signer.as_ref()).await?;
            dry_run(site, planned, how, (account.address(), Some(&account.name))).await.map(|()| None)
        }
        Way::Calldata { file, safe } => {
            let batch = safe::batch(site, planned, *safe, now())?;
            safe::write(file, &batch)?;
            if how.json {
                output::json(&json!({ "file": file, "batch": batch }))?;
            } else {
                let written =
                    format!("written to {}: import it in the Safe's Transaction Builder\n", file.display());
                output::print(&(planned.lines(site) + &written))?;
            }
            Ok(None)
        }
        Way::Send => {
            how.agreed(site, planned)?;
            let account = Account::open(config, site, how.signer.as_ref()).await?;
            let nonce = send::nonce_of(site, account.address(), how.nonce).await?;
            send_from(site, planned, how, &account, nonce).await.map(Some)
        }
    }
}

/// Tries, signs, sends, waits, and says where it is.
pub(crate) async fn send_from(
    site: &Site,
    planned: &Planned,
    how: &How,
    account: &Account,
    nonce: u64,
) -> Result<Mined, Failure> {
    let cost = trial::run(site, planned, account.address()).await?.taken(planned)?;
    let mined = send::run(site, planned, account, (nonce, cost), how.timeout).await?;
    let Mined { hash, receipt } = &mined;
    if how.json {
        let mut done = told(site, planned)?;
        done["sent"] = true.into();
        done["from"] = account.address().to_string().into();
        done["nonce"] = nonce.into();
        done["transaction"] = json!(hash);
        done["block"] = receipt.block.number.into();
        done["block_hash"] = json!(receipt.block.hash);
        done["gas_used"] = receipt.gas_used.into();
        if let Some(made) = receipt.contract {
            done["vault"] = made.to_string().into();
        }
        output::json(&done)?;
    } else {
        output::print(&done(planned, *hash, receipt.block.number, receipt.contract))?;
    }
    Ok(mined)
}

fn done(planned: &Planned, hash: B256, block: u64, made: Option<Address>) -> String {
    let made = made.map_or_else(String::new, |vault| format!("vault        {vault}\n"));
    format!("done: {}\ntransaction  {hash}\nblock        {block}\n{made}", planned.function())
}

/// What is called, for a program.
fn told(site: &Site, planned: &Planned) -> Result<Value, Failure> {
    let told = Report {
        chain: site.name.to_string(),
        chain_id: site.id.as_u64(),
        contract: planned.to.map(|to| to.to_string()),
        function: &planned.signature,
        arguments: &planned.arguments,
        data: planned.data.to_string(),
    };
    serde_json::to_value(told).map_err(Failure::unexpected)
}

/// Tries it as somebody, and shows what would become of it.
pub(crate) async fn dry_run(
    site: &Site,
    planned: &Planned,
    how: &How,
    (from, signer): (Address, Option<&SignerName>),
) -> Result<(), Failure> {
    let trial = trial::run(site, planned, from).await?;
    if how.json {
        let mut shown = told(site, planned)?;
        shown["sent"] = false.into();
        shown["from"] = from.to_string().into();
        match &trial {
            Trial::Taken(cost) => {
                shown["outcome"] = "taken".into();
                shown["gas"] = cost.gas.into();
                shown["gas_limit"] = cost.gas_limit.into();
                shown["max_fee_wei"] = cost.fees.max_fee.to_string().into();
            }
            Trial::Refused(VaultRefusal { name, words, .. }) => {
                shown["outcome"] = "refused".into();
                shown["refusal"] = json!({ "name": name, "words": words });
            }
        }
        output::json(&shown)?;
    } else {
        let who = signer.map_or_else(String::new, |name| format!(" (signer {name})"));
        output::print(&(planned.lines(site) + &format!("from      {from}{who}\n") + &outcome(&trial)))?;
    }
    // The answer is in what was printed; for a script it is in the exit code too.
    match trial {
        Trial::Taken(_) => Ok(()),
        Trial::Refused(_) => Err(Failure::silent(Exit::No)),
    }
}

fn outcome(trial: &Trial) -> String {
    let told = match trial {
        Trial::Taken(cost) => format!(
            "gas       {}, at most {} at {} gwei each: up to {} of the chain's own coin\noutcome   it would be taken\n",
            human::count(cost.gas),
            human::count(cost.gas_limit),
            gwei(cost.fees.max_fee),
            coins(cost.most()),
        ),
        Trial::Refused(refusal) => format!("outcome   it would be refused: {refusal}\n"),
    };
    told + "nothing was sent\n"
}

/// The machine's clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(duration_ms(since))
}
