//! Whose events an index collects: contracts by address, or those that a factory
//! announces with an event.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use windlass_core::chain::Address;
use windlass_core::index::MAX_CONTRACTS;

use crate::config::address::parse_address;
use crate::config::words;

/// Whose events are collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub(crate) enum Contracts {
    /// These.
    These(Vec<Address>),
    /// Those that a factory announces.
    Created(Factory),
}

/// A contract that announces others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Factory {
    /// The factory.
    pub(crate) created_by: FactoryAddress,
    /// The event that announces a contract, as the factory declares it.
    pub(crate) event: String,
    /// The field of that event that holds the contract's address.
    pub(crate) field: String,
}

/// A factory's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct FactoryAddress(pub(crate) Address);

impl TryFrom<String> for FactoryAddress {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        parse_address(&text).map(Self).map_err(|error| format!("created_by: {error}"))
    }
}

impl From<FactoryAddress> for String {
    fn from(address: FactoryAddress) -> Self {
        address.0.to_string()
    }
}

impl TryFrom<toml::Value> for Contracts {
    type Error = String;
    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => Ok(Self::These(vec![parse_address(&text)?])),
            toml::Value::Array(list) => these(&list).map(Self::These),
            toml::Value::Table(table) => {
                let read = Factory::deserialize(table);
                read.map(Self::Created).map_err(|error| words::plain(error.message()))
            }
            _ => Err("an address in quotes, or a list of them, is wanted".to_owned()),
        }
    }
}

fn these(list: &[toml::Value]) -> Result<Vec<Address>, String> {
    if !(1..=MAX_CONTRACTS).contains(&list.len()) {
        return Err(format!("an index has 1 to {MAX_CONTRACTS} contracts, not {}", list.len()));
    }
    let read = |(place, value): (usize, &toml::Value)| {
        let text = value.as_str().ok_or_else(|| format!("entry {place} is no address in quotes"))?;
        parse_address(text).map_err(|error| format!("entry {place}: {error}"))
    };
    list.iter().enumerate().map(read).collect()
}

impl From<Contracts> for toml::Value {
    fn from(contracts: Contracts) -> Self {
        match contracts {
            Contracts::These(addresses) => match addresses.as_slice() {
                [one] => one.to_string().into(),
                many => many.iter().map(ToString::to_string).collect::<Vec<_>>().into(),
            },
            Contracts::Created(factory) => toml::Table::from_iter([
                ("created_by".to_owned(), String::from(factory.created_by).into()),
                ("event".to_owned(), factory.event.into()),
                ("field".to_owned(), factory.field.into()),
            ])
            .into(),
        }
    }
}

impl JsonSchema for Contracts {
    fn schema_name() -> Cow<'static, str> {
        "Contracts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let address = serde_json::json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{40}$" });
        json_schema!({ "oneOf": [
            address,
            { "type": "array", "items": address, "minItems": 1, "maxItems": MAX_CONTRACTS },
            {
                "type": "object",
                "properties": {
                    "created_by": { "description": "The address of the contract that announces others.", "type": "string" },
                    "event": { "description": "The event that announces one, as that contract declares it.", "type": "string" },
                    "field": { "description": "The event's field that holds its address.", "type": "string" },
                },
                "required": ["created_by", "event", "field"],
                "additionalProperties": false,
            },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEES: &str = "0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9";

    fn read(text: &str) -> Result<Contracts, String> {
        let table: toml::Table = format!("contract = {text}").parse().expect("toml");
        Contracts::try_from(table["contract"].clone())
    }

    #[test]
    fn a_contract_is_one_or_several_or_what_a_factory_makes() {
        let lower = FEES.to_lowercase();
        assert_eq!(read(&format!("'{FEES}'")), read(&format!("['{lower}']")));
        let two = read(&format!("['{FEES}', '0x{}']", "1".repeat(40))).expect("two");
        assert!(matches!(&two, Contracts::These(addresses) if addresses.len() == 2));
        let factory = format!("{{ created_by = '{FEES}', event = 'E(address a)', field = 'a' }}");
        let created = read(&factory).expect("a factory");
        for contracts in [two, created] {
            assert_eq!(Contracts::try_from(toml::Value::from(contracts.clone())), Ok(contracts));
        }
    }

    #[test]
    fn what_is_no_contract_is_told_so() {
        let slip = FEES.replace("bD", "BD");
        for (text, told) in [
            ("7".to_owned(), "an address in quotes"),
            ("'0x12'".to_owned(), "`0x` and 40 hexadecimal digits"),
            ("[]".to_owned(), "1 to 10000 contracts, not 0"),
            (format!("['{FEES}', 7]"), "entry 1 is no address"),
            (format!("'{slip}'"), "checksum"),
            ("{ created_by = '0x12', event = '', field = '' }".to_owned(), "created_by: an address"),
        ] {
            let error = read(&text).expect_err(&text);
            assert!(error.contains(told), "{error}");
        }
    }
}
