//! Contract logs as rows, and deterministic event ids.
//!
//! The natural key of a log is (chain, block number, log index): it is the order
//! in which the chain made it, and the order in which it goes into the store.
//! The block hash is kept beside it, so that a log of another fork under the
//! same key is a contradiction that the store reports.

use std::fmt;

use alloy_primitives::FixedBytesSliceExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::chain::{Address, B256, BlockRef, Bytes, ChainId};

/// The most topics a log can have.
pub const MAX_TOPICS: usize = 4;

/// The topics of a log, without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Topics {
    words: [B256; MAX_TOPICS],
    len: u8,
}

impl Topics {
    /// Takes up to [`MAX_TOPICS`] topics; `None` when there are more.
    pub fn new(topics: &[B256]) -> Option<Self> {
        let mut words = [B256::ZERO; MAX_TOPICS];
        words.get_mut(..topics.len())?.copy_from_slice(topics);
        Some(Self { words, len: u8::try_from(topics.len()).ok()? })
    }

    /// The place of one more topic, to be filled; `None` when there are [`MAX_TOPICS`].
    pub fn next_place(&mut self) -> Option<&mut B256> {
        let place = self.words.get_mut(usize::from(self.len))?;
        self.len += 1;
        Some(place)
    }

    /// Takes the last topic out again.
    pub fn drop_last(&mut self) {
        self.len = self.len.saturating_sub(1);
        self.words[usize::from(self.len)] = B256::ZERO;
    }

    /// The topics, in order.
    pub fn as_slice(&self) -> &[B256] {
        &self.words[..usize::from(self.len)]
    }

    /// The topics as one run of bytes, 32 each: how stores keep them.
    pub fn as_bytes(&self) -> &[u8] {
        self.as_slice().as_flattened()
    }

    /// Reads what [`Self::as_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<32>();
        if !rest.is_empty() || words.len() > MAX_TOPICS {
            return None;
        }
        let mut topics = Self { words: [B256::ZERO; MAX_TOPICS], len: u8::try_from(words.len()).ok()? };
        for (topic, word) in topics.words.iter_mut().zip(words) {
            *topic = B256::from(*word);
        }
        Some(topics)
    }
}

/// One log of one block, as collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// The chain it happened on.
    pub chain: ChainId,
    /// The block it happened in.
    pub block: BlockRef,
    /// Its place among the block's logs.
    pub log_index: u32,
    /// When, in seconds, as the block says.
    pub timestamp_s: u64,
    /// The transaction that caused it.
    pub transaction_hash: B256,
    /// The contract that emitted it.
    pub address: Address,
    /// Its topics.
    pub topics: Topics,
    /// Its data.
    pub data: Bytes,
}

/// A log that joined the canonical chain, or left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventChange {
    /// It happened.
    Added(LogEvent),
    /// It turned out not to have happened.
    Removed(LogEvent),
}

/// Identifies an account event whatever path it came by: 16 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(String);

impl EventId {
    /// The id of the event at logical time `lt` with `hash` on an account. The
    /// address is taken as given: callers put it into one canonical form first.
    pub fn of(chain: &str, address: &str, lt: i64, hash: &str) -> Self {
        let digest = Sha256::digest(format!("{chain}:{address}:{lt}:{hash}"));
        Self(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_are_the_first_sixteen_hex_digits_of_the_digest() {
        // sha256("ton:0:abc:42:ff") computed independently.
        let id = EventId::of("ton", "0:abc", 42, "ff");
        assert_eq!(id.as_str(), "eeca058a674d61a3");
        assert_ne!(id, EventId::of("ton", "0:abc", 43, "ff"));
    }

    #[test]
    fn topics_read_back_and_are_bounded() {
        for count in 0..=MAX_TOPICS {
            let words: Vec<B256> = (0..count).map(|i| B256::with_last_byte(i as u8 + 1)).collect();
            let topics = Topics::new(&words).expect("few enough");
            assert_eq!(topics.as_slice(), words);
            assert_eq!(Topics::from_bytes(topics.as_bytes()), Some(topics));
        }
        assert_eq!(Topics::new(&[B256::ZERO; MAX_TOPICS + 1]), None);
        assert_eq!(Topics::from_bytes(&[0; 31]), None);
        assert_eq!(Topics::from_bytes(&[0; 160]), None);
    }
}
