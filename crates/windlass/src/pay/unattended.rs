//! Payouts of a vault that `[pay]` does not name and that no process pays from, as people are told.

use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_engine::pay::unattended::UnattendedVault;

use crate::failure::Failure;

/// What an operator can do about it.
pub(crate) const HINT: &str = "run a process whose `[pay]` names that vault, or use such a configuration to \
    reject what nothing was signed for; `windlass explain W0614` says how";

/// Which vault, on which chain, how many payouts, and which vault is configured.
pub(crate) fn message(found: &UnattendedVault, configured: VaultRef) -> String {
    let (payouts, wait) = match found.payouts {
        1 => ("1 payout".to_owned(), "waits"),
        count => (format!("{count} payouts"), "wait"),
    };
    format!(
        "{payouts} of vault {} {wait}, and no process pays from it: `[pay]` names vault {}",
        named(found.vault),
        named(configured)
    )
}

/// The same as a failure.
pub(crate) fn failure(found: &UnattendedVault, configured: VaultRef) -> Failure {
    Failure::coded(Code::VaultUnattended, message(found, configured)).hint(HINT)
}

/// A vault and its chain.
pub(crate) fn named(vault: VaultRef) -> String {
    format!("{} on chain {}", vault.address, vault.chain)
}

/// Whether a payout is still to be signed, or followed into a block.
pub(crate) const fn is_waiting(payout: &Payout) -> bool {
    matches!(payout.state, PayoutState::PendingRisk | PayoutState::Approved | PayoutState::Submitted)
}
