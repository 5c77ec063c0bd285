//! `windlass key create`

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use windlass_core::lease::Lease;
use windlass_core::name::{LeaseName, Owner};
use windlass_core::payout::ledger::{ApiKey, Role};
use windlass_core::store::Store;
use windlass_engine::pay::keyring::Keyring;
use windlass_engine::pay::ledger::Ledger;

use super::actor;
use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::KEY_VARIABLE;
use crate::pay::{log_key, options};

/// How long creating a key may take.
const LEASE_TTL: Duration = Duration::from_secs(60);
/// How long another process that creates one is waited for, and how often it is looked.
const LEASE_WAIT: Duration = Duration::from_secs(5);
const LEASE_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key's role: viewer, operator, approver or admin
    #[arg(long, value_parser = role)]
    role: Role,
    /// The owner's name, as the audit log records it
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
        // Two processes that both see no admin's key must not both make the first: the commit
        // is refused where another has taken the lease since.
        let lease = take_lease(&*store).await?;
        let made = make(&args, &loaded.config, ledger, &secret, &lease).await;
        store.release_lease(&lease).await?;
        made
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

async fn take_lease(store: &dyn Store) -> Result<Lease, Failure> {
    let name = LeaseName::new("pay/keys").map_err(unnamed)?;
    let owner = format!("key-{}-{:08x}", std::process::id(), rand::random::<u32>());
    let owner = Owner::new(owner).map_err(unnamed)?;
    let deadline = Instant::now() + LEASE_WAIT;
    loop {
        // A busy database gives no lease either.
        if let Some(lease) = store.acquire_lease(&name, &owner, LEASE_TTL).await? {
            return Ok(lease);
        }
        if Instant::now() >= deadline {
            return Err(Failure::refused("another process is creating an API key")
                .hint("run the command again in a minute"));
        }
        sleep(LEASE_PAUSE).await;
    }
}

async fn make(
    args: &Args,
    config: &Config,
    ledger: Arc<Ledger>,
    secret: &str,
    lease: &Lease,
) -> Result<ApiKey, Failure> {
    let actor = actor(config, &*ledger, args.recover).await?;
    let keyring = Keyring::new(ledger, &actor).map_err(unnamed)?.under_lease(lease.clone());
    Ok(keyring.create(&args.name, args.role, ApiKey::hash_of(secret)).await?)
}

/// A secret of 256 random bits: nobody guesses it, so it is kept as a plain hash.
fn secret() -> String {
    let bytes: [u8; 32] = rand::random();
    format!("wl_{}", alloy_primitives::hex::encode(bytes))
}
