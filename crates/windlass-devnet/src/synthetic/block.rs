//! One block as JSON, with a true bloom over its generated logs.

use alloy_primitives::{B256, Bloom, BloomInput, U64};
use bytes::Bytes;
use serde_json::json;

use super::{
    generator::{Generator, to_hash},
    options::FEES_COLLECTED_TOPIC,
    transaction::transaction,
};

const GAS_LIMIT: u64 = 30_000_000;
const GAS_PER_LOG: u64 = 60_000;
const BASE_FEE_WEI: u64 = 1_000_000_000;

/// The block with its transactions' hashes, as `eth_getBlockByNumber` answers it.
pub(super) fn block(generator: &Generator, number: u64) -> Bytes {
    let mut value = header_value(generator, number);
    let logs = generator.logs_between(number, number);
    let hashes: Vec<B256> = logs.map(|log| generator.log(log).transaction_hash).collect();
    value["transactions"] = json!(hashes);
    value["uncles"] = json!([]);
    to_bytes(&value)
}

/// The block with its transactions, as it is answered when they are asked for.
pub(super) fn full_block(generator: &Generator, number: u64, chain_id: u64) -> Bytes {
    let mut value = header_value(generator, number);
    let logs = generator.logs_between(number, number);
    value["transactions"] = logs.map(|log| transaction(&generator.log(log), chain_id)).collect();
    value["uncles"] = json!([]);
    to_bytes(&value)
}

/// The header alone, as `newHeads` announces it.
pub(super) fn header(generator: &Generator, number: u64) -> Bytes {
    to_bytes(&header_value(generator, number))
}

fn header_value(generator: &Generator, number: u64) -> serde_json::Value {
    let hash = |number: u64| to_hash(generator.block_hash(number));
    let parent = number.checked_sub(1).map_or(B256::ZERO, hash);
    let logs = generator.logs_between(number, number);
    let gas_used = (logs.end - logs.start).saturating_mul(GAS_PER_LOG).min(GAS_LIMIT);
    json!({
        "number": U64::from(number),
        "hash": hash(number),
        "parentHash": parent,
        "timestamp": U64::from(generator.block_time_s(number)),
        "logsBloom": bloom(generator, number),
        "gasLimit": U64::from(GAS_LIMIT),
        "gasUsed": U64::from(gas_used),
        "baseFeePerGas": U64::from(BASE_FEE_WEI),
        "miner": alloy_primitives::Address::ZERO,
        "difficulty": "0x0",
        "extraData": "0x",
        "mixHash": B256::ZERO,
        "nonce": "0x0000000000000000",
        "sha3Uncles": B256::ZERO,
        "stateRoot": B256::ZERO,
        "transactionsRoot": B256::ZERO,
        "receiptsRoot": B256::ZERO,
        "size": "0x0",
    })
}

fn bloom(generator: &Generator, number: u64) -> Bloom {
    let mut bloom = Bloom::default();
    for log in generator.logs_between(number, number).map(|log| generator.log(log)) {
        bloom.accrue(BloomInput::Raw(log.address.as_slice()));
        bloom.accrue(BloomInput::Raw(FEES_COLLECTED_TOPIC.as_slice()));
        bloom.accrue(BloomInput::Raw(log.token.into_word().as_slice()));
        bloom.accrue(BloomInput::Raw(log.integrator.into_word().as_slice()));
    }
    bloom
}

fn to_bytes(value: &serde_json::Value) -> Bytes {
    Bytes::from(value.to_string())
}
