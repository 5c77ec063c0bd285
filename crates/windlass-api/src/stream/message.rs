//! What the outbox says of a chain: blocks that were collected, blocks that were taken back.

use serde::Deserialize;
use windlass_core::chain::BlockRef;
use windlass_core::outbox::Message;

/// The topics that a stream knows; it passes over others.
const ADDED: &str = "events.added";
const REMOVED: &str = "events.removed";

/// A message's meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// Rows of these blocks are there.
    Added(Added),
    /// Rows from this block on are not there any more.
    Removed(Removed),
    /// Nothing that a stream tells.
    Other,
}

/// Blocks whose rows are there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Added {
    pub(super) from_block: u64,
    /// The last of the blocks.
    pub(super) head: BlockRef,
    /// Whose rows they are; those of all tables of the chain when none is named.
    #[serde(default)]
    pub(super) tables: Vec<String>,
}

/// Blocks whose rows are gone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Removed {
    pub(super) from_block: u64,
    /// The last of the blocks; every later one too when there is none.
    #[serde(default)]
    pub(super) to_block: Option<u64>,
    /// Whose rows they were; those of all tables of the chain when none is named.
    #[serde(default)]
    pub(super) tables: Vec<String>,
    pub(super) generation: u64,
}

impl Removed {
    /// Whether rows of a table are among them.
    pub(super) fn speaks_of(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table)
    }
}

impl News {
    /// Reads a message; one of a known topic that cannot be read is passed over too,
    /// and logged, for a stream must not stop for ever at it.
    pub(super) fn of(message: &Message) -> Self {
        let read = match message.topic.as_str() {
            ADDED => serde_json::from_str(&message.payload).map(Self::Added),
            REMOVED => serde_json::from_str(&message.payload).map(Self::Removed),
            _ => return Self::Other,
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, seq = message.seq, topic = message.topic, "a message cannot be read");
            Self::Other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(topic: &str, payload: &str) -> News {
        News::of(&Message {
            seq: 1,
            idempotency_key: "k".into(),
            topic: topic.into(),
            payload: payload.into(),
            created_at: Default::default(),
        })
    }

    #[test]
    fn what_the_collector_writes_is_understood() {
        let hash = format!("0x{}", "ab".repeat(32));
        let head = format!(r#"{{"number":9,"hash":"{hash}"}}"#);
        let added = format!(r#"{{"chain":137,"generation":2,"from_block":7,"head":{head},"events":3}}"#);
        let News::Added(read) = news(ADDED, &added) else { panic!("{added}") };
        assert_eq!((read.from_block, read.head.number, read.tables.len()), (7, 9, 0));
        let removed = format!(r#"{{"chain":137,"generation":3,"from_block":7,"head":{head},"events":0}}"#);
        let expected = Removed { from_block: 7, to_block: None, tables: Vec::new(), generation: 3 };
        assert_eq!(news(REMOVED, &removed), News::Removed(expected));
        let mended = r#"{"chain":137,"generation":3,"from_block":7,"to_block":7,"tables":["a"],"events":0}"#;
        let expected = Removed { from_block: 7, to_block: Some(7), tables: vec!["a".into()], generation: 3 };
        assert_eq!(news(REMOVED, mended), News::Removed(expected));
    }

    #[test]
    fn what_is_not_understood_is_passed_over() {
        for (topic, payload) in [("payout.confirmed", "{}"), (ADDED, "{}"), (REMOVED, "no JSON")] {
            assert_eq!(news(topic, payload), News::Other, "{topic} {payload}");
        }
    }
}
