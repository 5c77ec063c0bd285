//! A block's receipts: what they hash to, and the logs in them.
//!
//! The root is computed as the chain does it, from what the receipts say, so that one
//! which equals the header's proves that every log is there and none was changed. A
//! receipt whose encoding is not known makes no root rather than a wrong one.
//!
//! Two chains differ from Ethereum in ways that are known. OP chains have deposits
//! (type 0x7e), whose nonce is hashed only where a version says so. Polygon's blocks
//! carry, up to its Madhugiri upgrade, a receipt for state that came from Ethereum; it
//! is in no root and no bloom, and is known by the hash that stands for its transaction. Its logs
//! are not proven by the root, and neither is that there is none: some nodes leave it out. Such
//! state comes with every 16th block only (with every 64th at first), and on other chains there
//! is no such receipt.

use alloy_consensus::proofs::ordered_trie_root_encoded;
use alloy_consensus::{Eip658Value, Receipt};
use alloy_primitives::{B256, Log, LogData, keccak256};
use alloy_rlp::Encodable;
use serde::Deserialize;
use windlass_core::chain::{BlockHeader, ChainId};
use windlass_core::reader::{ChainError, ChainErrorKind, Receipts};

use super::hex::{self, Hex};
use super::log::RpcLog;
use super::log_list::LogList;

/// A deposit of an OP chain.
const DEPOSIT: u64 = 0x7e;
/// The last of Ethereum's own types: legacy, 2930, 1559, 4844, 7702.
const LAST_ETHEREUM_TYPE: u64 = 4;
/// Polygon's blocks whose number is a multiple of this may have a state receipt.
const STATE_INTERVAL: u64 = 16;
/// What Polygon hashes before a block's number and hash to name its state receipt.
const BOR_RECEIPT_PREFIX: &[u8] = b"matic-bor-receipt-";

/// A receipt as a node tells it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RpcReceipt {
    /// Missing where only legacy ones exist.
    #[serde(default, rename = "type")]
    kind: Option<Hex<u64>>,
    /// Success, since Byzantium.
    #[serde(default)]
    status: Option<Hex<u64>>,
    /// The state's root, before Byzantium.
    #[serde(default)]
    root: Option<Hex<[u8; 32]>>,
    #[serde(deserialize_with = "hex::de")]
    cumulative_gas_used: u64,
    #[serde(default)]
    logs_bloom: Option<Hex<[u8; 256]>>,
    logs: LogList,
    #[serde(deserialize_with = "hex::de")]
    transaction_hash: [u8; 32],
    #[serde(deserialize_with = "hex::de")]
    transaction_index: u64,
    #[serde(deserialize_with = "hex::de")]
    block_hash: [u8; 32],
    #[serde(default)]
    deposit_nonce: Option<Hex<u64>>,
    #[serde(default)]
    deposit_receipt_version: Option<Hex<u64>>,
}

/// Why a block's receipts make no root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownType(pub(crate) u64);

/// Works through the receipts of a block.
pub(crate) fn read(
    chain: ChainId,
    block: &BlockHeader,
    mut receipts: Vec<RpcReceipt>,
) -> Result<Result<Receipts, UnknownType>, ChainError> {
    receipts.sort_by_key(|receipt| receipt.transaction_index);
    check(block, &receipts)?;
    let outside = chain.has_logs_outside_blooms().then(|| bor_receipt_hash(block));
    let is_outside = |receipt: &RpcReceipt| Some(B256::from(receipt.transaction_hash)) == outside;
    let mut encoded = Vec::with_capacity(receipts.len());
    for receipt in receipts.iter().filter(|receipt| !is_outside(receipt)) {
        match receipt.encoded() {
            Ok(bytes) => encoded.push(bytes),
            Err(unknown) => return Ok(Err(unknown)),
        }
    }
    let root = ordered_trie_root_encoded(&encoded);
    let may_have_state = outside.is_some() && block.number.is_multiple_of(STATE_INTERVAL);
    let has_logs_outside =
        may_have_state || receipts.iter().any(|receipt| is_outside(receipt) && !receipt.logs.0.is_empty());
    let places = receipts.iter().flat_map(|receipt| &receipt.logs.0).map(|log| log.log_index);
    let is_covered = !has_logs_outside && places.eq(0..receipts.iter().map(RpcReceipt::log_count).sum());
    let logs = receipts.into_iter().flat_map(|receipt| receipt.logs.0);
    let logs = logs.map(|log| log.into_event(chain, block.timestamp_s)).collect();
    Ok(Ok(Receipts { root, logs, is_covered }))
}

