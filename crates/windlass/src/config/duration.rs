//! Durations as people write them: `30s`, `1m 30s`, `250ms`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A duration that reads `30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct HumanDuration(pub(crate) Duration);

/// The longest duration anybody may ask for: ten years.
const MAX_DURATION: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The text is no duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DurationError {
    /// It is written in another way.
    #[error("a duration is written like `30s`, `1m 30s` or `250ms`, not `{0}`")]
    Form(String),
    /// It is negative, or too long.
    #[error("a duration is between nothing and ten years (`87600h`), which `{0}` is not")]
    Range(String),
}

impl FromStr for HumanDuration {
    type Err = DurationError;
    fn from_str(text: &str) -> Result<Self, DurationError> {
        let out_of_range = || DurationError::Range(text.to_owned());
        match text.parse::<jiff::SignedDuration>() {
            Ok(duration) => match Duration::try_from(duration) {
                Ok(duration) if duration <= MAX_DURATION => Ok(Self(duration)),
                _ => Err(out_of_range()),
            },
            // With small numbers in it the text reads well: the numbers are too large.
            Err(_) if with_small_numbers(text).parse::<jiff::SignedDuration>().is_ok() => Err(out_of_range()),
            Err(_) => Err(DurationError::Form(text.to_owned())),
        }
    }
}

fn with_small_numbers(text: &str) -> String {
    let mut small = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if small.ends_with('1') => {}
            '0'..='9' => small.push('1'),
            other => small.push(other),
        }
    }
    small
}

impl TryFrom<String> for HumanDuration {
    type Error = DurationError;
    fn try_from(text: String) -> Result<Self, DurationError> {
        text.parse()
    }
}

impl From<HumanDuration> for String {
    fn from(duration: HumanDuration) -> Self {
        duration.to_string()
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::SignedDuration::try_from(self.0) {
            Ok(duration) => write!(f, "{duration:#}"),
            Err(_) => write!(f, "{}s", self.0.as_secs()),
        }
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["30s", "1m 30s", "250ms"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, ms) in [("30s", 30_000), ("1m 30s", 90_000), ("250ms", 250), ("2h", 7_200_000)] {
            let duration: HumanDuration = text.parse().expect(text);
            assert_eq!(duration.0, Duration::from_millis(ms), "{text}");
            assert_eq!(duration.to_string().parse(), Ok(duration), "{text}");
        }
        for text in ["", "30", "soon", "99999999999999999999"] {
            assert_eq!(text.parse::<HumanDuration>(), Err(DurationError::Form(text.to_owned())));
        }
        for text in ["-5s", "87601h", "99999999999999999999s", "1m 99999999999999999999s"] {
            assert_eq!(text.parse::<HumanDuration>(), Err(DurationError::Range(text.to_owned())));
        }
    }
}
