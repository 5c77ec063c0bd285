//! How far a stream has been read, as the id of its events.
//!
//! For each chain it names the outbox message and the row of it that was sent last:
//! `137:42.9f3ab2c1:78600012.3.fees_fees_collected`; or `137:42.9f3ab2c1:end` once all of
//! the message was, and `:start` where nothing of it was and what came before is gone.
//! `137:0:end` is before the first message. A stream of several chains has their
//! positions behind each other, with commas. A row is named by its key and not by its
//! number, so that rows which were taken back meanwhile shift nothing.
//!
//! Every database counts its messages from 1, so a number alone does not say whose it
//! is: the mark behind it is taken from what the message says and when it was written.
//! It tells the id of another database, or of this one before a backup was restored.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
use windlass_core::chain::ChainId;
use windlass_core::outbox::Message;
use windlass_core::table::{Identifier, RowKey};

use crate::limits::MAX_STREAM_CHAINS;

/// How far a chain has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) chain: ChainId,
    /// The message's number in its partition; 0 is before the first.
    pub(super) seq: i64,
    /// What tells the message from others of that number.
    pub(super) mark: Mark,
    /// How far into the message.
    pub(super) at: At,
}

/// How far a message has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// Nothing of it was sent.
    Start,
    /// The row that was sent last.
    Row(RowPlace),
    /// All of it was sent.
    End,
}

/// What tells messages of one number apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u32);

/// A row among those of all tables: by key, then by table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowPlace {
    pub(super) key: RowKey,
    pub(super) table: Identifier,
}

impl Mark {
    pub(super) fn of(message: &Message) -> Self {
        let Message { seq, idempotency_key, topic, payload, created_at } = message;
        let told = serde_json::json!([seq, idempotency_key, topic, payload, created_at.as_ms()]);
        let digest = Sha256::digest(told.to_string());
        Self(digest.iter().take(4).fold(0, |mark, byte| mark << 8 | u32::from(*byte)))
    }
}

impl Position {
    /// Before the first message.
    pub(super) const fn before_all(chain: ChainId) -> Self {
        Self { chain, seq: 0, mark: Mark(0), at: At::End }
    }

    /// So far into a message.
    pub(super) fn of(chain: ChainId, message: &Message, at: At) -> Self {
        Self { chain, seq: message.seq, mark: Mark::of(message), at }
    }

    /// The number of the message that comes next, or goes on.
    pub(super) const fn next_seq(&self) -> i64 {
        match self.at {
            At::End => self.seq + 1,
            At::Start | At::Row(_) => self.seq,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.chain, self.seq)?;
        if self.seq > 0 {
            write!(f, ".{:08x}", self.mark.0)?;
        }
        match &self.at {
            At::Start => f.write_str(":start"),
            At::End => f.write_str(":end"),
            At::Row(row) => write!(f, ":{}.{}.{}", row.key.block, row.key.log_index, row.table),
        }
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(':');
        let (Some(chain), Some(message), Some(at), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        let chain = chain.parse().map_err(|_| ())?;
        if (message, at) == ("0", "end") {
            return Ok(Self::before_all(chain));
        }
        let (seq, mark) = message.split_once('.').ok_or(())?;
        let seq = seq.parse().ok().filter(|seq| (1..i64::MAX).contains(seq)).ok_or(())?;
        let is_mark = mark.len() == 8 && mark.chars().all(|c| c.is_ascii_hexdigit());
        let mark = u32::from_str_radix(mark, 16).ok().filter(|_| is_mark).ok_or(())?;
        let at = match at {
            "start" => At::Start,
            "end" => At::End,
            row => At::Row(row.parse()?),
        };
        Ok(Self { chain, seq, mark: Mark(mark), at })
    }
}

impl FromStr for RowPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(());
        let block = part()?.parse::<u64>().map_err(|_| ())?;
        let log_index = part()?.parse().map_err(|_| ())?;
        let table = Identifier::new(part()?).map_err(|_| ())?;
        i64::try_from(block).map_err(|_| ())?;
        Ok(Self { key: RowKey { block, log_index }, table })
    }
}

/// The positions of all chains as one id.
pub(super) fn write_all<'a>(positions: impl Iterator<Item = &'a Position>) -> String {
    positions.map(Position::to_string).collect::<Vec<_>>().join(",")
}

/// Reads such an id: a position for each chain, once.
pub(super) fn read_all(text: &str) -> Option<Vec<Position>> {
    // One more is enough to see that there are too many.
    let parts = text.split(',').take(MAX_STREAM_CHAINS + 1);
    let positions = parts.map(str::parse).collect::<Result<Vec<Position>, ()>>().ok()?;
    let is_again = |(place, position): (usize, &Position)| {
        positions[..place].iter().any(|before| before.chain == position.chain)
    };
    let fits = positions.len() <= MAX_STREAM_CHAINS && !positions.iter().enumerate().any(is_again);
    fits.then_some(positions)
}

#[cfg(test)]
mod tests {
    use windlass_core::time::Timestamp;

    use super::*;

    #[test]
    fn positions_read_back() {
        for text in [
            "137:42.9f3ab2c1:end",
            "137:42.00000001:start",
            "1:0:end",
            "137:42.9f3ab2c1:78600012.3.fees_fees_collected",
            "1:7.9f3ab2c1:end,137:1.ffffffff:0.0.t,138:0:end",
        ] {
            let read = read_all(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(write_all(read.iter()), text);
        }
    }

    #[test]
    fn other_text_is_no_position() {
        let many: Vec<String> = (1..=MAX_STREAM_CHAINS + 1).map(|chain| format!("{chain}:0:end")).collect();
        let texts = [
            "",
            "137",
            "137:42",
            "137:42:",
            "137:42:end",
            "137:42.:end",
            "137:42.9f3ab2c:end",
            "137:42.9f3ab2c12:end",
            "137:42.+f3ab2c1:end",
            "137:x.9f3ab2c1:end",
            "0:1.9f3ab2c1:end",
            "137:-1.9f3ab2c1:end",
            "137:9223372036854775807.9f3ab2c1:end",
            "137:0:start",
            "137:0.9f3ab2c1:end",
            "137:0:1.0.t",
            "137:1.9f3ab2c1:1.0",
            "137:1.9f3ab2c1:1.0.T",
            "137:1.9f3ab2c1:-1.0.t",
            "137:1.9f3ab2c1:end:x",
            "137:1.9f3ab2c1:end,",
            "137:1.9f3ab2c1:end,137:0:end",
            &many.join(","),
        ];
        for text in texts {
            assert_eq!(read_all(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_message_is_marked_by_all_that_it_is() {
        let message = Message {
            seq: 1,
            idempotency_key: "k".into(),
            topic: "t".into(),
            payload: "p".into(),
            created_at: Timestamp::from_ms(1),
        };
        let others = [
            Message { seq: 2, ..message.clone() },
            Message { idempotency_key: "l".into(), ..message.clone() },
            Message { topic: "u".into(), ..message.clone() },
            Message { payload: "q".into(), ..message.clone() },
            Message { created_at: Timestamp::from_ms(2), ..message.clone() },
        ];
        assert_eq!(Mark::of(&message), Mark::of(&message.clone()));
        for other in others {
            assert_ne!(Mark::of(&message), Mark::of(&other), "{other:?}");
        }
    }
}
