//! How much, as people write it: `12.5 USDC`, or base units of whatever token.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The most amounts of one setting: one for each token.
const MAX_AMOUNTS: usize = 1_000;

/// One amount, or one for each of several tokens: `"25 USDC"`, `["25 USDC", "10 DAI"]`,
/// or `25000000` base units for every token that is not named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub(crate) struct Amounts(pub(crate) Vec<String>);

impl TryFrom<toml::Value> for Amounts {
    type Error = String;
    fn try_from(value: toml::Value) -> Result<Self, String> {
        let list = match value {
            toml::Value::Array(list) if list.len() <= MAX_AMOUNTS => list,
            toml::Value::Array(list) => {
                return Err(format!("there may be {MAX_AMOUNTS} amounts, not {}", list.len()));
            }
            one => vec![one],
        };
        list.into_iter().map(amount).collect::<Result<_, _>>().map(Self)
    }
}

fn amount(value: toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(units) if units >= 0 => Ok(units.to_string()),
        _ => Err("an amount is written `\"12.5 USDC\"`, or as a whole number of base units".to_owned()),
    }
}

impl From<Amounts> for toml::Value {
    fn from(Amounts(mut amounts): Amounts) -> Self {
        match amounts.len() {
            1 => amounts.remove(0).into(),
            _ => amounts.into(),
        }
    }
}

impl JsonSchema for Amounts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Amounts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "type": "string" },
            { "type": "integer", "minimum": 0 },
            { "type": "array", "items": { "type": ["string", "integer"] } },
        ] })
    }
}