/// Refuses receipts that are not those of the block, or have gaps, before they are hashed.
fn check(block: &BlockHeader, receipts: &[RpcReceipt]) -> Result<(), ChainError> {
    let strange = |what: &str| {
        let message = format!("it sent receipts of block {} {what}", block.block_ref());
        Err(ChainError::new(ChainErrorKind::Malformed, message))
    };
    if receipts.iter().any(|receipt| receipt.block_hash != block.hash) {
        let message = format!("it has another block than {}", block.block_ref());
        return Err(ChainError::new(ChainErrorKind::UnknownBlock, message));
    }
    if receipts.iter().zip(0..).any(|(receipt, place)| receipt.transaction_index != place) {
        return strange("with a gap");
    }
    let logs = || receipts.iter().flat_map(|receipt| receipt.logs.0.iter().map(move |log| (receipt, log)));
    if logs().any(|(receipt, log)| {
        log.block != block.block_ref() || log.transaction_hash != receipt.transaction_hash
    }) {
        return strange("with a log from elsewhere");
    }
    if !logs().map(|(_, log)| log.log_index).is_sorted_by(|one, next| one < next) {
        return strange("whose logs are out of order");
    }
    Ok(())
}

/// The hash that stands for the transaction of Polygon's state receipt.
fn bor_receipt_hash(block: &BlockHeader) -> B256 {
    keccak256([BOR_RECEIPT_PREFIX, &block.number.to_be_bytes(), block.hash.as_slice()].concat())
}

impl RpcReceipt {
    fn log_count(&self) -> u32 {
        u32::try_from(self.logs.0.len()).unwrap_or(u32::MAX)
    }

    /// What the trie holds: the type, except for legacy, and the fields as a list.
    fn encoded(&self) -> Result<Vec<u8>, UnknownType> {
        let kind = self.kind.as_ref().map_or(0, |Hex(kind)| *kind);
        let kind_byte = match u8::try_from(kind) {
            Ok(byte) if kind <= LAST_ETHEREUM_TYPE || kind == DEPOSIT => byte,
            _ => return Err(UnknownType(kind)),
        };
        let receipt = self.consensus_form();
        let bloom = self.logs_bloom.as_ref().map_or_else(|| receipt.bloom_slow(), |Hex(bloom)| bloom.into());
        let deposit = self.hashed_deposit().filter(|_| kind == DEPOSIT);
        let mut out = Vec::with_capacity(1_024);
        if kind != 0 {
            out.push(kind_byte);
        }
        let payload_length = receipt.rlp_encoded_fields_length_with_bloom(&bloom)
            + deposit.map_or(0, |(nonce, version)| nonce.length() + version.length());
        alloy_rlp::Header { list: true, payload_length }.encode(&mut out);
        receipt.rlp_encode_fields_with_bloom(&bloom, &mut out);
        if let Some((nonce, version)) = deposit {
            nonce.encode(&mut out);
            version.encode(&mut out);
        }
        Ok(out)
    }

    fn consensus_form(&self) -> Receipt<Log> {
        let status = match (&self.status, &self.root) {
            (None, Some(Hex(root))) => Eip658Value::PostState(root.into()),
            (status, _) => Eip658Value::Eip658(status.as_ref().is_some_and(|Hex(status)| *status == 1)),
        };
        let log = |log: &RpcLog| Log {
            address: log.address,
            data: LogData::new_unchecked(log.topics.as_slice().to_vec(), log.data.clone()),
        };
        let logs = self.logs.0.iter().map(log).collect();
        Receipt { status, cumulative_gas_used: self.cumulative_gas_used, logs }
    }

