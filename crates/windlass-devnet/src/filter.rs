//! Which logs a caller wants, with the meaning geth gives it: for the chain's
//! past logs and for subscriptions alike.
//!
//! A filter with n topic positions matches only logs with at least n topics,
//! even where a position is open: `[null]` leaves out a log without topics.

use alloy_eips::BlockNumberOrTag;
use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};
use serde::Deserialize;

/// The most addresses, or alternatives at one topic position, in one filter (geth's limit).
pub const MAX_FILTER_ALTERNATIVES: usize = 1_000;

/// The most topics a log can have.
pub const MAX_TOPICS: usize = 4;

/// A filter as `eth_getLogs` takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFilter {
    /// The first block; `latest` unless told.
    #[serde(default)]
    pub from_block: Option<BlockNumberOrTag>,
    /// The last block, included; `latest` unless told.
    #[serde(default)]
    pub to_block: Option<BlockNumberOrTag>,
    /// One block by its hash, instead of a range.
    #[serde(default)]
    pub block_hash: Option<B256>,
    /// The emitting contracts; empty means any.
    #[serde(default, deserialize_with = "one_or_many_addresses")]
    pub address: Vec<Address>,
    /// For each position the alternatives; empty means any.
    #[serde(default, deserialize_with = "topic_positions")]
    pub topics: Vec<Vec<B256>>,
}

impl LogFilter {
    /// A filter over a range of blocks, both ends included.
    pub fn range(from: u64, to: u64) -> Self {
        Self {
            from_block: Some(BlockNumberOrTag::Number(from)),
            to_block: Some(BlockNumberOrTag::Number(to)),
            ..Self::default()
        }
    }

    /// A filter over the whole chain.
    pub fn all() -> Self {
        Self { from_block: Some(BlockNumberOrTag::Earliest), ..Self::default() }
    }

    /// The same filter, for one more contract.
    pub fn address(mut self, address: Address) -> Self {
        self.address.push(address);
        self
    }

    /// The same filter, with one more topic position; no alternatives means any topic.
    pub fn topic(mut self, alternatives: impl IntoIterator<Item = B256>) -> Self {
        self.topics.push(alternatives.into_iter().collect());
        self
    }

    /// Whether a log is wanted, its block apart.
    pub fn matches(&self, log: &Log) -> bool {
        if !self.address.is_empty() && !self.address.contains(&log.address) {
            return false;
        }
        let topics = log.topics();
        self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(any, topic)| any.is_empty() || any.contains(topic))
    }

    /// The blooms to look for in a header before opening its block.
    pub(crate) fn blooms(&self) -> FilterBlooms {
        let of = |bytes: &[u8]| Bloom::from(BloomInput::Raw(bytes));
        let mut positions = vec![self.address.iter().map(|a| of(a.as_slice())).collect::<Vec<_>>()];
        positions.extend(self.topics.iter().map(|any| any.iter().map(|t| of(t.as_slice())).collect()));
        positions.retain(|any| !any.is_empty());
        FilterBlooms(positions)
    }
}

/// For each constrained position the blooms of its alternatives.
#[derive(Debug)]
pub(crate) struct FilterBlooms(Vec<Vec<Bloom>>);

impl FilterBlooms {
    /// False when no log under this bloom can match.
    pub(crate) fn may_match(&self, bloom: &Bloom) -> bool {
        self.0.iter().all(|any| any.iter().any(|wanted| bloom.contains(wanted)))
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

fn one_or_many_addresses<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Address>, D::Error> {
    Ok(match Option::<OneOrMany<Address>>::deserialize(from)? {
        None => Vec::new(),
        Some(OneOrMany::One(address)) => vec![address],
        Some(OneOrMany::Many(addresses)) => addresses,
    })
}

fn topic_positions<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Vec<B256>>, D::Error> {
    let positions = Option::<Vec<Option<OneOrMany<Option<B256>>>>>::deserialize(from)?;
    Ok(positions.unwrap_or_default().into_iter().map(alternatives).collect())
}

/// A null among the alternatives opens the position, as in geth.
fn alternatives(position: Option<OneOrMany<Option<B256>>>) -> Vec<B256> {
    match position {
        None => Vec::new(),
        Some(OneOrMany::One(topic)) => topic.into_iter().collect(),
        Some(OneOrMany::Many(any)) => any.into_iter().collect::<Option<Vec<_>>>().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Bytes, LogData};

    use super::*;

    fn log(address: u8, topics: &[u8]) -> Log {
        let topics = topics.iter().map(|t| B256::repeat_byte(*t)).collect();
        Log { address: Address::repeat_byte(address), data: LogData::new_unchecked(topics, Bytes::new()) }
    }

    fn parse(json: &str) -> LogFilter {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_open_position_still_wants_a_topic_there() {
        let filter = parse(r#"{"topics":[null]}"#);
        assert!(filter.matches(&log(1, &[7])));
        assert!(!filter.matches(&log(1, &[])));
    }

    #[test]
    fn positions_take_alternatives_and_null_opens_them() {
        let (a, b) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let filter = parse(&format!(r#"{{"topics":["{a}",["{a}","{b}"],[null,"{a}"]]}}"#));
        assert_eq!(filter.topics, vec![vec![a], vec![a, b], vec![]]);
        assert!(filter.matches(&log(9, &[1, 2, 5])));
        assert!(!filter.matches(&log(9, &[1, 3, 5])));
        assert!(!filter.matches(&log(9, &[1, 2])));
    }

    #[test]
    fn address_is_one_many_or_null() {
        let one = Address::repeat_byte(3);
        assert_eq!(parse(&format!(r#"{{"address":"{one}"}}"#)).address, vec![one]);
        assert_eq!(parse(&format!(r#"{{"address":["{one}"]}}"#)).address, vec![one]);
        assert!(parse(r#"{"address":null,"topics":null}"#).address.is_empty());
    }

    #[test]
    fn blooms_never_hide_a_matching_log() {
        let logs = [log(1, &[1, 2]), log(2, &[3])];
        let bloom: Bloom = logs.iter().collect();
        let wanted = LogFilter::all().address(Address::repeat_byte(2)).topic([B256::repeat_byte(3)]);
        assert!(wanted.blooms().may_match(&bloom));
        let other = LogFilter::all().address(Address::repeat_byte(0x77));
        assert!(!other.blooms().may_match(&bloom));
    }
}
