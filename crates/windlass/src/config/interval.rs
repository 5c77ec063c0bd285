//! Durations within bounds: lease times and pauses, of which none may be nothing.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::duration::HumanDuration;

/// A duration from `MIN_MS` to `MAX_MS` milliseconds, written like `30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "HumanDuration", into = "HumanDuration")]
pub(crate) struct Interval<const MIN_MS: u64, const MAX_MS: u64>(Duration);

/// The duration is outside its bounds.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a duration from `{min}` to `{max}` is wanted, not `{found}`")]
pub(crate) struct IntervalError {
    min: HumanDuration,
    max: HumanDuration,
    found: HumanDuration,
}

impl<const MIN_MS: u64, const MAX_MS: u64> Interval<MIN_MS, MAX_MS> {
    /// A default: one that does not fit does not compile.
    pub(crate) const fn of_ms(ms: u64) -> Self {
        assert!(MIN_MS <= ms && ms <= MAX_MS, "the duration is outside its bounds");
        Self(Duration::from_millis(ms))
    }

    /// The duration.
    pub(crate) const fn get(self) -> Duration {
        self.0
    }
}

impl<const MIN_MS: u64, const MAX_MS: u64> TryFrom<HumanDuration> for Interval<MIN_MS, MAX_MS> {
    type Error = IntervalError;
    fn try_from(found: HumanDuration) -> Result<Self, IntervalError> {
        let (min, max) = (Duration::from_millis(MIN_MS), Duration::from_millis(MAX_MS));
        if (min..=max).contains(&found.0) {
            return Ok(Self(found.0));
        }
        Err(IntervalError { min: HumanDuration(min), max: HumanDuration(max), found })
    }
}

impl<const MIN_MS: u64, const MAX_MS: u64> From<Interval<MIN_MS, MAX_MS>> for HumanDuration {
    fn from(interval: Interval<MIN_MS, MAX_MS>) -> Self {
        Self(interval.0)
    }
}

impl<const MIN_MS: u64, const MAX_MS: u64> JsonSchema for Interval<MIN_MS, MAX_MS> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        HumanDuration::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        HumanDuration::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Short = Interval<10, 3_600_000>;

    #[test]
    fn nothing_and_too_much_are_refused() {
        for (text, fits) in [("10ms", true), ("1h", true), ("0s", false), ("9ms", false), ("61m", false)] {
            let duration: HumanDuration = text.parse().expect("a duration");
            assert_eq!(Short::try_from(duration).is_ok(), fits, "{text}");
        }
        let told = Short::try_from(HumanDuration(Duration::ZERO)).expect_err("nothing").to_string();
        assert_eq!(told, "a duration from `10ms` to `1h` is wanted, not `0s`");
    }
}
