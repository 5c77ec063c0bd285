//! A private key that is written out, in an environment variable say.
//!
//! Whoever reads the environment, a crash report or a process list may have it: good for
//! a devnet, and for nothing that has a price.

use alloy_primitives::{Address, B256, Signature};
use async_trait::async_trait;
use secrecy::SecretString;
use windlass_core::payout::signer::{Signer, SignerError};

use super::PrivateKeyError;
use super::local::{LocalKey, parse};

/// Signs with a key that lies open: for development only. Whoever composes a program
/// with it warns its user.
#[derive(Debug)]
pub struct DevelopmentSigner(LocalKey);

impl DevelopmentSigner {
    /// Takes a key of 64 hexadecimal digits, with or without `0x`.
    pub fn new(key: &SecretString) -> Result<Self, PrivateKeyError> {
        LocalKey::new(&parse(key)?).map(Self)
    }
}

#[async_trait]
impl Signer for DevelopmentSigner {
    fn address(&self) -> Address {
        self.0.address()
    }

    async fn sign_hash(&self, hash: B256) -> Result<Signature, SignerError> {
        self.0.sign(hash)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{address, hex};
    use proptest::prelude::*;

    use super::*;

    const ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    const BELOW_ORDER: &str = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140";
    /// The first key of the well-known phrase that development chains begin with.
    const KNOWN: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const KNOWN_ADDRESS: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

    fn signer(text: &str) -> Result<DevelopmentSigner, PrivateKeyError> {
        DevelopmentSigner::new(&text.to_owned().into())
    }

    fn refusal(text: &str) -> PrivateKeyError {
        signer(text).expect_err("refused")
    }

    fn sign(signer: &DevelopmentSigner, hash: B256) -> Signature {
        futures_util::FutureExt::now_or_never(signer.sign_hash(hash)).expect("at once").expect("signed")
    }

    #[test]
    fn a_key_is_read_with_and_without_its_prefix() {
        for text in [KNOWN.to_owned(), format!("0x{KNOWN}"), KNOWN.to_uppercase()] {
            assert_eq!(signer(&text).expect("a key").address(), KNOWN_ADDRESS);
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in
            ["", "0x", &KNOWN[1..], &format!("0x0x{KNOWN}"), &format!("{KNOWN}0"), &format!(" {KNOWN}")]
        {
            assert_eq!(refusal(text), PrivateKeyError::Digits, "{text}");
        }
        assert_eq!(refusal(&format!("0x{}", &KNOWN[..62])), PrivateKeyError::Digits, "64 characters in all");
        assert_eq!(refusal(&format!("0x0x{}", &KNOWN[..60])), PrivateKeyError::Digits);
        assert_eq!(refusal(&KNOWN.replace('a', "g")), PrivateKeyError::Digits);
        assert_eq!(refusal(&"é".repeat(32)), PrivateKeyError::Digits);
    }

    #[test]
    fn zero_and_what_is_above_the_curve_is_refused() {
        for text in ["0".repeat(64), ORDER.to_owned(), "f".repeat(64)] {
            assert_eq!(refusal(&text), PrivateKeyError::Range, "{text}");
        }
        assert!(signer(BELOW_ORDER).is_ok());
    }

    #[test]
    fn nothing_shows_the_key() {
        let shown = format!("{0:?} {0:#?}", signer(KNOWN).expect("a key")).to_lowercase();
        assert!(shown.contains("f39fd6e5") && !shown.contains("ac0974"), "{shown}");
        let shown = format!("{0} {0:?}", refusal(&KNOWN[1..]));
        assert!(!shown.contains(&KNOWN[2..8]), "{shown}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_signature_recovers_to_the_address(key in any::<[u8; 32]>(), hash in any::<[u8; 32]>()) {
            let Ok(signer) = signer(&hex::encode(key)) else { return Ok(()) };
            let signature = sign(&signer, hash.into());
            prop_assert_eq!(signature.recover_address_from_prehash(&hash.into()).ok(), Some(signer.address()));
            prop_assert_eq!(signature.normalize_s(), None);
        }
    }
}
