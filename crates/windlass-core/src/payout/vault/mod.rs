//! The contract that pays: what it is told and asked, what it answers, why it refuses,
//! and what it says happened. Everything is bytes in and bytes out.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`calldata`] | what is sent to the vault |
//! | [`answer`] | what it answers, such as a [`VaultRecord`] |
//! | [`approval`] | what the risk signer signs (EIP-712) |
//! | [`refusal`] | why a payout would not be made: a [`VaultRefusal`] |
//! | [`event`] | what it says happened: a [`VaultEvent`] |
//! | [`admin`] | who sets its rules: calls, answers, refusals, events, deploying it |
//!
//! Only the vault's own record and its events, at a block that is final, prove that a
//! request was paid. A refusal proves nothing: a token's words come through the vault too.

mod abi;
pub mod admin;
pub mod answer;
pub mod approval;
pub mod calldata;
pub mod event;
pub mod refusal;
#[cfg(test)]
mod tests;

pub use answer::{VaultAnswerError, VaultRecord, VaultStatus};
pub use approval::Approval;
pub use calldata::{MAX_BATCH, VaultPayout};
pub use event::VaultEvent;
pub use refusal::{RefusalKind, VaultRefusal};
