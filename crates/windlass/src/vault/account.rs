//! Who sends: a signer of the configuration, and none whose nonces belong to paying.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::payout::signer::Signer;

use super::site::Site;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::signer::SignerName;
use crate::failure::Failure;
use crate::output;
use crate::pay::keys;

/// How long a database may take to say who has paid.
const MAX_LOOK: Duration = Duration::from_secs(3);

/// An account, and the key to it.
pub(crate) struct Account {
    /// The signer's name.
    pub(crate) name: SignerName,
    /// The key.
    pub(crate) signer: Arc<dyn Signer>,
}

impl Account {
    /// The signer that was named, or the only one there can be.
    pub(crate) async fn open(
        config: &Config,
        site: &Site,
        name: Option<&SignerName>,
    ) -> Result<Self, Failure> {
        let name = match name {
            Some(name) => name,
            None => only(config)?,
        };
        if let Some(payer) = paying(config, name) {
            let who =
                if payer == name { String::new() } else { format!("has the key of `{payer}`, and that ") };
            return Err(refused(format_args!("signer `{name}` {who}is one of `signers` in `[pay]`")));
        }
        let signer = keys::open(config, name).await?;
        let address = signer.address();
        if has_paid(config, site, address).await {
            return Err(refused(format_args!("{address}, signer `{name}`, sends payouts")));
        }
        if config.signer.get(name).is_some_and(|section| section.development_key.is_some()) {
            output::note(&format!("warning: signer `{name}` is a bare private key, for development only"));
        }
        Ok(Self { name: name.clone(), signer })
    }

    /// The account.
    pub(crate) fn address(&self) -> Address {
        self.signer.address()
    }
}

/// The signer that neither pays nor approves, where there is one.
fn only(config: &Config) -> Result<&SignerName, Failure> {
    let is_free = |name: &&SignerName| match &config.pay {
        Some(pay) => !pay.signers.contains(name) && pay.risk_signer.as_ref() != Some(name),
        None => true,
    };
    let free: Vec<&SignerName> = config.signer.keys().filter(is_free).collect();
    match free.as_slice() {
        [one] => Ok(one),
        [] => Err(Failure::coded(Code::SignerUnusable, "no signer is configured that could send this")
            .hint("add a `[signer.<name>]` that neither pays nor approves, such as the admin's")),
        many => {
            let names: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(Failure::refused("more than one signer could send this")
                .hint(format_args!("name one with --signer: {}", names.join(", "))))
        }
    }
}

/// The payer that a signer is, by name or because its key is in the same place.
fn paying<'c>(config: &'c Config, name: &SignerName) -> Option<&'c SignerName> {
    let place =
        |name: &SignerName| config.signer.get(name).and_then(|section| serde_json::to_value(section).ok());
    let own = place(name);
    let is_same = |payer: &&SignerName| *payer == name || (own.is_some() && place(payer) == own);
    config.pay.iter().flat_map(|pay| &pay.signers).find(is_same)
}

/// Whether the account has signed for payouts, as far as a database here knows. One that does
/// not answer keeps nobody from pausing a vault.
async fn has_paid(config: &Config, site: &Site, account: Address) -> bool {
    let look = async {
        let store = store::open(&config.database, Access::Look).await.ok()?;
        let signers = store.list_signers().await.ok();
        store.close().await;
        signers
    };
    let signers = tokio::time::timeout(MAX_LOOK, look).await.ok().flatten().unwrap_or_default();
    signers.iter().any(|row| row.chain == site.id && row.address == account)
}

fn refused(who: impl std::fmt::Display) -> Failure {
    let message = format!("{who}: its nonces belong to paying, and nothing else may use one");
    Failure::coded(Code::SignerUnusable, message).hint("name another with --signer, such as the admin's")
}
