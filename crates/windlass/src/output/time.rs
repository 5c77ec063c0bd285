//! Instants for people.

use windlass_core::time::Timestamp;

/// An instant in UTC, to the second: `2026-01-31T12:00:00Z`.
pub(crate) fn instant(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.as_ms()) {
        Ok(instant) => format!("{instant:.0}"),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_read_as_dates() {
        assert_eq!(instant(Timestamp::from_ms(1_700_000_000_123)), "2023-11-14T22:13:20Z");
        assert_eq!(instant(Timestamp::from_ms(i64::MAX)), "9223372036854775807ms");
    }
}