    /// A deposit's nonce and version; without a version the nonce is not hashed either.
    fn hashed_deposit(&self) -> Option<(u64, u64)> {
        let Hex(version) = self.deposit_receipt_version.as_ref()?;
        let Hex(nonce) = self.deposit_nonce.as_ref()?;
        Some((*nonce, *version))
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::proofs::calculate_receipt_root;
    use alloy_consensus::{ReceiptEnvelope, ReceiptWithBloom, TxType};
    use serde_json::{Value, json};

    use super::*;

    fn block() -> BlockHeader {
        let (hash, parent_hash) = (B256::repeat_byte(1), B256::repeat_byte(2));
        BlockHeader { number: 9, hash, parent_hash, timestamp_s: 77 }
    }

    /// A receipt with as many logs as its place says.
    fn receipt(place: u64, first_log: u64) -> Value {
        let hash = B256::with_last_byte(place as u8 + 1);
        let logs: Vec<Value> = (0..place)
            .map(|at| {
                json!({
                    "address": format!("0x{}", "ab".repeat(20)), "topics": [B256::with_last_byte(7)],
                    "data": "0x0102", "blockHash": block().hash, "blockNumber": "0x9",
                    "logIndex": format!("{:#x}", first_log + at), "transactionHash": hash,
                })
            })
            .collect();
        json!({
            "transactionHash": hash, "transactionIndex": format!("{place:#x}"), "blockHash": block().hash,
            "cumulativeGasUsed": format!("{:#x}", 21_000 * (place + 1)), "status": "0x1", "logs": logs,
        })
    }

    fn receipts() -> Vec<Value> {
        [(0, 0), (1, 0), (2, 1), (3, 3), (4, 6)].map(|(place, first)| receipt(place, first)).to_vec()
    }

    fn work(values: &[Value]) -> Result<Result<Receipts, UnknownType>, ChainError> {
        work_on(1, values)
    }

    fn work_on(chain: u64, values: &[Value]) -> Result<Result<Receipts, UnknownType>, ChainError> {
        let receipts = serde_json::from_str(&json!(values).to_string()).expect("receipts");
        read(ChainId::new(chain).expect("an id"), &block(), receipts)
    }

    fn root(values: &[Value]) -> B256 {
        work(values).expect("readable").expect("known types").root
    }

    fn envelope(place: u64, kind: TxType, status: Eip658Value) -> ReceiptEnvelope {
        let data = LogData::new_unchecked(vec![B256::with_last_byte(7)], vec![1, 2].into());
        let log = Log { address: [0xab; 20].into(), data };
        let logs = vec![log; place as usize];
        let receipt = Receipt { status, cumulative_gas_used: 21_000 * (place + 1), logs };
        ReceiptEnvelope::from_typed(kind, ReceiptWithBloom::from(receipt))
    }

    #[test]
    fn every_type_of_ethereum_hashes_as_alloy_says() {
        let types = [TxType::Legacy, TxType::Eip2930, TxType::Eip1559, TxType::Eip4844, TxType::Eip7702];
        let mut values = receipts();
        for (value, kind) in values.iter_mut().zip(types).skip(1) {
            value["type"] = format!("{:#x}", kind as u8).into();
        }
        let truth: Vec<_> =
            types.iter().zip(0..).map(|(kind, place)| envelope(place, *kind, true.into())).collect();
        assert_eq!(root(&values), calculate_receipt_root(&truth));
        let found = work(&values).expect("readable").expect("known");
        let places: Vec<_> = found.logs.iter().map(|log| (log.log_index, log.timestamp_s)).collect();
        assert_eq!(places, (0..10).map(|place| (place, 77)).collect::<Vec<_>>());
        values.reverse();
        assert_eq!(root(&values), calculate_receipt_root(&truth), "in whatever order they come");
    }

    #[test]
    fn before_byzantium_the_states_root_stands_for_success() {
        let mut value = receipt(0, 0);
        value["root"] = json!(B256::repeat_byte(5));
        value["status"] = Value::Null;
        let truth = envelope(0, TxType::Legacy, Eip658Value::PostState(B256::repeat_byte(5)));
        assert_eq!(root(&[value.clone()]), calculate_receipt_root(&[truth]));
        value["status"] = "0x0".into();
        let truth = envelope(0, TxType::Legacy, false.into());
        assert_eq!(root(&[value]), calculate_receipt_root(&[truth]));
    }

    #[test]
    fn anything_changed_changes_the_root() {
        let whole = root(&receipts());
        let mut seen = vec![whole];
        for change in [
            (|values: &mut Vec<Value>| values[1]["logs"][0]["data"] = "0x0103".into()) as fn(&mut Vec<Value>),
            |values| values[1]["logs"] = json!([]),
            |values| values[2]["logs"][1]["topics"][0] = json!(B256::with_last_byte(8)),
            |values| values[0]["status"] = "0x0".into(),
            |values| values[0]["cumulativeGasUsed"] = "0x1".into(),
            |values| drop(values.pop()),
        ] {
            let mut values = receipts();
            change(&mut values);
            let changed = root(&values);
            assert!(!seen.contains(&changed));
            seen.push(changed);
        }
    }

    #[test]
    fn a_type_that_is_not_known_makes_no_root() {
        for kind in ["0x5", "0x64", "0x7f"] {
            let mut values = receipts();
            values[3]["type"] = kind.into();
            assert!(work(&values).expect("readable").is_err(), "{kind}");
        }
    }

    #[test]
    fn receipts_of_another_block_or_with_gaps_are_refused() {
        let kind_after = |change: fn(&mut Vec<Value>)| {
            let mut values = receipts();
            change(&mut values);
            work(&values).expect_err("refused").kind
        };
        let other = |values: &mut Vec<Value>| values[2]["blockHash"] = json!(B256::repeat_byte(3));
        assert_eq!(kind_after(other), ChainErrorKind::UnknownBlock);
        for change in [
            (|values: &mut Vec<Value>| drop(values.remove(1))) as fn(&mut Vec<Value>),
            |values| values[2]["logs"][1]["logIndex"] = "0x1".into(),
            |values| values[2]["logs"][1]["transactionHash"] = json!(B256::ZERO),
            |values| values[2]["logs"][1]["blockHash"] = json!(B256::ZERO),
        ] {
            assert_eq!(kind_after(change), ChainErrorKind::Malformed);
        }
    }

    /// `[status, gas, bloom, logs, nonce?, version?]` behind the type, as OP's specification has it.
    #[test]
    fn a_deposits_nonce_is_hashed_only_with_a_version() {
        let plain = {
            let mut value = receipt(0, 0);
            value["type"] = "0x7e".into();
            value
        };
        let mut with_nonce = plain.clone();
        with_nonce["depositNonce"] = "0x81".into();
        let mut with_version = with_nonce.clone();
        with_version["depositReceiptVersion"] = "0x1".into();
        let fields = |extra: &[u8]| {
            let mut list = vec![0x01, 0x82, 0x52, 0x08, 0xb9, 0x01, 0x00];
            list.extend([0; 256]);
            list.push(0xc0);
            list.extend(extra);
            let mut out = vec![0x7e, 0xf9];
            out.extend(u16::try_from(list.len()).expect("short").to_be_bytes());
            out.extend(list);
            ordered_trie_root_encoded(&[out])
        };
        assert_eq!(root(&[plain]), fields(&[]));
        assert_eq!(root(&[with_nonce]), fields(&[]));
        assert_eq!(root(&[with_version]), fields(&[0x81, 0x81, 0x01]));
    }

    #[test]
    fn polygons_state_receipt_is_outside_the_root_and_proves_nothing() {
        let whole = root(&receipts());
        let mut values = receipts();
        let mut state = receipt(5, 10);
        let key = [b"matic-bor-receipt-".as_slice(), &9_u64.to_be_bytes(), &[1; 32]].concat();
        let hash = json!(keccak256(key));
        state["transactionHash"] = hash.clone();
        for log in state["logs"].as_array_mut().expect("a list") {
            log["transactionHash"] = hash.clone();
        }
        values.push(state);
        let found = work_on(137, &values).expect("readable").expect("known");
        assert_eq!((found.root, found.logs.len(), found.is_covered), (whole, 15, false));
        assert!(work_on(137, &receipts()).expect("readable").expect("known").is_covered);
        // That a block has none which may have one is not proven by leaving it out.
        let at = |number: u64| {
            let block = BlockHeader { number, ..block() };
            let mut values = receipts();
            for value in &mut values {
                for log in value["logs"].as_array_mut().expect("a list") {
                    log["blockNumber"] = format!("{number:#x}").into();
                }
            }
            let receipts = serde_json::from_str(&json!(values).to_string()).expect("receipts");
            let read = |chain, receipts| read(ChainId::new(chain).expect("an id"), &block, receipts);
            let again = serde_json::from_str(&json!(values).to_string()).expect("receipts");
            let is_covered = |found: Result<Result<Receipts, UnknownType>, ChainError>| {
                found.expect("readable").expect("known").is_covered
            };
            (is_covered(read(137, receipts)), is_covered(read(1, again)))
        };
        assert_eq!(
            [at(15), at(16), at(17), at(64)],
            [(true, true), (false, true), (true, true), (false, true)]
        );
        // On another chain nobody may add logs in this way.
        assert_ne!(root(&values), whole);
    }

    /// No root has the places of logs: they must be those that their order gives.
    #[test]
    fn receipts_whose_logs_have_other_places_prove_nothing() {
        let mut values = receipts();
        for log in values.iter_mut().flat_map(|value| value["logs"].as_array_mut().expect("a list")) {
            let place =
                u64::from_str_radix(&log["logIndex"].as_str().expect("a place")[2..], 16).expect("hex");
            log["logIndex"] = format!("{:#x}", place + 1_000).into();
        }
        let found = work(&values).expect("readable").expect("known");
        assert_eq!((found.root, found.is_covered), (root(&receipts()), false));
    }
}
