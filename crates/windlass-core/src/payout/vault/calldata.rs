//! What is sent to the vault.

use alloy_sol_types::SolCall;

use super::abi::{self, SettlementVault as Vault, Token};
use super::approval::Approval;
use crate::chain::{Address, B256, Bytes, U256};
use crate::money::NATIVE_COIN;
use crate::payout::request::PayoutRequest;

/// The most payouts in one batch.
pub const MAX_BATCH: usize = 200;

/// What a vault is told of a payout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VaultPayout {
    /// The id under which the vault knows it.
    pub request_id: B256,
    /// The token's contract, or [`NATIVE_COIN`].
    pub token: Address,
    /// Who gets it.
    pub to: Address,
    /// How much, in base units.
    pub amount: U256,
}

/// What no batch can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// None, or too many.
    #[error("a batch has 1 to {MAX_BATCH} payouts, not {0}")]
    Size(usize),
    /// More than one token.
    #[error("a batch is of one token: of {0} or of {1}")]
    Tokens(Address, Address),
}

impl From<&PayoutRequest> for VaultPayout {
    fn from(request: &PayoutRequest) -> Self {
        let PayoutRequest { token, to, amount, .. } = *request;
        Self { request_id: request.request_id(), token, to, amount }
    }
}

impl From<&VaultPayout> for abi::Payout {
    fn from(payout: &VaultPayout) -> Self {
        Self { requestId: payout.request_id, to: payout.to, amount: payout.amount }
    }
}

/// Pays a request without approval.
pub fn payout(payout: &VaultPayout) -> Bytes {
    let VaultPayout { request_id, token, to, amount } = *payout;
    if token == NATIVE_COIN {
        return Vault::payoutCoinBatchCall { payouts: vec![payout.into()] }.abi_encode().into();
    }
    Vault::payoutCall { requestId: request_id, token, to, amount }.abi_encode().into()
}

/// Pays a request that the risk signer approved.
pub fn payout_with_approval(payout: &VaultPayout, approval: &Approval) -> Bytes {
    let VaultPayout { request_id, token, to, amount } = *payout;
    if token == NATIVE_COIN {
        let (payouts, approvals) = (vec![payout.into()], vec![approval.into()]);
        return Vault::payoutCoinBatchWithApprovalsCall { payouts, approvals }.abi_encode().into();
    }
    let approval = approval.into();
    Vault::payoutWithApprovalCall { requestId: request_id, token, to, amount, approval }.abi_encode().into()
}

/// Pays many requests in one token or in the chain's coin, all or none.
pub fn payout_batch(payouts: &[VaultPayout]) -> Result<Bytes, BatchError> {
    let (token, payouts) = batch(payouts.iter())?;
    Ok(match token {
        NATIVE_COIN => Vault::payoutCoinBatchCall { payouts }.abi_encode(),
        token => Vault::payoutBatchCall { token, payouts }.abi_encode(),
    }
    .into())
}

/// Pays many requests in one token or in the chain's coin, each with its approval, all or none.
pub fn payout_batch_with_approvals(payouts: &[(VaultPayout, Approval)]) -> Result<Bytes, BatchError> {
    let approvals = payouts.iter().map(|(_, approval)| approval.into()).collect();
    let (token, payouts) = batch(payouts.iter().map(|(payout, _)| payout))?;
    Ok(match token {
        NATIVE_COIN => Vault::payoutCoinBatchWithApprovalsCall { payouts, approvals }.abi_encode(),
        token => Vault::payoutBatchWithApprovalsCall { token, payouts, approvals }.abi_encode(),
    }
    .into())
}

