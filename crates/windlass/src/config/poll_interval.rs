//! How often a chain is asked for its newest block: learned, or fixed.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::duration::HumanDuration;
use super::interval::Interval;

/// The word for a pace that is learned.
const AUTO: &str = "auto";

/// The time from one look at the head to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum RealtimeInterval {
    /// Half the time between two blocks, as it is seen.
    #[default]
    Auto,
    /// Always this.
    Every(Interval<10, 86_400_000>),
}

impl RealtimeInterval {
    /// The fixed time, if it is one.
    pub(crate) const fn fixed(self) -> Option<Duration> {
        match self {
            Self::Auto => None,
            Self::Every(interval) => Some(interval.get()),
        }
    }
}

impl TryFrom<String> for RealtimeInterval {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text == AUTO {
            return Ok(Self::Auto);
        }
        let duration: HumanDuration = text.parse().map_err(|error| format!("{error}; or `{AUTO}`"))?;
        Interval::try_from(duration).map(Self::Every).map_err(|error| format!("{error}; or `{AUTO}`"))
    }
}

impl From<RealtimeInterval> for String {
    fn from(interval: RealtimeInterval) -> Self {
        match interval {
            RealtimeInterval::Auto => AUTO.to_owned(),
            RealtimeInterval::Every(interval) => HumanDuration::from(interval).to_string(),
        }
    }
}

impl JsonSchema for RealtimeInterval {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RealtimeInterval".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let duration = HumanDuration::json_schema(generator);
        json_schema!({ "anyOf": [{ "const": AUTO }, duration] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_learned_or_fixed() {
        let read = |text: &str| RealtimeInterval::try_from(text.to_owned());
        assert_eq!(read("auto"), Ok(RealtimeInterval::Auto));
        assert_eq!(read("2s").map(RealtimeInterval::fixed), Ok(Some(Duration::from_secs(2))));
        assert_eq!(read("2s").map(String::from), Ok("2s".to_owned()));
        for text in ["", "often", "0s", "25h"] {
            assert!(read(text).is_err_and(|error| error.ends_with("or `auto`")), "{text}");
        }
    }
}
