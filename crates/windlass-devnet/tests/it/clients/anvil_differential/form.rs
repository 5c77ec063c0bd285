//! The transaction types, and signing any of them.

use alloy_consensus::{TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, TxKind, U256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use windlass_devnet::chain::DevAccount;

use super::action::Action;
use crate::chain::support::AMPLE_FEE;

const CHAIN_ID: u64 = 31_337;

/// What the access list costs on top: 2,400 for an address, 1,900 for a slot (EIP-2930).
const ACCESS_LIST_GAS: u64 = 2 * 2_400 + 2 * 1_900;

/// A transaction's type, with what it pays.
#[derive(Debug, Clone)]
pub(super) enum Form {
    Legacy {
        price: u128,
    },
    AccessList {
        price: u128,
    },
    Dynamic {
        tip: u128,
    },
    /// EIP-7702: an account takes on a contract's code.
    Delegation {
        tip: u128,
        authorization: Box<SignedAuthorization>,
    },
}

/// An account's word that it takes on a contract's code.
pub(super) fn authorize(account: &DevAccount, code_of: Address, nonce: u64) -> SignedAuthorization {
    let authorization = Authorization { chain_id: U256::from(CHAIN_ID), address: code_of, nonce };
    let signer = PrivateKeySigner::from_bytes(&account.key()).unwrap();
    let signature = signer.sign_hash_sync(&authorization.signature_hash()).unwrap();
    authorization.into_signed(signature)
}

impl Form {
    pub(super) fn sign(self, account: &DevAccount, nonce: u64, action: Action) -> TxEnvelope {
        let Action { to, value, input, gas: gas_limit, .. } = action;
        let signed = match self {
            Self::Legacy { price: gas_price } => {
                let chain_id = Some(CHAIN_ID);
                account.sign_any(TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input })
            }
            Self::AccessList { price: gas_price } => account.sign_any(TxEip2930 {
                chain_id: CHAIN_ID,
                nonce,
                gas_price,
                gas_limit: gas_limit + ACCESS_LIST_GAS,
                to,
                value,
                access_list: access_list(to, account.address()),
                input,
            }),
            Self::Dynamic { tip } => account.sign_any(TxEip1559 {
                chain_id: CHAIN_ID,
                nonce,
                gas_limit,
                max_fee_per_gas: AMPLE_FEE,
                max_priority_fee_per_gas: tip,
                to,
                value,
                input,
                ..TxEip1559::default()
            }),
            Self::Delegation { tip, authorization } => account.sign_any(TxEip7702 {
                chain_id: CHAIN_ID,
                nonce,
                gas_limit,
                max_fee_per_gas: AMPLE_FEE,
                max_priority_fee_per_gas: tip,
                to: to.into_to().unwrap_or_default(),
                value,
                input,
                authorization_list: vec![*authorization],
                ..TxEip7702::default()
            }),
        };
        signed.unwrap()
    }
}

/// Names the slot that an emitter writes, one that nobody does, and an account besides.
fn access_list(to: TxKind, caller: Address) -> AccessList {
    let storage_keys = vec![caller.into_word(), B256::repeat_byte(7)];
    let named = AccessListItem { address: to.into_to().unwrap_or_default(), storage_keys };
    AccessList(vec![named, AccessListItem { address: caller, storage_keys: Vec::new() }])
}
