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

/// The text is no duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a duration is written like `30s`, `1m 30s` or `250ms`, not `{0}`")]
pub(crate) struct DurationError(String);

impl FromStr for HumanDuration {
    type Err = DurationError;
    fn from_str(text: &str) -> Result<Self, DurationError> {
        text.parse::<jiff::SignedDuration>()
            .ok()
            .and_then(|duration| Duration::try_from(duration).ok())
            .map(Self)
            .ok_or_else(|| DurationError(text.to_owned()))
    }
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
        for text in ["", "30", "-5s", "soon"] {
            assert!(text.parse::<HumanDuration>().is_err(), "{text}");
        }
    }
}
