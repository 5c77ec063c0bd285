//! Calls as the contract reads them, there and back.

use alloy_sol_types::SolInterface;

use super::{AdminCall, AdminCallError, VaultRole};
use crate::payout::vault::abi::VaultAdmin::{self as vault, VaultAdminCalls as Calls};
use crate::payout::vault::calldata::VaultPayout;

impl AdminCall {
    /// As it is sent.
    pub(super) fn contract_form(&self) -> Calls {
        match *self {
            Self::Pause => Calls::pause(vault::pauseCall {}),
            Self::Unpause => Calls::unpause(vault::unpauseCall {}),
            Self::SetToken { token, enabled, payout_limit, day_limit } => {
                Calls::setToken(vault::setTokenCall {
                    token,
                    enabled,
                    payoutLimit: payout_limit,
                    dayLimit: day_limit,
                })
            }
            Self::Deny(account) => Calls::deny(vault::denyCall { account }),
            Self::Allow(account) => Calls::allow(vault::allowCall { account }),
            Self::CancelRequest(VaultPayout { request_id, token, to, amount }) => {
                Calls::cancelRequest(vault::cancelRequestCall { requestId: request_id, token, to, amount })
            }
            Self::GrantRole(role, account) => {
                Calls::grantRole(vault::grantRoleCall { role: role.id(), account })
            }
            Self::RevokeRole(role, account) => {
                Calls::revokeRole(vault::revokeRoleCall { role: role.id(), account })
            }
            Self::ScheduleRiskSigner(signer) => {
                Calls::scheduleRiskSigner(vault::scheduleRiskSignerCall { signer })
            }
            Self::CancelRiskSigner => Calls::cancelRiskSigner(vault::cancelRiskSignerCall {}),
            Self::ApplyRiskSigner => Calls::applyRiskSigner(vault::applyRiskSignerCall {}),
            Self::RevokeRiskSigner => Calls::revokeRiskSigner(vault::revokeRiskSignerCall {}),
            Self::ScheduleAdminTransfer(account) => {
                Calls::scheduleAdminTransfer(vault::scheduleAdminTransferCall { account })
            }
            Self::CancelAdminTransfer => Calls::cancelAdminTransfer(vault::cancelAdminTransferCall {}),
            Self::AcceptAdminTransfer => Calls::acceptAdminTransfer(vault::acceptAdminTransferCall {}),
            Self::Sweep { token, to, amount } => Calls::sweep(vault::sweepCall { token, to, amount }),
            Self::ScheduleEmergencyWithdrawal { token, amount } => {
                Calls::scheduleEmergencyWithdrawal(vault::scheduleEmergencyWithdrawalCall { token, amount })
            }
            Self::CancelEmergencyWithdrawal(token) => {
                Calls::cancelEmergencyWithdrawal(vault::cancelEmergencyWithdrawalCall { token })
            }
            Self::ExecuteEmergencyWithdrawal(token) => {
                Calls::executeEmergencyWithdrawal(vault::executeEmergencyWithdrawalCall { token })
            }
        }
    }

    /// Reads it back; what only asks is no call of this kind.
    pub(super) fn from_contract_form(call: Calls) -> Result<Self, AdminCallError> {
        let role = |id| VaultRole::of(id).ok_or_else(|| AdminCallError(format!("{id} is no role to give")));
        Ok(match call {
            Calls::pause(_) => Self::Pause,
            Calls::unpause(_) => Self::Unpause,
            Calls::setToken(vault::setTokenCall { token, enabled, payoutLimit, dayLimit }) => {
                Self::SetToken { token, enabled, payout_limit: payoutLimit, day_limit: dayLimit }
            }
            Calls::deny(call) => Self::Deny(call.account),
            Calls::allow(call) => Self::Allow(call.account),
            Calls::cancelRequest(vault::cancelRequestCall { requestId, token, to, amount }) => {
                Self::CancelRequest(VaultPayout { request_id: requestId, token, to, amount })
            }
            Calls::grantRole(call) => Self::GrantRole(role(call.role)?, call.account),
            Calls::revokeRole(call) => Self::RevokeRole(role(call.role)?, call.account),
            Calls::scheduleRiskSigner(call) => Self::ScheduleRiskSigner(call.signer),
            Calls::cancelRiskSigner(_) => Self::CancelRiskSigner,
            Calls::applyRiskSigner(_) => Self::ApplyRiskSigner,
            Calls::revokeRiskSigner(_) => Self::RevokeRiskSigner,
            Calls::scheduleAdminTransfer(call) => Self::ScheduleAdminTransfer(call.account),
            Calls::cancelAdminTransfer(_) => Self::CancelAdminTransfer,
            Calls::acceptAdminTransfer(_) => Self::AcceptAdminTransfer,
            Calls::sweep(vault::sweepCall { token, to, amount }) => Self::Sweep { token, to, amount },
            Calls::scheduleEmergencyWithdrawal(vault::scheduleEmergencyWithdrawalCall { token, amount }) => {
                Self::ScheduleEmergencyWithdrawal { token, amount }
            }
            Calls::cancelEmergencyWithdrawal(call) => Self::CancelEmergencyWithdrawal(call.token),
            Calls::executeEmergencyWithdrawal(call) => Self::ExecuteEmergencyWithdrawal(call.token),
            other => {
                let name = Calls::signature_by_selector(other.selector()).unwrap_or_default();
                return Err(AdminCallError(format!("`{name}` only asks")));
            }
        })
    }
}
