//! Days of the budget: of 86,400 seconds, in UTC, as the vault counts them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

const DAY_MS: i64 = 86_400_000;

/// A day, counted from the first of January 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UtcDay(pub i64);

impl UtcDay {
    /// The day of an instant.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.as_ms().div_euclid(DAY_MS))
    }

    /// When it begins.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_ms(self.0.saturating_mul(DAY_MS))
    }

    /// The day after.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for UtcDay {
    /// As a date: the civil calendar, by the days since its 400-year cycle began.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.0.saturating_add(719_468);
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_utc() {
        let midnight = UtcDay(20_000).start();
        assert_eq!(UtcDay::of(midnight), UtcDay(20_000));
        assert_eq!(UtcDay::of(Timestamp::from_ms(midnight.as_ms() - 1)), UtcDay(19_999));
        assert_eq!(UtcDay(19_999).next(), UtcDay(20_000));
    }

    #[test]
    fn days_are_shown_as_dates() {
        let dates = [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_773, "2026-11-16")];
        for (day, date) in dates {
            assert_eq!(UtcDay(day).to_string(), date);
        }
        assert_eq!(UtcDay(-1).to_string(), "1969-12-31");
    }
}
