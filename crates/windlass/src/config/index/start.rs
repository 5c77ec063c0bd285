//! From which block on an index is collected.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The word for "where the contract came to be".
const DEPLOYMENT: &str = "deployment";

/// The first block of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub(crate) enum Start {
    /// This block.
    Block(u64),
    /// The block in which the contract was deployed, to be searched for.
    Deployment,
}

/// The value is no start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("start is a block's number, 0 or more, or \"deployment\"")]
pub(crate) struct StartError;

impl FromStr for Start {
    type Err = StartError;
    fn from_str(text: &str) -> Result<Self, StartError> {
        match text {
            DEPLOYMENT => Ok(Self::Deployment),
            // Stores keep numbers with a sign.
            number => match number.parse::<i64>() {
                Ok(block) => u64::try_from(block).map(Self::Block).map_err(|_| StartError),
                Err(_) => Err(StartError),
            },
        }
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(block) => block.fmt(f),
            Self::Deployment => f.write_str(DEPLOYMENT),
        }
    }
}

impl TryFrom<toml::Value> for Start {
    type Error = StartError;
    fn try_from(value: toml::Value) -> Result<Self, StartError> {
        match value {
            toml::Value::String(text) if text == DEPLOYMENT => Ok(Self::Deployment),
            toml::Value::Integer(block) => u64::try_from(block).map(Self::Block).map_err(|_| StartError),
            _ => Err(StartError),
        }
    }
}

impl From<Start> for toml::Value {
    fn from(start: Start) -> Self {
        match start {
            Start::Block(block) => i64::try_from(block).unwrap_or(i64::MAX).into(),
            Start::Deployment => DEPLOYMENT.into(),
        }
    }
}

impl JsonSchema for Start {
    fn schema_name() -> Cow<'static, str> {
        "Start".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "integer", "minimum": 0 },
            { "enum": [DEPLOYMENT] },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_block_or_the_deployment() {
        for (text, start) in [("0", Start::Block(0)), ("\"deployment\"", Start::Deployment)] {
            let value: toml::Value = text.parse().expect("a value");
            assert_eq!(Start::try_from(value.clone()), Ok(start));
            assert_eq!(toml::Value::from(start), value);
            assert_eq!(text.trim_matches('"').parse(), Ok(start));
        }
        for text in ["-1", "1.5", "\"5\"", "\"deploy\"", "[1]", "true"] {
            let value: toml::Value = text.parse().expect("a value");
            assert_eq!(Start::try_from(value), Err(StartError), "{text}");
        }
        for text in ["-1", "1.5", "deploy", "", "9223372036854775808"] {
            assert_eq!(text.parse::<Start>(), Err(StartError), "{text}");
        }
    }
}
