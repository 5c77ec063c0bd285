//! Times in parameters: RFC 3339, a date, or seconds since 1970.
//!
//! A date before 1970 is a bound like any other. A number below zero is a slip, and so
//! is one beyond the year 9999: those are milliseconds.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use windlass_core::row_query::Comparison;

use super::value::shown;

/// The last second of the year 9999.
const MAX_SECOND: i64 = 253_402_300_799;

/// An instant, between whole seconds or on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instant {
    second: i64,
    is_past_it: bool,
}

impl Instant {
    /// Reads `2025-11-01T12:00:00Z`, `2025-11-01` or `1761998400`. Without an offset it is UTC.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if let Ok(second) = text.parse::<i64>() {
            return match second {
                0..=MAX_SECOND => Ok(Self { second, is_past_it: false }),
                ..0 => Err(no_time(text, HOW)),
                _ => Err(no_time(text, ": seconds are wanted, these may be milliseconds")),
            };
        }
        let date = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
        let Some(time) = text.parse::<jiff::Timestamp>().ok().or_else(date) else {
            let is_plus_lost = text.contains('T') && text.contains(' ');
            return Err(no_time(text, if is_plus_lost { ": in a URL `+` is written `%2B`" } else { HOW }));
        };
        // Before 1970 the parts of a second are negative.
        let second = time.as_second() - i64::from(time.subsec_nanosecond() < 0);
        Ok(Self { second, is_past_it: time.subsec_nanosecond() != 0 })
    }

    /// The whole second that stands for it in a comparison with whole seconds; `None`
    /// where a part of a second cannot be equal to one.
    pub(super) fn second(self, comparison: Comparison) -> Option<i64> {
        match comparison {
            Comparison::AtLeast | Comparison::Below => {
                Some(self.second.saturating_add(i64::from(self.is_past_it)))
            }
            Comparison::Above | Comparison::AtMost => Some(self.second),
            Comparison::Is | Comparison::IsNot => (!self.is_past_it).then_some(self.second),
        }
    }
}

/// How a time is written.
const HOW: &str = ": write 2025-11-01T12:00:00Z, 2025-11-01 or 1761998400";

fn no_time(text: &str, why: &str) -> String {
    format!("`{}` is not a time{why}", shown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_three_ways() {
        let second = |text: &str| Instant::read(text).map(|time| time.second);
        assert_eq!(second("1761955200"), Ok(1_761_955_200));
        assert_eq!(second("2025-11-01"), Ok(1_761_955_200));
        assert_eq!(second("2025-11-01T02:00:00+02:00"), Ok(1_761_955_200));
        assert_eq!(second("2025-11-01T12:00:00"), Ok(1_761_998_400));
        for text in
            ["", "yesterday", "2025-13-01", "12:00", "1.5", "-1", "253402300800", "2025-11-01T12:00:00 02:00"]
        {
            assert!(Instant::read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_part_of_a_second_falls_on_the_right_side() {
        for (text, below, above) in [("1970-01-01T00:00:10.5Z", 10, 11), ("1969-12-31T23:59:49.5Z", -11, -10)]
        {
            let time = Instant::read(text).unwrap();
            assert_eq!(time.second(Comparison::AtLeast), Some(above), "{text}");
            assert_eq!(time.second(Comparison::Below), Some(above), "{text}");
            assert_eq!(time.second(Comparison::Above), Some(below), "{text}");
            assert_eq!(time.second(Comparison::AtMost), Some(below), "{text}");
            assert_eq!(time.second(Comparison::Is), None, "{text}");
        }
        assert_eq!(Instant::read("10").unwrap().second(Comparison::Is), Some(10));
    }
}
