//! Where a page ended, as opaque text.
//!
//! A cursor is the natural key of the page's last row, so that the next page costs
//! what this one did however far it is. It carries the order, and a fingerprint of
//! the table and the filters: with another question it is refused, instead of
//! answering with rows that were never asked for.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder};
use windlass_core::table::{RowKey, TableSpec, Value};

use crate::error::{ApiError, ErrorCode};

/// What its first byte says: another form gets another number.
const VERSION: u8 = 1;
const FINGERPRINT_BYTES: usize = 8;
const CURSOR_BYTES: usize = 2 + 8 + 4 + FINGERPRINT_BYTES;

/// What a cursor belongs to: a table and conditions on its rows, whatever their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    pub(crate) fn of(table: &TableSpec, conditions: &[Condition]) -> Self {
        let told = |condition: &Condition| {
            let values: Vec<String> = condition.values.iter().map(|value| format!("{value:?}")).collect();
            let name = condition.place.column_name();
            format!("{name} {:?} {}", condition.comparison, values.join(","))
        };
        let mut lines: Vec<String> = conditions.iter().map(told).collect();
        lines.sort_unstable();
        let whole = format!("{}\n{}\n{}\n{}", table.chain, table.name, table.signature, lines.join("\n"));
        let digest = Sha256::digest(whole);
        let mut bytes = [0; FINGERPRINT_BYTES];
        bytes.iter_mut().zip(digest).for_each(|(byte, from)| *byte = from);
        Self(bytes)
    }
}

/// Where a page ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageCursor {
    pub(crate) order: RowOrder,
    pub(crate) key: RowKey,
}

impl PageCursor {
    /// The cursor as text.
    pub(crate) fn write(self, fingerprint: Fingerprint) -> String {
        let mut bytes = Vec::with_capacity(CURSOR_BYTES);
        bytes.push(VERSION);
        bytes.push(u8::from(self.order == RowOrder::NewestFirst));
        bytes.extend(self.key.block.to_be_bytes());
        bytes.extend(self.key.log_index.to_be_bytes());
        bytes.extend(fingerprint.0);
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads what [`Self::write`] wrote for the same question.
    pub(crate) fn read(text: &str, fingerprint: Fingerprint) -> Result<Self, ApiError> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let bytes: [u8; CURSOR_BYTES] =
            bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(no_cursor)?;
        let order = match bytes[..2] {
            [VERSION, 0] => RowOrder::OldestFirst,
            [VERSION, 1] => RowOrder::NewestFirst,
            _ => return Err(no_cursor()),
        };
        let (block, log_index) = (number(&bytes[2..10]), number(&bytes[10..14]));
        let log_index = u32::try_from(log_index).map_err(|_| no_cursor())?;
        if bytes[14..] != fingerprint.0 {
            let told = "the cursor belongs to another table or to other filters";
            return Err(ApiError::new(ErrorCode::InvalidCursor, told)
                .hint("keep the parameters as they were, `limit` apart, or begin without a cursor"));
        }
        if i64::try_from(block).is_err() {
            return Err(no_cursor());
        }
        Ok(Self { order, key: RowKey { block, log_index } })
    }

    /// Whether every row behind the cursor meets a condition on its block anyway. Such
    /// a condition is left out: a database that picks it to begin with would walk
    /// over all pages before this one.
    pub(crate) fn implies(self, condition: &Condition) -> bool {
        let (Place::Block, [Value::Integer(bound)]) = (&condition.place, condition.values.as_slice()) else {
            return false;
        };
        let block = i64::try_from(self.key.block).unwrap_or(i64::MAX);
        match (self.order, condition.comparison) {
            (RowOrder::NewestFirst, Comparison::Below) => block < *bound,
            (RowOrder::NewestFirst, Comparison::AtMost) => block <= *bound,
            (RowOrder::OldestFirst, Comparison::Above) => block > *bound,
            (RowOrder::OldestFirst, Comparison::AtLeast) => block >= *bound,
            _ => false,
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn no_cursor() -> ApiError {
    ApiError::new(ErrorCode::InvalidCursor, "this is not a cursor")
        .hint("take it from the page before, as it is")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::chain::ChainId;
    use windlass_core::table::Identifier;

    use super::*;

    fn table(name: &str) -> TableSpec {
        TableSpec {
            name: Identifier::new(name).unwrap(),
            chain: ChainId::new(1).unwrap(),
            index: Identifier::new("i").unwrap(),
            event: "E".into(),
            signature: "E()".into(),
            columns: Vec::new(),
        }
    }

    fn from_block(block: i64) -> Condition {
        Condition {
            place: Place::Block,
            comparison: Comparison::AtLeast,
            values: vec![Value::Integer(block)],
        }
    }

    #[test]
    fn a_cursor_of_another_question_is_refused() {
        let (one, two) = (from_block(1), from_block(2));
        let asked = Fingerprint::of(&table("t"), &[one.clone(), two.clone()]);
        assert_eq!(asked, Fingerprint::of(&table("t"), &[two.clone(), one.clone()]));
        let cursor = PageCursor { order: RowOrder::OldestFirst, key: RowKey { block: 7, log_index: 3 } };
        let text = cursor.write(asked);
        assert_eq!(PageCursor::read(&text, asked), Ok(cursor));
        for other in [Fingerprint::of(&table("u"), &[one.clone(), two]), Fingerprint::of(&table("t"), &[one])]
        {
            assert_eq!(PageCursor::read(&text, other).unwrap_err().code, ErrorCode::InvalidCursor);
        }
    }

    #[test]
    fn only_what_every_row_behind_it_meets_is_implied() {
        let cursor = |order| PageCursor { order, key: RowKey { block: 7, log_index: 3 } };
        let on = |comparison, bound| Condition { comparison, ..from_block(bound) };
        let (newest, oldest) = (cursor(RowOrder::NewestFirst), cursor(RowOrder::OldestFirst));
        assert!(newest.implies(&on(Comparison::Below, 8)) && newest.implies(&on(Comparison::AtMost, 7)));
        assert!(!newest.implies(&on(Comparison::Below, 7)) && !newest.implies(&on(Comparison::AtMost, 6)));
        assert!(oldest.implies(&on(Comparison::Above, 6)) && oldest.implies(&on(Comparison::AtLeast, 7)));
        assert!(!oldest.implies(&on(Comparison::Above, 7)) && !oldest.implies(&on(Comparison::AtLeast, 8)));
        for other in [on(Comparison::AtLeast, 0), on(Comparison::Is, 7), on(Comparison::IsNot, 9)] {
            assert!(!newest.implies(&other), "{other:?}");
        }
        assert!(!newest.implies(&Condition { place: Place::LogIndex, ..on(Comparison::Below, 9) }));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            block in 0..=i64::MAX as u64, log_index: u32, newest: bool,
        ) {
            let order = if newest { RowOrder::NewestFirst } else { RowOrder::OldestFirst };
            let cursor = PageCursor { order, key: RowKey { block, log_index } };
            let fingerprint = Fingerprint::of(&table("t"), &[]);
            prop_assert_eq!(PageCursor::read(&cursor.write(fingerprint), fingerprint), Ok(cursor));
        }

        #[test]
        fn other_text_is_refused(text in ".{0,60}") {
            let fingerprint = Fingerprint::of(&table("t"), &[]);
            prop_assert!(PageCursor::read(&text, fingerprint).is_err());
        }
    }
}
