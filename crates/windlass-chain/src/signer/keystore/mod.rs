//! A key in an encrypted file: Web3 Secret Storage, version 3, as other wallets write it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `document` | the JSON, and what of it is understood |
//! | `kdf` | from a passphrase to a key for the cipher, within limits |
//! | `seal` | closing and opening a document |
//! | `file` | reading and writing, so that no file is ever replaced |
//!
//! Opening and creating a file takes about a second of one core and 256 MiB, on purpose,
//! and blocks: call it where that does not matter.

mod document;
mod file;
mod kdf;
mod seal;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use alloy_primitives::{Address, B256, Signature};
use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use windlass_core::payout::signer::{Signer, SignerError};

use super::PrivateKeyError;
use super::local::{KeyBytes, LocalKey, parse};
use document::Document;
use kdf::Kdf;

/// The shortest passphrase under which a new file is written.
pub const MIN_PASSPHRASE_BYTES: usize = 8;

/// Signs with the key of a keystore file.
#[derive(Debug)]
pub struct KeystoreSigner(LocalKey);

/// A keystore cannot be opened or created. Never repeats what is in it.
#[derive(Debug, thiserror::Error)]
#[error("the keystore `{}` {trouble}", path.display())]
pub struct KeystoreError {
    /// Which file.
    pub path: PathBuf,
    /// What is the matter with it.
    pub trouble: KeystoreTrouble,
}

/// What is the matter with a keystore.
#[derive(Debug, thiserror::Error)]
pub enum KeystoreTrouble {
    /// It is not there, or cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It cannot be written.
    #[error("cannot be written: {0}")]
    Unwritable(String),
    /// It holds something else.
    #[error(
        "is not understood at line {line}, column {column}: version 3 with aes-128-ctr and scrypt or pbkdf2 is"
    )]
    Foreign {
        /// Where reading stopped.
        line: usize,
        /// And in which column.
        column: usize,
    },
    /// Opening it would take too much memory or time, or its lengths are wrong.
    #[error("has a {0} that is not accepted")]
    Parameter(&'static str),
    /// It does not open.
    #[error("does not open: the passphrase is wrong, or the file was changed")]
    Closed,
    /// It opens, but the key is not that of the address in it.
    #[error("holds the key of {found}, though it says {stated}")]
    OtherAddress {
        /// Whose key it is.
        found: Address,
        /// Whose it says it is.
        stated: Address,
    },
    /// It opens, and there is no key in it.
    #[error("holds no key: {0}")]
    Key(#[from] PrivateKeyError),
    /// It was to be created, and is there already.
    #[error("exists already, and is never replaced: choose another name")]
    Exists,
    /// It was to be created under a passphrase that is easily guessed.
    #[error("wants a passphrase of at least {MIN_PASSPHRASE_BYTES} bytes")]
    ShortPassphrase,
    /// The system gives no random numbers.
    #[error("cannot be made: the system gives no random numbers")]
    Random,
}

impl KeystoreSigner {
    /// Opens a file.
    pub fn open(path: &Path, passphrase: &SecretString) -> Result<Self, KeystoreError> {
        open(path, passphrase).map(Self).map_err(|trouble| KeystoreError { path: path.to_owned(), trouble })
    }

    /// Creates a file with a new key, readable by its owner alone. A file that is there is
    /// never replaced, and there is either a whole one or none.
    pub fn create(path: &Path, passphrase: &SecretString) -> Result<Self, KeystoreError> {
        create(path, passphrase, new_key).map_err(|trouble| KeystoreError { path: path.to_owned(), trouble })
    }

    /// Creates a file with a key that is given, as [`Self::create`] does.
    pub fn import(path: &Path, key: &SecretString, passphrase: &SecretString) -> Result<Self, KeystoreError> {
        create(path, passphrase, || Ok(parse(key)?))
            .map_err(|trouble| KeystoreError { path: path.to_owned(), trouble })
    }
}

fn open(path: &Path, passphrase: &SecretString) -> Result<LocalKey, KeystoreTrouble> {
    let document = Document::parse(&file::read(path)?)?;
    let key = LocalKey::new(&seal::open(&document, passphrase)?)?;
    match document.address {
        Some(stated) if stated != key.address() => {
            Err(KeystoreTrouble::OtherAddress { found: key.address(), stated })
        }
        _ => Ok(key),
    }
}

fn create(
    path: &Path,
    passphrase: &SecretString,
    bytes: impl FnOnce() -> Result<KeyBytes, KeystoreTrouble>,
) -> Result<KeystoreSigner, KeystoreTrouble> {
    if passphrase.expose_secret().len() < MIN_PASSPHRASE_BYTES {
        return Err(KeystoreTrouble::ShortPassphrase);
    }
    // Said before the time is spent; writing makes sure of it again.
    if path.symlink_metadata().is_ok() {
        return Err(KeystoreTrouble::Exists);
    }
    let bytes = bytes()?;
    let key = LocalKey::new(&bytes)?;
    let document = seal::close(&bytes, key.address(), passphrase, Kdf::standard(random()?))?;
    file::write(path, &document.to_json())?;
    Ok(KeystoreSigner(key))
}

/// A key that nobody has had before. Numbers outside the curve are as good as never
/// drawn; whoever draws one is told that there is no key, and tries again.
fn new_key() -> Result<KeyBytes, KeystoreTrouble> {
    let mut key = KeyBytes::default();
    getrandom::fill(&mut key[..]).map_err(|_| KeystoreTrouble::Random)?;
    Ok(key)
}

/// Random bytes, from the system.
fn random<const N: usize>() -> Result<[u8; N], KeystoreTrouble> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| KeystoreTrouble::Random)?;
    Ok(bytes)
}

#[async_trait]
impl Signer for KeystoreSigner {
    fn address(&self) -> Address {
        self.0.address()
    }

    async fn sign_hash(&self, hash: B256) -> Result<Signature, SignerError> {
        self.0.sign(hash)
    }
}
