//! Logs, read straight into the core's types.

use alloy_primitives::{Address, B256, Bytes};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use windlass_core::chain::{BlockRef, ChainId};
use windlass_core::event::{LogEvent, MAX_TOPICS, Topics};
use windlass_core::range::BlockRange;
use windlass_core::reader::LogFilter;

use super::hex::{self, Hex, Storable};

fn wanted_topics<S: Serializer>(topics: &&[Vec<B256>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(topics.iter().map(|values| Some(values).filter(|values| !values.is_empty())))
}

/// Which blocks' logs are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    Range(BlockRange),
    Hash(B256),
}

/// `eth_getLogs`'s parameter.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Query<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    from_block: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_block: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_hash: Option<B256>,
    #[serde(rename = "address", skip_serializing_if = "<[_]>::is_empty")]
    addresses: &'a [Address],
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "wanted_topics")]
    topics: &'a [Vec<B256>],
}

impl<'a> Query<'a> {
    pub(crate) fn new(blocks: Blocks, filter: &'a LogFilter) -> Self {
        let LogFilter { addresses, topics } = filter;
        let none = Self { from_block: None, to_block: None, block_hash: None, addresses, topics };
        match blocks {
            Blocks::Range(range) => Self {
                from_block: Some(format!("{:#x}", range.from)),
                to_block: Some(format!("{:#x}", range.to)),
                ..none
            },
            Blocks::Hash(hash) => Self { block_hash: Some(hash), ..none },
        }
    }
}

/// A log as a node tells it. Not every node tells the time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Wire")]
pub struct RpcLog {
    /// The block it happened in.
    pub block: BlockRef,
    /// Its place among the block's logs.
    pub log_index: u32,
    /// When, in seconds, if the node says.
    pub timestamp_s: Option<u64>,
    /// The transaction that caused it.
    pub transaction_hash: B256,
    /// The contract that emitted it.
    pub address: Address,
    /// Its topics.
    pub topics: Topics,
    /// Its data.
    pub data: Bytes,
}

impl RpcLog {
    /// The log as it is stored, with the chain and its block's time.
    pub fn into_event(self, chain: ChainId, timestamp_s: u64) -> LogEvent {
        LogEvent {
            chain,
            block: self.block,
            log_index: self.log_index,
            timestamp_s,
            transaction_hash: self.transaction_hash,
            address: self.address,
            topics: self.topics,
            data: self.data,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(deserialize_with = "hex::de")]
    block_number: Storable,
    #[serde(deserialize_with = "hex::de")]
    block_hash: [u8; 32],
    #[serde(deserialize_with = "log_index")]
    log_index: u32,
    #[serde(default)]
    block_timestamp: Option<Hex<Storable>>,
    #[serde(deserialize_with = "hex::de")]
    transaction_hash: [u8; 32],
    #[serde(deserialize_with = "hex::de")]
    address: [u8; 20],
    #[serde(deserialize_with = "topics")]
    topics: Topics,
    #[serde(deserialize_with = "hex::de")]
    data: Vec<u8>,
    /// Whether it has left the chain: such a log is no answer to a question about the chain.
    #[serde(default, rename = "removed", deserialize_with = "not_removed")]
    _removed: (),
}

impl From<Wire> for RpcLog {
    fn from(wire: Wire) -> Self {
        Self {
            block: BlockRef { number: wire.block_number.0, hash: B256::from(wire.block_hash) },
            log_index: wire.log_index,
            // Some nodes write zero where they do not know.
            timestamp_s: wire.block_timestamp.map(|Hex(time)| time.0).filter(|seconds| *seconds > 0),
            transaction_hash: B256::from(wire.transaction_hash),
            address: Address::from(wire.address),
            topics: wire.topics,
            data: Bytes::from(wire.data),
        }
    }
}

fn not_removed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match Option::<bool>::deserialize(deserializer)? {
        Some(true) => Err(D::Error::custom("a log that was removed")),
        _ => Ok(()),
    }
}

fn log_index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let index: u64 = hex::de(deserializer)?;
    u32::try_from(index).map_err(|_| D::Error::custom("a log index beyond 2^32"))
}

fn topics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Topics, D::Error> {
    deserializer.deserialize_seq(TopicsVisitor)
}

/// Topics without an allocation.
struct TopicsVisitor;

