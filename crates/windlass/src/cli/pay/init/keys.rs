//! The files that `pay init` makes: keystores, their passphrases and the audit log's key. A file
//! that exists is used as it is, so that a second run goes on where the first one ended.

use std::fs::DirBuilder;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use alloy_primitives::hex;
use secrecy::SecretString;
use windlass_chain::signer::keystore::KeystoreSigner;
use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::payout::signer::Signer;

use crate::config::hidden::Hidden;
use crate::config::secret::Secret;
use crate::failure::Failure;
use crate::output;

/// Only the owner enters the folder.
const FOLDER_MODE: u32 = 0o700;

/// Where the files are.
#[derive(Debug, Clone)]
pub(super) struct KeyFiles {
    /// The folder of the configuration file.
    base: PathBuf,
    /// The folder of the keys, as the configuration file names it.
    folder: PathBuf,
    /// Where the passphrase of every keystore is, if it is not to be generated.
    passphrase: Option<String>,
}

impl KeyFiles {
    /// The files of a configuration file. `passphrase` is `env:NAME` or `file:PATH`.
    pub(super) fn new(config: &Path, folder: PathBuf, passphrase: Option<String>) -> Result<Self, Failure> {
        let base = config.parent().unwrap_or(Path::new("")).to_owned();
        if let Some(text) = &passphrase {
            hidden(text)?;
        }
        Ok(Self { base, folder, passphrase })
    }

    /// A keystore, as the configuration names it.
    pub(super) fn keystore(&self, name: &str) -> String {
        self.folder.join(format!("{name}.json")).display().to_string()
    }

    /// Where a keystore's passphrase is, as the configuration names it.
    pub(super) fn passphrase(&self, name: &str) -> String {
        let generated = || format!("file:{}", self.folder.join(format!("{name}.pass")).display());
        self.passphrase.clone().unwrap_or_else(generated)
    }

    /// Where the audit log's key is, as the configuration names it.
    pub(super) fn audit_key(&self) -> String {
        format!("file:{}", self.folder.join("audit.key").display())
    }

    /// Every file that there is going to be.
    pub(super) fn all(&self, names: &[&str]) -> Vec<String> {
        let mut files: Vec<String> = names.iter().map(|name| self.keystore(name)).collect();
        let secrets = names.iter().map(|name| self.passphrase(name)).chain([self.audit_key()]);
        files.extend(secrets.filter_map(|place| place.strip_prefix("file:").map(str::to_owned)));
        files.sort();
        files.dedup();
        files
    }

    /// Makes the folder and the key of the audit log.
    pub(super) fn make_audit_key(&self) -> Result<(), Failure> {
        let folder = self.base.join(&self.folder);
        let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(&folder);
        made.map_err(|error| unwritable(&folder, &error))?;
        let file = "audit.key";
        let path = folder.join(file);
        let exists = path.symlink_metadata().is_ok();
        self.generated(file)?;
        if !exists {
            output::note(&format!("made {}: the key of the audit log; keep a backup of it", path.display()));
        }
        Ok(())
    }

    /// Makes a keystore with a new key, or opens the one that exists; gives its account.
    pub(super) async fn make_keystore(&self, name: &str) -> Result<Address, Failure> {
        let path = self.base.join(self.keystore(name));
        let exists = path.symlink_metadata().is_ok();
        let passphrase = self.read_passphrase(name, exists)?;
        let keystore = path.clone();
        // A second of work, on purpose: so is every guess of a thief.
        let made = tokio::task::spawn_blocking(move || match exists {
            true => KeystoreSigner::open(&keystore, &passphrase),
            false => KeystoreSigner::create(&keystore, &passphrase),
        });
        let signer = made.await.map_err(Failure::unexpected)?.map_err(|error| {
            Failure::coded(Code::SignerUnusable, error)
                .hint("mend it, or choose another folder with --keys; then run the command again: it goes on")
        })?;
        let what = if exists { "uses" } else { "made" };
        output::note(&format!("{what} {}: account {}", path.display(), signer.address()));
        Ok(signer.address())
    }

    fn read_passphrase(&self, name: &str, has_keystore: bool) -> Result<SecretString, Failure> {
        if let Some(text) = &self.passphrase {
            return hidden(text)?.anchored(&self.base).resolve().map_err(missing);
        }
        let file = format!("{name}.pass");
        let path = self.base.join(&self.folder).join(&file);
        if has_keystore && !path.exists() {
            let message =
                format!("`{}` exists, and its passphrase `{}` does not", self.keystore(name), path.display());
            return Err(Failure::coded(Code::SecretMissing, message)
                .hint("put the passphrase there, or choose another folder with --keys"));
        }
        self.generated(&file)
    }

    /// A secret of 256 random bits in a file of its own; the one that is there, if it is.
    fn generated(&self, file: &str) -> Result<SecretString, Failure> {
        let path = self.base.join(&self.folder).join(file);
        let secret = hex::encode(rand::random::<[u8; 32]>());
        match write_new(&path, &secret) {
            Ok(()) => Ok(secret.into()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Secret::File(path).resolve().map_err(missing)
            }
            Err(error) => Err(unwritable(&path, &error)),
        }
    }
}

/// Writes a file that its owner alone can read, whole or not at all; never in the place of another.
fn write_new(path: &Path, secret: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // A temporary file has mode 0600 from the start.
    let mut file = tempfile::Builder::new().prefix(".windlass-").tempfile_in(folder)?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

/// Not a parser of the argument: those repeat what they refuse, which may be the secret itself.
fn hidden(text: &str) -> Result<Hidden, Failure> {
    let secret = Secret::try_from(text.to_owned()).map_err(Failure::usage)?;
    Hidden::try_from(secret).map_err(Failure::usage)
}

fn missing(error: crate::config::secret::SecretError) -> Failure {
    Failure::coded(Code::SecretMissing, error).hint("mend it, then run the command again: it goes on")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::coded(Code::ConfigUnreadable, format_args!("cannot write `{}`: {error}", path.display()))
        .hint("check the folder and its rights, then run the command again: it goes on")
}