/// Whether a call pays exactly these, in this order, and does nothing else. The approvals in it
/// are whatever they are: the vault judges them.
pub fn pays_exactly(data: &[u8], payouts: &[VaultPayout]) -> bool {
    let Ok((token, items)) = batch(payouts.iter()) else { return false };
    if token == NATIVE_COIN {
        return pays_coin_exactly(data, items);
    }
    if let [one] = payouts {
        let with_approval = |call: Vault::payoutWithApprovalCall| {
            let VaultPayout { request_id, token, to, amount } = *one;
            Vault::payoutWithApprovalCall { requestId: request_id, token, to, amount, ..call }.abi_encode()
        };
        let approved = Vault::payoutWithApprovalCall::abi_decode(data).map(with_approval);
        return *data == payout(one)[..] || approved.is_ok_and(|derived| derived == data);
    }
    let with_approvals = |call: Vault::payoutBatchWithApprovalsCall| {
        Vault::payoutBatchWithApprovalsCall { token, payouts: items.clone(), ..call }.abi_encode()
    };
    let approved = Vault::payoutBatchWithApprovalsCall::abi_decode(data).map(with_approvals);
    let plain = Vault::payoutBatchCall { token, payouts: items.clone() }.abi_encode();
    plain == data || approved.is_ok_and(|derived| derived == data)
}

/// The same for the chain's coin, which has no function for a single payout.
fn pays_coin_exactly(data: &[u8], payouts: Vec<abi::Payout>) -> bool {
    let approved = Vault::payoutCoinBatchWithApprovalsCall::abi_decode(data).map(|call| {
        Vault::payoutCoinBatchWithApprovalsCall { payouts: payouts.clone(), ..call }.abi_encode()
    });
    let plain = Vault::payoutCoinBatchCall { payouts }.abi_encode();
    plain == data || approved.is_ok_and(|derived| derived == data)
}

/// What stands for the chain's own coin. A vault that does not answer this cannot pay the coin.
pub fn native_coin() -> Bytes {
    Vault::NATIVE_COIN_ADDRESSCall {}.abi_encode().into()
}

/// What became of a request.
pub fn request_state(request_id: B256) -> Bytes {
    Vault::requestStateCall { requestId: request_id }.abi_encode().into()
}

/// What became of each of these requests.
pub fn request_states(request_ids: &[B256]) -> Bytes {
    Vault::requestStatesCall { requestIds: request_ids.to_vec() }.abi_encode().into()
}

/// Whose approvals count.
pub fn risk_signer() -> Bytes {
    Vault::riskSignerCall {}.abi_encode().into()
}

/// Whether payouts need an approval.
pub fn approval_required() -> Bytes {
    Vault::approvalRequiredCall {}.abi_encode().into()
}

/// The nonce with which approvals are signed now.
pub fn approval_nonce() -> Bytes {
    Vault::approvalNonceCall {}.abi_encode().into()
}

/// Whether payouts are stopped.
pub fn paused() -> Bytes {
    Vault::pausedCall {}.abi_encode().into()
}

/// The block of the deployment.
pub fn deployed_at_block() -> Bytes {
    Vault::DEPLOYED_AT_BLOCKCall {}.abi_encode().into()
}

/// What the day's limit of a token still allows.
pub fn remaining_today(token: Address) -> Bytes {
    Vault::remainingTodayCall { token }.abi_encode().into()
}

/// What somebody has of a token: asked of the token.
pub fn balance_of(owner: Address) -> Bytes {
    Token::balanceOfCall { owner }.abi_encode().into()
}

/// How many decimals a token has: asked of the token.
pub fn decimals() -> Bytes {
    Token::decimalsCall {}.abi_encode().into()
}

/// A batch's token and payouts.
fn batch<'a>(
    payouts: impl ExactSizeIterator<Item = &'a VaultPayout>,
) -> Result<(Address, Vec<abi::Payout>), BatchError> {
    let size = payouts.len();
    if size > MAX_BATCH {
        return Err(BatchError::Size(size));
    }
    let mut token = None;
    let mut items = Vec::with_capacity(size);
    for payout in payouts {
        let first = *token.get_or_insert(payout.token);
        if first != payout.token {
            return Err(BatchError::Tokens(first, payout.token));
        }
        items.push(payout.into());
    }
    token.map(|token| (token, items)).ok_or(BatchError::Size(0))
}
