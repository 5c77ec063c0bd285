//! Everything that the engine wants to know of a configuration.

use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::error::StoreError;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::store::Payouts;
use windlass_core::store::Store;
use windlass_engine::pay::head_file::HeadFile;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::{Confirmation, PayOptions};

use secrecy::ExposeSecret;

use super::risk_file::RiskFile;
use super::rules;
use super::tokens::Tokens;
use crate::collect::prepare;
use crate::config::Config;
use crate::config::chain::{Chain, Finality};
use crate::config::pay::Pay;
use crate::config::pay::coins::Coins;
use crate::failure::Failure;
use crate::output;

/// How many blocks confirm a payout where nobody says so.
const CONFIRMATIONS: u64 = 3;
/// Wei of a gwei.
const GWEI: u128 = 1_000_000_000;

/// A log that was begun with one key can neither be verified nor continued with another.
const AUDIT_KEY_HINT: &str = "restore the key from a backup, to where `pay.audit_key` says; only for a new database, \
                              make one with `openssl rand -hex 32`";

/// The section, and its chain.
pub(crate) fn section(config: &Config) -> Result<(&Pay, &Chain), Failure> {
    let pay = config.pay.as_ref().ok_or_else(missing)?;
    let chain = config.chain.get(&pay.chain).ok_or_else(missing)?;
    Ok((pay, chain))
}

/// The vault that `[pay]` names, where there is one.
pub(crate) fn vault(config: &Config) -> Option<VaultRef> {
    let (pay, chain) = section(config).ok()?;
    Some(VaultRef { chain: chain.id, address: pay.vault.0 })
}

fn missing() -> Failure {
    Failure::coded(Code::PayMissing, "nothing is configured to be paid: there is no `[pay]`")
        .hint("`windlass pay init` writes `[pay]`; docs/pay.md shows how to write it by hand")
}

/// How paying is to be done.
pub(crate) fn read(config: &Config) -> Result<PayOptions, Failure> {
    let (pay, chain) = section(config)?;
    let tokens = Tokens::new(chain.id, pay);
    let (mut rules, troubles) = rules::read(pay, &tokens);
    if let Some(trouble) = troubles.first() {
        let message = format!("pay.{}: {}", trouble.key, trouble.message);
        return Err(Failure::coded(Code::ConfigInvalid, message));
    }
    let mut confirmations = CONFIRMATIONS;
    if let Some(path) = &pay.risk.file {
        let file = RiskFile::read(path)?;
        file.add_to(&mut rules.risk);
        confirmations = file.confirmations.map_or(confirmations, u64::from);
    }
    let vault = VaultRef { chain: chain.id, address: pay.vault.0 };
    Ok(PayOptions {
        tokens: tokens.all().clone(),
        rules: rules.risk,
        approvals: rules.approvals,
        is_development: pay.development,
        confirmation: match pay.confirmation {
            None => Confirmation::Blocks(confirmations),
            Some(Finality::Depth(blocks)) => Confirmation::Blocks(u64::from(blocks)),
            Some(Finality::Safe) => Confirmation::Safe,
            Some(Finality::Finalized) => Confirmation::Finalized,
        },
        finality: prepare::finality(chain),
        gas_cap: u128::from(pay.max_fee_gwei.get()) * GWEI,
        warn_below_wei: pay.warn_gas_below.as_ref().map(Coins::wei),
        bump_after_blocks: pay.bump_after_blocks.get(),
        batch: usize::try_from(pay.batch.get()).unwrap_or(1),
        max_open: pay.max_open.get(),
        approval_ttl: pay.approval_ttl.get(),
        lease_ttl: pay.lease_ttl.get(),
        track_interval: pay.track_interval.get(),
        hold_interval: pay.hold_interval.get(),
        ..PayOptions::new(vault)
    })
}

/// The file in which the end of the audit log is kept outside the database: as configured, or
/// beside the first keystore. Whoever has no keystore has no such place by itself.
pub(crate) fn head_file(config: &Config, key: &AuditKey) -> Option<HeadFile> {
    let (pay, _) = section(config).ok()?;
    if let Some(path) = &pay.audit_head {
        return Some(HeadFile::new(path));
    }
    let signers = pay.signers.iter().chain(&pay.risk_signer);
    let keystore = signers.filter_map(|name| config.signer.get(name)?.keystore.as_ref()).next()?;
    let name = format!("audit-head-{}.json", key.fingerprint());
    Some(HeadFile::new(keystore.parent()?.join(name)))
}

/// The ledger of a store, for whoever has the audit log's key.
pub(crate) fn ledger(config: &Config, store: Arc<dyn Store>) -> Result<Arc<Ledger>, Failure> {
    let key = audit_key(config)?;
    let file = head_file(config, &key);
    Ok(Ledger::with_head_file(store, key, file))
}

/// What somebody looks at: verified where the key of the audit log is at hand and the log is
/// whole, and as it stands otherwise.
pub(crate) async fn looked_at(config: &Config, store: &Arc<dyn Store>) -> Result<Arc<dyn Payouts>, Failure> {
    Ok(match verified(config, store).await? {
        Some(ledger) => ledger,
        None => Arc::clone(store) as Arc<dyn Payouts>,
    })
}

/// The verified rows of a store, and a note where they cannot be verified.
pub(crate) async fn verified(
    config: &Config,
    store: &Arc<dyn Store>,
) -> Result<Option<Arc<Ledger>>, Failure> {
    let unverified = |why: &dyn std::fmt::Display| {
        output::note(&format!("what is shown is not verified: {why}"));
        None
    };
    let key = match audit_key(config) {
        Ok(key) => key,
        Err(failure) => return Ok(unverified(&failure.message)),
    };
    let ledger = Ledger::new(Arc::clone(store), key);
    match ledger.check_log().await {
        Ok(_) => Ok(Some(ledger)),
        Err(error @ StoreError::AuditBroken(_)) => Ok(unverified(&error)),
        Err(error) => Err(error.into()),
    }
}

/// The key of the audit log.
pub(crate) fn audit_key(config: &Config) -> Result<AuditKey, Failure> {
    let (pay, _) = section(config)?;
    let text = pay
        .audit_key
        .resolve()
        .map_err(|error| Failure::coded(Code::SecretMissing, error).hint(AUDIT_KEY_HINT))?;
    let mut key = [0; 32];
    let digits = text.expose_secret().trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    alloy_primitives::hex::decode_to_slice(digits, &mut key).map_err(|_| {
        Failure::coded(Code::SecretMissing, "the audit log's key is not 64 hexadecimal digits")
            .hint(AUDIT_KEY_HINT)
    })?;
    Ok(AuditKey::new(key))
}