impl<'de> Visitor<'de> for TopicsVisitor {
    type Value = Topics;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "up to {MAX_TOPICS} topics")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Topics, A::Error> {
        let mut words = [B256::ZERO; MAX_TOPICS];
        let mut count = 0;
        while let Some(Hex(word)) = seq.next_element::<Hex<[u8; 32]>>()? {
            *words.get_mut(count).ok_or_else(|| A::Error::invalid_length(count + 1, &self))? =
                B256::from(word);
            count += 1;
        }
        Topics::new(&words[..count]).ok_or_else(|| A::Error::invalid_length(count, &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(topics: usize) -> serde_json::Value {
        let word = |byte: u8| format!("0x{}", format!("{byte:02x}").repeat(32));
        serde_json::json!({
            "address": format!("0x{}", "ab".repeat(20)), "blockHash": word(1), "blockNumber": "0x10",
            "data": "0x0102", "logIndex": "0x3", "removed": false, "transactionHash": word(2),
            "transactionIndex": "0x0",
            "topics": (0..topics).map(|topic| word(topic as u8 + 3)).collect::<Vec<_>>(),
        })
    }

    fn read(value: &serde_json::Value) -> Result<RpcLog, serde_json::Error> {
        serde_json::from_str(&value.to_string())
    }

    #[test]
    fn a_log_becomes_an_event() {
        let log = read(&json(4)).expect("a log");
        assert_eq!(log.topics.as_slice().len(), 4);
        assert_eq!(log.timestamp_s, None);
        let event = log.into_event(ChainId::new(137).expect("an id"), 99);
        assert_eq!((event.block.number, event.log_index, event.timestamp_s), (16, 3, 99));
        assert_eq!(event.data.as_ref(), [1, 2]);
        assert_eq!(event.address, Address::repeat_byte(0xab));
        assert_eq!(event.topics.as_slice()[3], B256::repeat_byte(6));
    }

    /// Ten thousand logs are moved where they are, not into new memory.
    #[test]
    fn logs_become_events_in_place() {
        let logs = vec![read(&json(4)).expect("a log"); 10];
        let place = logs.as_ptr().cast::<u8>();
        let chain = ChainId::new(1).expect("an id");
        let events: Vec<LogEvent> = logs.into_iter().map(|log| log.into_event(chain, 1)).collect();
        assert_eq!(events.as_ptr().cast::<u8>(), place);
    }

    #[test]
    fn a_timestamp_is_taken_where_there_is_one() {
        let mut value = json(0);
        value["blockTimestamp"] = "0x65".into();
        assert_eq!(read(&value).expect("a log").timestamp_s, Some(101));
        for unknown in [serde_json::Value::Null, "0x0".into()] {
            value["blockTimestamp"] = unknown;
            assert_eq!(read(&value).expect("a log").timestamp_s, None);
        }
    }

    #[test]
    fn a_log_that_makes_no_sense_is_refused() {
        assert!(read(&json(5)).is_err());
        for (key, wrong) in [
            ("blockNumber", "0x"),
            ("blockNumber", "0xffffffffffffffff"),
            ("blockTimestamp", "0xffffffffffffffff"),
            ("blockHash", "0x00"),
            ("logIndex", "0x100000000"),
        ] {
            let mut value = json(1);
            value[key] = wrong.into();
            assert!(read(&value).is_err(), "{key}");
        }
        for (removed, refused) in
            [(true.into(), true), (false.into(), false), (serde_json::Value::Null, false)]
        {
            let mut value = json(1);
            value["removed"] = removed;
            assert_eq!(read(&value).is_err(), refused, "{value}");
        }
        let mut pending = json(1);
        pending["blockNumber"] = serde_json::Value::Null;
        assert!(read(&pending).is_err());
    }

    #[test]
    fn queries_name_a_range_or_a_hash_and_only_what_is_wanted() {
        let filter = LogFilter::default();
        let range = Query::new(Blocks::Range(BlockRange { from: 1, to: 255 }), &filter);
        assert_eq!(serde_json::to_string(&range).expect("json"), r#"{"fromBlock":"0x1","toBlock":"0xff"}"#);
        let filter = LogFilter { addresses: vec![Address::ZERO], topics: vec![vec![], vec![B256::ZERO]] };
        let value = serde_json::to_value(Query::new(Blocks::Hash(B256::ZERO), &filter)).expect("json");
        assert_eq!(value["blockHash"], format!("0x{}", "00".repeat(32)));
        assert_eq!(value["topics"][0], serde_json::Value::Null);
        assert!(value.get("fromBlock").is_none());
    }
}
