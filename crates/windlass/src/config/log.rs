//! `[log]`: what is logged, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is logged, and how. Logs go to standard error.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    /// The least level that is logged.
    pub(crate) level: Level,
    /// For people, or for machines.
    pub(crate) format: Format,
}

/// How important a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// Something failed.
    Error,
    /// Something is not as it should be.
    Warn,
    /// What a person wants to know.
    #[default]
    Info,
    /// What a developer wants to know.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// This level made more (positive) or less (negative) talkative, within the scale.
    pub(crate) fn shifted(self, steps: i8) -> Self {
        let last = Self::ALL.len() - 1;
        let place = (self as usize).saturating_add_signed(steps.into()).min(last);
        Self::ALL[place]
    }

    /// The level as written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// For people, or for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// A line a person reads.
    #[default]
    Pretty,
    /// A JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_shift_within_the_scale() {
        assert_eq!(Level::Info.shifted(1), Level::Debug);
        assert_eq!(Level::Info.shifted(-1), Level::Warn);
        assert_eq!(Level::Info.shifted(100), Level::Trace);
        assert_eq!(Level::Info.shifted(-100), Level::Error);
        assert_eq!(Level::Info.shifted(0), Level::Info);
    }
}
