//! How far a stream has been read, as the id of its events.
//!
//! For each chain it names the outbox message and the row of it that was sent last:
//! `137:42:78600012.3.fees_fees_collected`, or `137:42:end` once all of the message
//! was. A stream of several chains has their positions behind each other, with
//! commas. A row is named by its key and not by its number, so that rows which
//! were taken back meanwhile shift nothing.

use std::fmt;
use std::str::FromStr;

use windlass_core::chain::ChainId;
use windlass_core::table::{Identifier, RowKey};

use crate::limits::MAX_STREAM_CHAINS;

/// How far a chain has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) chain: ChainId,
    /// The message's number in its partition; 0 is before the first.
    pub(super) seq: i64,
    /// The row that was sent last; `None` when the whole message was.
    pub(super) row: Option<RowPlace>,
}

/// A row among those of all tables: by key, then by table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowPlace {
    pub(super) key: RowKey,
    pub(super) table: Identifier,
}

impl Position {
    /// All of a message was read.
    pub(super) const fn end_of(chain: ChainId, seq: i64) -> Self {
        Self { chain, seq, row: None }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.chain, self.seq)?;
        match &self.row {
            None => f.write_str("end"),
            Some(row) => write!(f, "{}.{}.{}", row.key.block, row.key.log_index, row.table),
        }
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(':');
        let (Some(chain), Some(seq), Some(row), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        let seq: i64 = seq.parse().map_err(|_| ())?;
        let row = if row == "end" { None } else { Some(row.parse()?) };
        // A row can only be one of a message that is there.
        if seq < i64::from(row.is_some()) {
            return Err(());
        }
        Ok(Self { chain: chain.parse().map_err(|_| ())?, seq, row })
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

/// Reads such an id.
pub(super) fn read_all(text: &str) -> Option<Vec<Position>> {
    // One more is enough to see that there are too many.
    let parts = text.split(',').take(MAX_STREAM_CHAINS + 1);
    let positions: Result<Vec<Position>, ()> = parts.map(str::parse).collect();
    positions.ok().filter(|positions| positions.len() <= MAX_STREAM_CHAINS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_read_back() {
        for text in ["137:42:end", "1:0:end", "137:42:78600012.3.fees_fees_collected", "1:7:end,137:1:0.0.t"]
        {
            let read = read_all(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(write_all(read.iter()), text);
        }
    }

    #[test]
    fn other_text_is_no_position() {
        let many = vec!["1:1:end"; MAX_STREAM_CHAINS + 1].join(",");
        let texts = [
            "",
            "137",
            "137:42",
            "137:42:",
            "137:x:end",
            "0:1:end",
            "137:-1:end",
            "137:0:1.0.t",
            "137:1:1.0",
            "137:1:1.0.T",
            "137:1:-1.0.t",
            "137:1:end:x",
            "137:1:end,",
            &many,
        ];
        for text in texts {
            assert_eq!(read_all(text), None, "{text:?}");
        }
    }
}
