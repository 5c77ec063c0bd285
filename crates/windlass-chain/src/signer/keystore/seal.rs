//! Closing and opening a key: encrypted under one half of what the passphrase becomes,
//! with a code over it under the other half.

use aes::Aes128;
use alloy_primitives::{Address, B256, Keccak256};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use secrecy::SecretString;

use super::document::{Closed, Document};
use super::kdf::Kdf;
use super::{KeystoreTrouble, random};
use crate::signer::local::KeyBytes;

/// Opens a document.
pub(super) fn open(document: &Document, passphrase: &SecretString) -> Result<KeyBytes, KeystoreTrouble> {
    let iv = document.iv()?;
    let ciphertext: [u8; 32] = document.crypto.ciphertext.array("ciphertext")?;
    let mac: [u8; 32] = document.crypto.mac.array("mac")?;
    let derived = document.crypto.kdf.derive(passphrase)?;
    if code(&derived, &ciphertext) != B256::from(mac) {
        return Err(KeystoreTrouble::Closed);
    }
    let mut key = KeyBytes::new(ciphertext);
    apply_cipher(&derived, iv, &mut key);
    Ok(key)
}

/// Closes a key.
pub(super) fn close(
    key: &KeyBytes,
    address: Address,
    passphrase: &SecretString,
    kdf: Kdf,
) -> Result<Document, KeystoreTrouble> {
    let iv = random()?;
    let derived = kdf.derive(passphrase)?;
    let mut ciphertext = **key;
    apply_cipher(&derived, iv, &mut ciphertext);
    let mac = code(&derived, &ciphertext).0;
    Ok(Document::new(random()?, address, iv, Closed { ciphertext, kdf, mac }))
}

fn code(derived: &[u8; 32], ciphertext: &[u8; 32]) -> B256 {
    let mut hasher = Keccak256::new();
    hasher.update(&derived[16..]);
    hasher.update(ciphertext);
    hasher.finalize()
}

/// Encrypts what is plain, and the other way round.
fn apply_cipher(derived: &[u8; 32], iv: [u8; 16], bytes: &mut [u8; 32]) {
    let (cipher_key, _) = derived.split_first_chunk::<16>().expect("32 bytes begin with 16");
    Ctr128BE::<Aes128>::new(cipher_key.into(), &iv.into()).apply_keystream(bytes);
}
