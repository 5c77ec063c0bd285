//! The vault's errors in words.

use std::fmt;

use alloy_sol_types::SolInterface;

use super::super::admin::VaultRole;
use super::Error;
use crate::chain::{Address, B256};
use crate::money::NATIVE_COIN;

/// What is paid, as the vault's errors name it.
pub(in super::super) struct Asset(pub(in super::super) Address);

impl fmt::Display for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == NATIVE_COIN {
            return f.write_str("the chain's coin");
        }
        write!(f, "token {}", self.0)
    }
}

/// The error's name in the contract.
pub(super) fn name(error: &Error) -> &'static str {
    let signature = Error::signature_by_selector(error.selector()).unwrap_or_default();
    signature.split_once('(').map_or(signature, |(name, _)| name)
}

/// The request at fault, where the error names it.
pub(super) fn request_id(error: &Error) -> Option<B256> {
    Some(match error {
        Error::ApprovalExpired(e) => e.requestId,
        Error::ApprovalNonceMismatch(e) => e.requestId,
        Error::RequestAlreadyPaid(e) => e.requestId,
        Error::RequestAlreadyCancelled(e) => e.requestId,
        Error::AmountIsZero(e) => e.requestId,
        Error::InvalidRecipient(e) => e.requestId,
        Error::RecipientDenied(e) => e.requestId,
        Error::PayoutLimitExceeded(e) => e.requestId,
        Error::ApprovalRequired(e) => e.requestId,
        Error::CoinTransferFailed(e) => e.requestId,
        Error::ApprovalInvalid(e) => e.requestId,
        _ => return None,
    })
}

/// What the error says. Times are the block's, in seconds since 1970.
pub(super) fn arguments(error: &Error) -> String {
    match error {
        Error::EnforcedPause(_) => "the vault or the token is paused".to_owned(),
        Error::VaultBalanceTooLow(e) => {
            format!("the vault holds {} of {} and needs {}", e.balance, Asset(e.token), e.needed)
        }
        Error::DayLimitExceeded(e) => format!(
            "{} of {} on top of today's {} would pass the day's limit of {}",
            e.amount,
            Asset(e.token),
            e.spentToday,
            e.limit
        ),
        Error::ApprovalExpired(e) => format!("the approval was good until {}", e.deadline),
        Error::ApprovalNonceMismatch(e) => {
            format!("the approval is of nonce {}, and {} is in force", e.nonce, e.currentNonce)
        }
        Error::RequestAlreadyPaid(e) => {
            format!("request {} was paid at {} in block {}", e.requestId, e.settledAt, e.blockNumber)
        }
        Error::RequestAlreadyCancelled(e) => {
            format!("request {} was cancelled at {} in block {}", e.requestId, e.settledAt, e.blockNumber)
        }
        Error::RequestIdIsZero(_) => "a request's id is not zero".to_owned(),
        Error::AmountIsZero(e) => format!("request {} is for nothing", e.requestId),
        Error::InvalidRecipient(e) => format!("nobody can be paid at {}", e.to),
        Error::RecipientDenied(e) => format!("{} is on the vault's denylist", e.to),
        Error::TokenNotPayable(e) => format!("{} is not enabled in the vault", Asset(e.token)),
        Error::PayoutLimitExceeded(e) => {
            format!("{} of {} is above the limit of one payout, {}", e.amount, Asset(e.token), e.limit)
        }
        Error::TransferNotExact(e) => format!(
            "token {} left {} with {} instead of {}: it takes a fee, or lies",
            e.token, e.account, e.balance, e.expectedBalance
        ),
        Error::CoinTransferFailed(e) => format!(
            "{} refuses the chain's coin, needs more gas than a recipient gets, or sends some of it back",
            e.to
        ),
        Error::BalanceUnknown(e) => format!("token {} does not tell balances", e.token),
        Error::ApprovalRequired(e) => format!("request {} needs the risk signer's approval", e.requestId),
        Error::RiskSignerNotSet(_) => "the vault has no risk signer".to_owned(),
        Error::ApprovalInvalid(e) => {
            format!("the approval was not signed by {} for exactly this payout", e.riskSigner)
        }
        Error::BatchSizeInvalid(e) => format!("a batch of {}, where 1 to {} are taken", e.size, e.max),
        Error::BatchApprovalsMismatch(e) => format!("{} approvals for {} payouts", e.approvals, e.payouts),
        Error::AccessControlUnauthorizedAccount(e) => {
            let role = VaultRole::of(e.neededRole).map_or(e.neededRole.to_string(), |role| role.to_string());
            format!("{} lacks the vault's role {role}", e.account)
        }
        Error::ReentrancyGuardReentrantCall(_) => "the token called the vault back".to_owned(),
        Error::SafeERC20FailedOperation(e) => format!("token {} said no", e.token),
    }
}
