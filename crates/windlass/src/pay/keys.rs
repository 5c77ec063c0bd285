//! Signers, opened.

use std::sync::Arc;

use windlass_chain::signer::development::DevelopmentSigner;
use windlass_chain::signer::keystore::KeystoreSigner;
use windlass_core::code::Code;
use windlass_core::payout::signer::Signer;

use crate::config::Config;
use crate::config::hidden::Hidden;
use crate::config::signer::{Signer as Section, SignerName};
use crate::failure::Failure;

/// Opens a signer. A keystore takes about a second.
pub(crate) async fn open(config: &Config, name: &SignerName) -> Result<Arc<dyn Signer>, Failure> {
    let section = config.signer.get(name).ok_or_else(|| {
        let known: Vec<String> = config.signer.keys().map(ToString::to_string).collect();
        let known = if known.is_empty() { "none is configured".to_owned() } else { known.join(", ") };
        unusable(name, "it has no section").hint(format_args!("add `[signer.{name}]`; known: {known}"))
    })?;
    if let Some(path) = section.keystore.clone() {
        let passphrase = secret(name, section.passphrase.as_ref())?;
        // Deriving its key takes a second of work and much memory: not on a thread that others wait for.
        let opened = tokio::task::spawn_blocking(move || KeystoreSigner::open(&path, &passphrase)).await;
        let signer = opened.map_err(Failure::unexpected)?.map_err(|error| {
            unusable(name, error).hint("check the file, and that the passphrase is the one it was made with")
        })?;
        return Ok(Arc::new(signer));
    }
    if let Some(key) = &section.kms {
        return kms(name, key, section).await;
    }
    let key = secret(name, section.development_key.as_ref())?;
    let signer = DevelopmentSigner::new(&key).map_err(|error| unusable(name, error))?;
    tracing::warn!(signer = %name, account = %signer.address(), "a bare private key signs: for development only");
    Ok(Arc::new(signer))
}

#[cfg(feature = "aws-kms")]
async fn kms(name: &SignerName, key: &str, section: &Section) -> Result<Arc<dyn Signer>, Failure> {
    use windlass_chain::signer::kms::{KmsOptions, KmsSigner};
    let endpoint = section.endpoint.as_deref().map(url::Url::parse).transpose();
    let endpoint = endpoint.map_err(|error| unusable(name, format_args!("`endpoint` is no URL: {error}")))?;
    let options = KmsOptions { region: section.region.clone(), endpoint, ..KmsOptions::new(key) };
    // The SDK's futures are nested too deep to be part of those around them.
    let connecting: futures_util::future::BoxFuture<'_, _> = Box::pin(KmsSigner::connect(options));
    let signer = connecting.await.map_err(|error| {
        unusable(name, error).hint("check the key's id, the region, and that the credentials may use it")
    })?;
    Ok(Arc::new(signer))
}

#[cfg(not(feature = "aws-kms"))]
async fn kms(name: &SignerName, _: &str, _: &Section) -> Result<Arc<dyn Signer>, Failure> {
    Err(without_kms(name))
}

/// Why a binary without the feature `aws-kms` opens no key in KMS.
#[cfg(any(test, not(feature = "aws-kms")))]
fn without_kms(name: &SignerName) -> Failure {
    unusable(name, "this binary was built without AWS KMS (cargo feature `aws-kms`)")
        .hint("use a release, or build one with `cargo build --release --features full`; `windlass version` lists what is built in")
}

fn secret(name: &SignerName, hidden: Option<&Hidden>) -> Result<secrecy::SecretString, Failure> {
    let hidden = hidden.ok_or_else(|| unusable(name, "it says nowhere where its key is"))?;
    hidden.resolve().map_err(|error| {
        let hint = format!("{}, or change `[signer.{name}]`", error.advice());
        Failure::coded(Code::SecretMissing, error).hint(hint)
    })
}

fn unusable(name: &SignerName, why: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::SignerUnusable, format_args!("signer `{name}` cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_without_kms_names_the_feature_and_the_build() {
        let name = SignerName::try_from("ops".to_owned()).expect("a name");
        let refused = without_kms(&name);
        assert_eq!(refused.code, Some(Code::SignerUnusable));
        let hint = refused.hint.unwrap_or_default();
        assert!(refused.message.contains("`aws-kms`") && hint.contains("--features full"), "{hint}");
    }

    /// What a release is built with is what this binary says that it has.
    #[test]
    fn a_full_build_has_kms() {
        let manifest = include_str!("../../Cargo.toml");
        let full = manifest.lines().find(|line| line.starts_with("full = ")).expect("the feature");
        assert!(full.contains("\"aws-kms\""), "{full}");
    }
}
