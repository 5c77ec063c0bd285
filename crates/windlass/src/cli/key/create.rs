//! `windlass key create`

use serde_json::json;
use windlass_core::payout::ledger::{ApiKey, Role};
use windlass_engine::pay::keyring::Keyring;

use super::actor;
use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::KEY_VARIABLE;
use crate::pay::{log_key, options};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it allows: viewer, operator, approver or admin
    #[arg(long, value_parser = role)]
    role: Role,
    /// Whose it is: under this name its deeds stand in the audit log
    #[arg(long)]
    name: String,
    /// Without an admin's key, because all of them are lost; the audit log says so
    #[arg(long)]
    recover: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn role(text: &str) -> Result<Role, String> {
    text.parse::<Role>().map_err(|error| error.to_string())
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let audit_key = options::audit_key(&loaded.config)?;
    let store = store::open(&loaded.config.database, Access::Work).await?;
    let secret = secret();
    let made = async {
        log_key::check(&*store, &audit_key).await?;
        let ledger = options::ledger(&loaded.config, store.clone())?;
        let actor = actor(&loaded.config, &*ledger, args.recover).await?;
        let keyring = Keyring::new(ledger, &actor).map_err(unnamed)?;
        Ok::<_, Failure>(keyring.create(&args.name, args.role, ApiKey::hash_of(&secret)).await?)
    };
    let made = made.await;
    store.close().await;
    let key = made?;
    if args.json {
        return Ok(output::json(&json!({"name": key.name, "role": key.role, "key": secret}))?);
    }
    output::print(&format!("{secret}\n"))?;
    output::note(&format!(
        "key `{}` of the role {}: it is shown this once. Keep it as a secret; commands read it from {KEY_VARIABLE}, HTTP takes it as `Authorization: Bearer …`",
        key.name, key.role
    ));
    Ok(())
}

/// A secret of 256 random bits: nobody guesses it, so it is kept as a plain hash.
fn secret() -> String {
    let bytes: [u8; 32] = rand::random();
    format!("wl_{}", alloy_primitives::hex::encode(bytes))
}
