//! The question for logs, and a log as a node tells it.

use alloy_primitives::{Address, B256, Bytes};
use serde::{Serialize, Serializer};
use windlass_core::chain::{BlockRef, ChainId};
use windlass_core::event::{LogEvent, Topics};
use windlass_core::range::BlockRange;
use windlass_core::reader::LogFilter;

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// One of which nothing was read yet.
    pub(crate) fn empty() -> Self {
        Self {
            block: BlockRef { number: 0, hash: B256::ZERO },
            log_index: 0,
            timestamp_s: None,
            transaction_hash: B256::ZERO,
            address: Address::ZERO,
            topics: Topics::default(),
            data: Bytes::new(),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand logs are moved where they are, not into new memory.
    #[test]
    fn logs_become_events_in_place() {
        let logs = vec![RpcLog::empty(); 10];
        let place = logs.as_ptr().cast::<u8>();
        let chain = ChainId::new(1).expect("an id");
        let events: Vec<LogEvent> = logs.into_iter().map(|log| log.into_event(chain, 1)).collect();
        assert_eq!(events.as_ptr().cast::<u8>(), place);
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
