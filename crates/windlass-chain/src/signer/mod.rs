//! Signers: adapters to whatever holds a private key.
//!
//! Each is a [`Signer`](windlass_core::payout::signer::Signer), and returns a signature
//! only after looking at it: one that another account made, or that could be turned into
//! a second one, never leaves this module. Neither `Debug` nor an error shows a key, and
//! keys are wiped from memory where they lay.
//!
//! | module | where the key is |
//! | --- | --- |
//! | [`keystore`] | in a file that a passphrase opens |
//! | [`development`] | written out: for chains where nothing is worth anything |
//! | `kms` | in AWS KMS, which it never leaves (with the feature `aws-kms`) |

mod check;
pub mod development;
pub mod keystore;
#[cfg(feature = "aws-kms")]
pub mod kms;
mod local;

pub use local::PrivateKeyError;
