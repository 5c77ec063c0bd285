//! From a passphrase to the key of a cipher: slow on purpose, but only so slow.
//!
//! A file says itself how much work it is. What would take a server's memory or an hour is
//! refused before any of it is done.

use hmac::Hmac;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::KeystoreTrouble;
use super::document::HexBytes;

/// The most memory that scrypt may take: twice what wallets ask for.
const MAX_SCRYPT_BYTES: u64 = 512 << 20;
/// The most blocks that scrypt may mix: eight times what wallets ask for.
const MAX_SCRYPT_BLOCKS: u64 = 1 << 24;
/// The most rounds of PBKDF2: forty times what wallets ask for.
const MAX_PBKDF2_ROUNDS: u32 = 10_000_000;
/// The longest salt.
const MAX_SALT_BYTES: usize = 256;
/// The one length of a derived key: half is for the cipher, half for the code.
const KEY_BYTES: u64 = 32;

/// How a passphrase becomes a key.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "kdf", content = "kdfparams", rename_all = "lowercase")]
pub(super) enum Kdf {
    /// Hard in memory.
    Scrypt { dklen: u64, n: u64, r: u64, p: u64, salt: HexBytes },
    /// Hard in rounds alone.
    Pbkdf2 { dklen: u64, c: u64, prf: Prf, salt: HexBytes },
}

/// What PBKDF2 is built on.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Prf {
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
}

impl Kdf {
    /// What new files are written with: a quarter of a gigabyte, a second.
    pub(super) fn standard(salt: [u8; 32]) -> Self {
        Self::Scrypt { dklen: KEY_BYTES, n: 1 << 18, r: 8, p: 1, salt: HexBytes(salt.to_vec()) }
    }

    /// The key that a passphrase becomes.
    pub(super) fn derive(&self, passphrase: &SecretString) -> Result<Zeroizing<[u8; 32]>, KeystoreTrouble> {
        let passphrase = passphrase.expose_secret().as_bytes();
        let mut key = Zeroizing::new([0; 32]);
        match self {
            Self::Scrypt { dklen, n, r, p, salt } => {
                let params = scrypt_params(*n, *r, *p)?;
                let salt = checked_salt(*dklen, salt)?;
                scrypt::scrypt(passphrase, salt, &params, &mut key[..])
                    .map_err(|_| wrong("kdfparams.dklen"))?;
            }
            Self::Pbkdf2 { dklen, c, prf: Prf::HmacSha256, salt } => {
                let rounds = u32::try_from(*c).ok().filter(|rounds| (1..=MAX_PBKDF2_ROUNDS).contains(rounds));
                let rounds = rounds.ok_or_else(|| wrong("kdfparams.c"))?;
                let salt = checked_salt(*dklen, salt)?;
                pbkdf2::pbkdf2::<Hmac<Sha256>>(passphrase, salt, rounds, &mut key[..])
                    .map_err(|_| wrong("kdfparams.salt"))?;
            }
        }
        Ok(key)
    }
}

const fn wrong(name: &'static str) -> KeystoreTrouble {
    KeystoreTrouble::Parameter(name)
}

fn checked_salt(dklen: u64, salt: &HexBytes) -> Result<&[u8], KeystoreTrouble> {
    if dklen != KEY_BYTES {
        return Err(wrong("kdfparams.dklen"));
    }
    if salt.0.is_empty() || salt.0.len() > MAX_SALT_BYTES {
        return Err(wrong("kdfparams.salt"));
    }
    Ok(&salt.0)
}

/// Parameters of scrypt that are possible and affordable: its table has `n` entries of
/// `128 r` bytes, next to `p` of its blocks, and is gone through for each of them.
fn scrypt_params(n: u64, r: u64, p: u64) -> Result<scrypt::Params, KeystoreTrouble> {
    if n < 2 || !n.is_power_of_two() {
        return Err(wrong("kdfparams.n"));
    }
    let bytes = n.checked_add(p).and_then(|blocks| blocks.checked_mul(r)?.checked_mul(128));
    let blocks = n.checked_mul(r).and_then(|blocks| blocks.checked_mul(p));
    if bytes.is_none_or(|bytes| bytes > MAX_SCRYPT_BYTES)
        || blocks.is_none_or(|blocks| blocks > MAX_SCRYPT_BLOCKS)
    {
        return Err(wrong("cost (kdfparams n, r and p)"));
    }
    let (Ok(log_n), Ok(r), Ok(p)) = (u8::try_from(n.ilog2()), u32::try_from(r), u32::try_from(p)) else {
        return Err(wrong("cost (kdfparams n, r and p)"));
    };
    scrypt::Params::new(log_n, r, p).map_err(|_| wrong("cost (kdfparams n, r and p)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wallets_write_is_affordable() {
        for (n, r, p) in [(1 << 18, 8, 1), (1 << 18, 1, 8), (1 << 12, 8, 6), (1 << 17, 8, 1), (2, 1, 1)] {
            assert!(scrypt_params(n, r, p).is_ok(), "{n} {r} {p}");
        }
    }

    #[test]
    fn absurd_costs_are_refused_before_anything_is_done() {
        let absurd = [
            (0, 8, 1),
            (1, 8, 1),
            (3, 8, 1),
            (1 << 20, 8, 1),
            (1 << 40, 8, 1),
            (1 << 63, 1, 1),
            (1 << 18, 0, 1),
            (1 << 18, 8, 0),
            (1 << 18, 8, 9),
            (2, 1 << 40, 1),
            (2, 1, 1 << 40),
            (2, 1 << 22, 1),
            (2, 1, 1 << 23),
            (2, u64::MAX, u64::MAX),
        ];
        for (n, r, p) in absurd {
            assert!(scrypt_params(n, r, p).is_err(), "{n} {r} {p}");
        }
        let salt = || HexBytes(vec![1; 32]);
        let of_rounds = |c| Kdf::Pbkdf2 { dklen: 32, c, prf: Prf::HmacSha256, salt: salt() };
        for c in [0, u64::from(MAX_PBKDF2_ROUNDS) + 1, 1 << 32, u64::MAX] {
            assert!(of_rounds(c).derive(&"x".into()).is_err(), "{c}");
        }
        assert!(of_rounds(1).derive(&"x".into()).is_ok());
    }

    #[test]
    fn lengths_are_what_they_have_to_be() {
        let derive = |dklen, salt| {
            let kdf = Kdf::Scrypt { dklen, n: 2, r: 1, p: 1, salt: HexBytes(salt) };
            kdf.derive(&"x".into()).is_ok()
        };
        assert!(derive(32, vec![1]) && derive(32, vec![1; MAX_SALT_BYTES]));
        assert!(!derive(32, vec![]) && !derive(32, vec![1; MAX_SALT_BYTES + 1]));
        assert!(
            !derive(0, vec![1]) && !derive(31, vec![1]) && !derive(64, vec![1]) && !derive(u64::MAX, vec![1])
        );
    }
}
