//! `[pay.token.<symbol>]`: what is paid.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use windlass_core::money::MAX_DECIMALS;

use crate::config::address::WrittenAddress;
use crate::config::number::Number;

/// The longest symbol.
const MAX_SYMBOL_BYTES: usize = 16;

/// A token that is paid.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    /// Its contract.
    pub(crate) address: WrittenAddress,
    /// How many decimals a whole one has.
    pub(crate) decimals: Number<0, { MAX_DECIMALS as u64 }>,
}

/// What people call a token. Case does not tell two of them apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Symbol(String);

impl Symbol {
    /// Whether a text means this token.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }
}

impl TryFrom<String> for Symbol {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
        if text.len() <= MAX_SYMBOL_BYTES && begins && text.chars().all(fits) {
            return Ok(Self(text));
        }
        Err(format!(
            "a symbol is 1 to {MAX_SYMBOL_BYTES} letters, digits, `_` and `.`, a letter first, not `{text}`"
        ))
    }
}

impl From<Symbol> for String {
    fn from(symbol: Symbol) -> Self {
        symbol.0
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Symbol {
    fn schema_name() -> Cow<'static, str> {
        "Symbol".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
