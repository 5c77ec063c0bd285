//! Why a call that sets the rules would not be taken. Errors that a payout can end with as
//! well are read as such.

use alloy_sol_types::SolInterface;

use super::{VaultRole, admin_role};
use crate::chain::B256;
use crate::payout::vault::abi::VaultAdmin::VaultAdminErrors as Error;
use crate::payout::vault::refusal::words::Asset;
use crate::payout::vault::refusal::{RefusalKind, VaultRefusal};

/// Reads a revert: the bytes, and the node's words for when there are none.
pub fn read(data: &[u8], message: &str) -> VaultRefusal {
    let Ok(error) = Error::abi_decode_validate(data) else { return VaultRefusal::read(data, message) };
    let signature = Error::signature_by_selector(error.selector()).unwrap_or_default();
    let name = signature.split_once('(').map_or(signature, |(name, _)| name);
    let kind = match error {
        Error::EnforcedPause(_) | Error::ExpectedPause(_) | Error::OperationNotReady(_) => {
            RefusalKind::Passing
        }
        _ => RefusalKind::Lasting,
    };
    let words = format!("{name}: {}", arguments(&error));
    VaultRefusal { kind, name: name.to_owned(), request_id: None, words }
}

/// A role by name, where it has one.
fn role(id: B256) -> String {
    if id == admin_role() {
        return "ADMIN_ROLE".to_owned();
    }
    VaultRole::of(id).map_or_else(|| id.to_string(), |role| role.to_string())
}

/// What the error says. Times are the block's, in seconds since 1970.
fn arguments(error: &Error) -> String {
    match error {
        Error::AccessControlUnauthorizedAccount(e) => {
            format!("{} lacks the vault's {}", e.account, role(e.neededRole))
        }
        Error::EnforcedPause(_) => "the vault is paused already".to_owned(),
        Error::ExpectedPause(_) => "the vault is not paused".to_owned(),
        Error::AdminNeedsHandover(_) => "the admin's role is handed over, not granted or revoked".to_owned(),
        Error::DelayOutOfBounds(e) => {
            format!("a delay of {} seconds, where {} to {} are taken", e.delay, e.min, e.max)
        }
        Error::InvalidAccount(e) => format!("it cannot be {}", e.account),
        Error::InvalidRiskSigner(e) => format!("the risk signer cannot be {}", e.signer),
        Error::LimitTooLarge(e) => format!("{} is above the largest limit, {}", e.limit, e.max),
        Error::LimitTooPrecise(e) => format!("{} has more than twelve digits before its zeros", e.limit),
        Error::NotPendingAdmin(e) if e.pendingAdmin.is_zero() => {
            format!("no admin is announced, and so not {}", e.caller)
        }
        Error::NotPendingAdmin(e) => {
            format!("the announced admin is {}, not {}", e.pendingAdmin, e.caller)
        }
        Error::NothingScheduled(_) => "nothing is announced".to_owned(),
        Error::OperationExpired(e) => format!("it could be carried out until {}, and no longer", e.expiredAt),
        Error::OperationNotReady(e) => format!("it can be carried out from {} on", e.readyAt),
        Error::TokenNotSweepable(e) => {
            let asset = Asset(e.token);
            format!(
                "{asset} is, was or moves what is payable: it leaves by payout or emergency withdrawal only"
            )
        }
        Error::WithdrawalIsZero(e) => format!("nothing of {} is to be moved", Asset(e.token)),
    }
}
