//! Where an export begins and ends: at a block, or at a time.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use windlass_core::row_query::{Comparison, Condition, Place};
use windlass_core::table::Value;

/// A block's number, or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// A block.
    Block(i64),
    /// A time, in seconds since 1970.
    Time(i64),
}

/// The text is neither.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a block's number, a date such as 2025-11-01, or a time such as 2025-11-01T12:00:00Z is wanted")]
pub(crate) struct BoundError;

impl FromStr for Bound {
    type Err = BoundError;
    fn from_str(text: &str) -> Result<Self, BoundError> {
        if let Ok(block) = text.parse::<i64>() {
            return if block < 0 { Err(BoundError) } else { Ok(Self::Block(block)) };
        }
        let date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
        let time = text.parse::<jiff::Timestamp>().ok().or_else(date).ok_or(BoundError)?;
        // Blocks have whole seconds: the next one is the first that is not before this time.
        let part = i64::from(time.subsec_nanosecond() > 0);
        Ok(Self::Time(time.as_second() + part))
    }
}

impl Bound {
    /// Whether nothing can lie between this, from where on, and another, up to where. Of a
    /// block and a time nobody can tell.
    pub(crate) const fn is_behind(self, to: Self) -> bool {
        match (self, to) {
            (Self::Block(from), Self::Block(to)) => from > to,
            // The time itself is not included.
            (Self::Time(from), Self::Time(to)) => from >= to,
            _ => false,
        }
    }

    /// Only rows from here on.
    pub(super) fn at_least(&self) -> Condition {
        self.condition(Comparison::AtLeast, Comparison::AtLeast)
    }

    /// Only rows up to this block, itself included, or before this time.
    pub(super) fn at_most(&self) -> Condition {
        self.condition(Comparison::AtMost, Comparison::Below)
    }

    fn condition(&self, of_block: Comparison, of_time: Comparison) -> Condition {
        let (place, comparison, value) = match *self {
            Self::Block(block) => (Place::Block, of_block, block),
            Self::Time(second) => (Place::Timestamp, of_time, second),
        };
        Condition { place, comparison, values: vec![Value::Integer(value)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_block_or_a_time() {
        for (text, bound) in [
            ("0", Bound::Block(0)),
            ("78600000", Bound::Block(78_600_000)),
            ("2025-11-01", Bound::Time(1_761_955_200)),
            ("2025-11-01T02:00:00+02:00", Bound::Time(1_761_955_200)),
            ("2025-11-01T00:00:00.5Z", Bound::Time(1_761_955_201)),
        ] {
            assert_eq!(text.parse(), Ok(bound), "{text}");
        }
        for text in ["", "-1", "yesterday", "2025-13-01", "1.5", "9223372036854775808"] {
            assert_eq!(text.parse::<Bound>(), Err(BoundError), "{text}");
        }
    }

    #[test]
    fn an_end_before_the_beginning_is_noticed() {
        use Bound::{Block, Time};
        for (from, to) in [(Block(8), Block(7)), (Time(8), Time(7)), (Time(8), Time(8))] {
            assert!(from.is_behind(to), "{from:?} {to:?}");
        }
        for (from, to) in [(Block(7), Block(7)), (Time(7), Time(8)), (Block(8), Time(7)), (Time(8), Block(7))]
        {
            assert!(!from.is_behind(to), "{from:?} {to:?}");
        }
    }

    #[test]
    fn a_block_ends_with_itself_and_a_time_before_itself() {
        assert_eq!(Bound::Block(7).at_most().comparison, Comparison::AtMost);
        assert_eq!(Bound::Time(7).at_most().comparison, Comparison::Below);
        assert_eq!(Bound::Time(7).at_least().comparison, Comparison::AtLeast);
    }
}
