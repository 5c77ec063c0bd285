//! `windlass key revoke`

use windlass_engine::pay::keyring::Keyring;

use super::actor;
use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output;
use crate::pay::{log_key, options};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key's name
    name: String,
    /// Without an admin's key, because all of them are lost; the audit log says so
    #[arg(long)]
    recover: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let audit_key = options::audit_key(&loaded.config)?;
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let revoked = async {
        log_key::check(&*store, &audit_key).await?;
        let ledger = options::ledger(&loaded.config, store.clone())?;
        let actor = actor(&loaded.config, &*ledger, args.recover).await?;
        let keyring = Keyring::new(ledger, &actor).map_err(unnamed)?;
        Ok::<_, Failure>(keyring.revoke(&args.name).await?)
    };
    let revoked = revoked.await;
    store.close().await;
    let key = revoked?;
    Ok(output::print(&format!("key `{}` is worth nothing from now on\n", key.name))?)
}
