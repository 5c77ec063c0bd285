//! Payouts that wait while no process pays from their vault, as people are told.

use windlass_core::code::Code;
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_engine::pay::unattended::{UnattendedVault, unattended_configured, unattended_vaults};

use crate::failure::Failure;

/// What an operator can do about payouts of another vault.
pub(crate) const HINT: &str = "run a process whose `[pay]` names that vault, or use such a configuration to \
    reject what nothing was signed for; `windlass explain W0614` says how";
/// What an operator can do about payouts of the configured vault.
pub(crate) const START_HINT: &str = "start `windlass run`, or `windlass run --role pay` beside a process with \
    other roles; if one runs, its log says why it does not pay";

/// Vaults whose payouts wait while no process pays from them, the configured one first.
pub(crate) async fn find(store: &dyn Store, configured: VaultRef) -> StoreResult<Vec<UnattendedVault>> {
    let own = unattended_configured(store, configured).await?;
    Ok(own.into_iter().chain(unattended_vaults(store, configured).await?).collect())
}

/// Which vault, on which chain, how many payouts, and which vault is configured.
pub(crate) fn message(found: &UnattendedVault, configured: VaultRef) -> String {
    let (payouts, wait) = match found.payouts {
        1 => ("1 payout".to_owned(), "waits"),
        count => (format!("{count} payouts"), "wait"),
    };
    let waiting = format!("{payouts} of vault {} {wait}, and no process pays from it", named(found.vault));
    match found.vault == configured {
        true => waiting + " now",
        false => format!("{waiting}: `[pay]` names vault {}", named(configured)),
    }
}

/// What an operator can do about it.
pub(crate) fn hint(found: &UnattendedVault, configured: VaultRef) -> &'static str {
    if found.vault == configured { START_HINT } else { HINT }
}

/// The same as a failure.
pub(crate) fn failure(found: &UnattendedVault, configured: VaultRef) -> Failure {
    Failure::coded(Code::VaultUnattended, message(found, configured)).hint(hint(found, configured))
}

/// A vault and its chain.
pub(crate) fn named(vault: VaultRef) -> String {
    format!("{} on chain {}", vault.address, vault.chain)
}

/// Whether a payout is still to be signed, or followed into a block.
pub(crate) const fn is_waiting(payout: &Payout) -> bool {
    matches!(payout.state, PayoutState::PendingRisk | PayoutState::Approved | PayoutState::Submitted)
}

/// Whether that takes a process that pays, and no person first.
pub(crate) const fn waits_for_process(payout: &Payout) -> bool {
    matches!(payout.state, PayoutState::Approved | PayoutState::Submitted)
}
