//! The transaction behind a generated log. Only its places and its hash are told
//! of elsewhere; the rest is what a call of the contract would look like.

use alloy_primitives::{U64, U256};
use serde_json::{Value, json};

use super::generator::SyntheticLog;

const GAS: u64 = 90_000;
const GAS_PRICE_WEI: u64 = 1_500_000_000;

/// The transaction as a block has it.
pub(super) fn transaction(log: &SyntheticLog, chain_id: u64) -> Value {
    json!({
        "hash": log.transaction_hash,
        "blockHash": log.block_hash,
        "blockNumber": U64::from(log.block_number),
        "transactionIndex": U64::from(log.transaction_index),
        "from": log.integrator,
        "to": log.address,
        "input": "0x",
        "value": "0x0",
        "nonce": U64::from(log.block_number),
        "gas": U64::from(GAS),
        "gasPrice": U64::from(GAS_PRICE_WEI),
        "type": "0x0",
        "chainId": U64::from(chain_id),
        // No signature is checked by those who read a chain: one that is well formed will do.
        "v": U64::from(35 + 2 * chain_id),
        "r": U256::from_be_bytes(log.transaction_hash.0),
        "s": U256::from(1),
    })
}
