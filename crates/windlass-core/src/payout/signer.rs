//! The port to whoever signs: a key in a file, a key in a machine of somebody else's.
//!
//! Transactions and typed approvals are both signed as a hash of 32 bytes, which the
//! caller builds. What comes back was checked by the adapter: its `s` is in the lower
//! half of the curve, and it recovers to [`Signer::address`].

use std::time::Duration;

pub use alloy_primitives::Signature;
use async_trait::async_trait;

use crate::chain::{Address, B256};
use crate::error::RetryAdvice;

/// Signs with one key.
#[async_trait]
pub trait Signer: Send + Sync {
    /// The account whose key it is.
    fn address(&self) -> Address;

    /// Signs a hash as it is: nothing is hashed again or put before it.
    async fn sign_hash(&self, hash: B256) -> Result<Signature, SignerError>;
}

/// There is no signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SignerError {
    /// What kind of trouble.
    pub kind: SignerErrorKind,
    /// In words, without anything secret.
    pub message: String,
    /// Whether and when to ask for the same signature again.
    pub retry: RetryAdvice,
}

/// What kind of trouble a signer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignerErrorKind {
    /// It cannot be reached, or did not answer in time.
    Unreachable,
    /// It wants fewer requests.
    Throttled,
    /// It will not sign: the key is disabled or gone, or the caller may not use it.
    Refused,
    /// It signed with another key, or something else: whatever it says is not to be used.
    Untrustworthy,
}

impl SignerError {
    /// A failure with the advice that is usual for its kind.
    pub fn new(kind: SignerErrorKind, message: impl Into<String>) -> Self {
        let after = |ms| RetryAdvice::After(Duration::from_millis(ms));
        let retry = match kind {
            SignerErrorKind::Unreachable => after(500),
            SignerErrorKind::Throttled => after(1_000),
            SignerErrorKind::Refused | SignerErrorKind::Untrustworthy => RetryAdvice::Never,
        };
        Self { kind, message: message.into(), retry }
    }

    /// Whether asking again may help.
    pub const fn is_passing(&self) -> bool {
        matches!(self.retry, RetryAdvice::After(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_passes_and_refusal_does_not() {
        let is_passing = |kind| SignerError::new(kind, "x").is_passing();
        assert!(is_passing(SignerErrorKind::Unreachable) && is_passing(SignerErrorKind::Throttled));
        assert!(!is_passing(SignerErrorKind::Refused) && !is_passing(SignerErrorKind::Untrustworthy));
    }

    #[test]
    fn a_signer_can_be_had_as_an_object() {
        fn address_of(signer: &dyn Signer) -> Address {
            signer.address()
        }
        struct Nobody;
        #[async_trait]
        impl Signer for Nobody {
            fn address(&self) -> Address {
                Address::ZERO
            }
            async fn sign_hash(&self, _: B256) -> Result<Signature, SignerError> {
                Err(SignerError::new(SignerErrorKind::Refused, "nobody signs"))
            }
        }
        assert_eq!(address_of(&Nobody), Address::ZERO);
    }
}
