//! A key in this process's memory, which is wiped when it goes.

use std::fmt;

use alloy_primitives::{Address, B256, Signature, hex};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use secrecy::{ExposeSecret, SecretString};
use windlass_core::payout::signer::{SignerError, SignerErrorKind};
use zeroize::Zeroizing;

use super::check::checked;

/// The bytes of a private key, wiped when dropped.
pub(super) type KeyBytes = Zeroizing<[u8; 32]>;

/// What was given is no private key. Never repeats what was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PrivateKeyError {
    /// Too short, too long, or with other characters.
    #[error("a private key has 64 hexadecimal digits, with or without 0x before them")]
    Digits,
    /// Zero, or not below the order of the curve.
    #[error("these 64 digits are no private key: it is zero or too large; make a new one")]
    Range,
}

/// A key, and the account it is of. The key is wiped when this is dropped.
pub(super) struct LocalKey(PrivateKeySigner);

impl LocalKey {
    /// Takes the bytes of a key.
    pub(super) fn new(bytes: &KeyBytes) -> Result<Self, PrivateKeyError> {
        PrivateKeySigner::from_slice(&bytes[..]).map(Self).map_err(|_| PrivateKeyError::Range)
    }

    /// The account.
    pub(super) const fn address(&self) -> Address {
        self.0.address()
    }

    /// Signs, and looks at what came out.
    pub(super) fn sign(&self, hash: B256) -> Result<Signature, SignerError> {
        let signature = self.0.sign_hash_sync(&hash).map_err(|_| {
            let message = format!("the key of {} cannot sign this hash", self.address());
            SignerError::new(SignerErrorKind::Refused, message)
        })?;
        checked(signature, hash, self.address())
    }
}

impl fmt::Debug for LocalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalKey").field(&self.address()).finish()
    }
}

/// Reads a key that is written out.
pub(super) fn parse(text: &SecretString) -> Result<KeyBytes, PrivateKeyError> {
    let text = text.expose_secret();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // The decoder would skip a prefix of its own.
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(PrivateKeyError::Digits);
    }
    let mut bytes = KeyBytes::default();
    hex::decode_to_slice(digits, &mut bytes[..]).map_err(|_| PrivateKeyError::Digits)?;
    Ok(bytes)
}
