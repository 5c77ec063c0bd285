//! `windlass signer create`

use std::path::PathBuf;

use secrecy::SecretString;
use serde_json::json;
use windlass_chain::signer::keystore::KeystoreSigner;
use windlass_core::code::Code;
use windlass_core::payout::signer::Signer;

use crate::config::hidden::Hidden;
use crate::config::secret::Secret;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to make; one that is there is never replaced
    #[arg(long, value_name = "FILE")]
    keystore: PathBuf,
    /// What will open it: env:NAME or file:PATH
    #[arg(long, value_name = "WHERE")]
    passphrase: String,
    /// Take this key instead of a new one: env:NAME or file:PATH
    #[arg(long, value_name = "WHERE")]
    import: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads a secret from where it is. Not a parser of the argument: those repeat what they
/// refuse, and somebody may have typed the secret itself.
fn secret(text: &str) -> Result<SecretString, Failure> {
    let secret = Secret::try_from(text.to_owned()).map_err(Failure::usage)?;
    let hidden = Hidden::try_from(secret).map_err(Failure::usage)?;
    hidden.resolve().map_err(|error| Failure::coded(Code::SecretMissing, error))
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let passphrase = secret(&args.passphrase)?;
    let import = args.import.as_deref().map(secret).transpose()?;
    let path = args.keystore.clone();
    // A second of work, on purpose: so is every guess of whoever finds the file.
    let made = tokio::task::spawn_blocking(move || match import {
        Some(key) => KeystoreSigner::import(&path, &key, &passphrase),
        None => KeystoreSigner::create(&path, &passphrase),
    });
    let signer = made.await.map_err(Failure::unexpected)?;
    let signer = signer.map_err(|error| Failure::coded(Code::SignerUnusable, error))?;
    let account = signer.address();
    if args.json {
        return Ok(output::json(&json!({"keystore": args.keystore, "account": account}))?);
    }
    output::print(&format!("{account}\n"))?;
    output::note(
        "keep copies of the file and of the passphrase, apart from each other: without them the key is gone",
    );
    Ok(())
}
