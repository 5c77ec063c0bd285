//! What the risk signer signs for a payout (EIP-712).

use alloy_sol_types::{SolStruct, eip712_domain};

use super::abi;
use super::calldata::VaultPayout;
use crate::chain::{B256, Bytes, U256};
use crate::payout::request::VaultRef;
use crate::payout::signer::Signature;

/// The risk signer's consent to one payout.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Approval {
    /// The vault's nonce when it was signed; raising that voids it.
    pub nonce: u64,
    /// The last second in which it is good, since 1970.
    pub deadline_s: u64,
    /// Over [`digest`]: 65 bytes of a key, or whatever the signer's contract takes.
    pub signature: Bytes,
}

impl Approval {
    /// An approval that a key has signed.
    pub fn new(nonce: u64, deadline_s: u64, signature: &Signature) -> Self {
        Self { nonce, deadline_s, signature: signature.as_bytes().into() }
    }
}

impl From<&Approval> for abi::Approval {
    fn from(approval: &Approval) -> Self {
        Self {
            nonce: U256::from(approval.nonce),
            deadline: U256::from(approval.deadline_s),
            signature: approval.signature.clone(),
        }
    }
}

/// What is signed so that a vault makes this payout, up to that second, under that nonce.
pub fn digest(vault: VaultRef, payout: &VaultPayout, nonce: u64, deadline_s: u64) -> B256 {
    let domain = eip712_domain! {
        name: "SettlementVault",
        version: "1",
        chain_id: vault.chain.as_u64(),
        verifying_contract: vault.address,
    };
    let VaultPayout { request_id, token, to, amount } = *payout;
    let approval = abi::PayoutApproval {
        requestId: request_id,
        token,
        to,
        amount,
        deadline: U256::from(deadline_s),
        nonce: U256::from(nonce),
    };
    approval.eip712_signing_hash(&domain)
}
