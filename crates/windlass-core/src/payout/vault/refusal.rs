//! Why a payout would not be made: a revert's bytes, in words, and what follows.

pub(super) mod words;

use std::fmt;

use alloy_primitives::hex;
use alloy_sol_types::{Panic, Revert, SolError, SolInterface};

use super::abi::SettlementVault::SettlementVaultErrors as Error;
use crate::chain::B256;

/// The longest text of a contract that is shown.
const MAX_REASON_CHARS: usize = 200;
/// How many bytes of an error nobody knows are shown.
const MAX_SHOWN_BYTES: usize = 68;

/// What follows from a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// It passes by itself: hold the payout and show the reason.
    Passing,
    /// The approval is void: get a new one.
    NewApproval,
    /// The vault says that it paid the request.
    AlreadyPaid,
    /// The vault says that the request was cancelled.
    AlreadyCancelled,
    /// It will not pass: the payout cannot be made.
    Lasting,
    /// No reason was given: the endpoint does not tell, or the token reverted without a
    /// word. Nothing follows but to ask another endpoint, and to wait.
    Unexplained,
}

/// A refusal, read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VaultRefusal {
    /// What follows.
    pub kind: RefusalKind,
    /// The error's name; its selector if nobody knows it, empty if there is none.
    pub name: String,
    /// The request at fault, where the error names it: in a batch, the one to leave out.
    pub request_id: Option<B256>,
    /// The error's name and arguments, in words.
    pub words: String,
}

impl fmt::Display for VaultRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl VaultRefusal {
    /// Reads a revert: the bytes, and the node's words for when there are none.
    pub fn read(data: &[u8], message: &str) -> Self {
        if let Ok(error) = Error::abi_decode_validate(data) {
            let (name, request_id) = (words::name(&error), words::request_id(&error));
            return Self::new(kind(&error), name, request_id, &words::arguments(&error));
        }
        if let Ok(Revert { reason }) = Revert::abi_decode_validate(data) {
            return Self::new(RefusalKind::Lasting, "Error", None, &plain(&reason));
        }
        if let Ok(panic) = Panic::abi_decode_validate(data) {
            let words = panic.kind().map_or("unknown", |kind| kind.as_str());
            return Self::new(
                RefusalKind::Lasting,
                "Panic",
                None,
                &format!("{words} (code {:#x})", panic.code),
            );
        }
        if data.is_empty() {
            let words = format!("reverted without a reason: {}", plain(message));
            return Self { kind: RefusalKind::Unexplained, name: String::new(), request_id: None, words };
        }
        Self::unknown(data)
    }

    fn new(kind: RefusalKind, name: &str, request_id: Option<B256>, arguments: &str) -> Self {
        Self { kind, name: name.to_owned(), request_id, words: format!("{name}: {arguments}") }
    }

    /// An error that is neither the vault's nor one of those that every contract has.
    fn unknown(data: &[u8]) -> Self {
        let selector = hex::encode_prefixed(&data[..data.len().min(4)]);
        let shown = hex::encode_prefixed(&data[..data.len().min(MAX_SHOWN_BYTES)]);
        let more = if data.len() > MAX_SHOWN_BYTES { "…" } else { "" };
        let words = format!("an error that the vault does not have, perhaps the token's: {shown}{more}");
        Self { kind: RefusalKind::Lasting, name: selector, request_id: None, words }
    }
}

/// What follows from one of the vault's errors.
fn kind(error: &Error) -> RefusalKind {
    match error {
        Error::EnforcedPause(_)
        | Error::VaultBalanceTooLow(_)
        | Error::DayLimitExceeded(_)
        // A recipient that is a contract may take the coin later.
        | Error::CoinTransferFailed(_) => RefusalKind::Passing,
        Error::ApprovalExpired(_) | Error::ApprovalNonceMismatch(_) => RefusalKind::NewApproval,
        Error::RequestAlreadyPaid(_) => RefusalKind::AlreadyPaid,
        Error::RequestAlreadyCancelled(_) => RefusalKind::AlreadyCancelled,
        _ => RefusalKind::Lasting,
    }
}

/// A contract's or a node's words on one line, and not too long.
fn plain(text: &str) -> String {
    let line = text.trim().replace(char::is_control, " ");
    match line.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
