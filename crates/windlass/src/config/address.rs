//! Addresses as people write them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use windlass_core::chain::Address;

/// An address that was written with care: letters of both cases fit its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct WrittenAddress(pub(crate) Address);

impl FromStr for WrittenAddress {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse_address(text).map(Self)
    }
}

impl TryFrom<String> for WrittenAddress {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<WrittenAddress> for String {
    fn from(address: WrittenAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for WrittenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for WrittenAddress {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{40}$" })
    }
}

/// Reads an address. One with letters of both cases has to fit its checksum: that
/// is how a slip of the pen is found.
pub(crate) fn parse_address(text: &str) -> Result<Address, String> {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    let is_hex = digits.len() == 40 && digits.chars().all(|c| c.is_ascii_hexdigit());
    if !is_hex {
        let shown: String = text.chars().take(60).collect();
        return Err(format!("an address is `0x` and 40 hexadecimal digits, not `{shown}`"));
    }
    let is_mixed = digits.contains(|c: char| c.is_ascii_lowercase())
        && digits.contains(|c: char| c.is_ascii_uppercase());
    if is_mixed {
        let refusal =
            format!("the checksum of `{text}` is wrong: look for a slip, or write it in lower case");
        return Address::parse_checksummed(text, None).map_err(|_| refusal);
    }
    digits.parse().map_err(|error| format!("`{text}` is no address: {error}"))
}
