//! `[pay.token.<symbol>]`: what is paid.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use windlass_core::chain::Address;
use windlass_core::money::{MAX_DECIMALS, NATIVE_COIN};

use crate::config::address::WrittenAddress;
use crate::config::number::Number;

/// The longest symbol.
const MAX_SYMBOL_BYTES: usize = 16;

/// The decimals of a chain's own coin where the configuration does not name them.
const NATIVE_DECIMALS: u64 = 18;

/// A token that is paid: one with a contract, or the chain's own coin.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["address", "decimals"], "properties": { "native": { "const": false } } },
    { "required": ["native"], "properties": { "native": { "const": true } }, "not": { "required": ["address"] } },
]))]
pub(crate) struct Token {
    /// Its contract; the chain's own coin has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "WrittenAddress")]
    pub(crate) address: Option<WrittenAddress>,
    /// Whether it is the chain's own coin; `address` is left out then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) native: bool,
    /// How many decimals a whole one has; 18 for the chain's own coin unless set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Decimals")]
    pub(crate) decimals: Option<Decimals>,
}

/// How many decimals a token has.
pub(crate) type Decimals = Number<0, { MAX_DECIMALS as u64 }>;

/// What is wrong with a token's section, and what to do about it.
pub(crate) type TokenProblem = (&'static str, &'static str);

impl Token {
    /// Its contract, `None` for the chain's own coin, and its decimals.
    pub(crate) fn read(&self) -> Result<(Option<Address>, u8), TokenProblem> {
        let contract = match (self.native, self.address) {
            (true, Some(_)) => {
                return Err((
                    "`address` and `native` exclude each other",
                    "leave out `address` for the chain's own coin, or `native` for a token",
                ));
            }
            (false, None) => {
                return Err((
                    "`address` is missing",
                    "name the token's contract, or write `native = true` for the chain's own coin",
                ));
            }
            (false, Some(WrittenAddress(NATIVE_COIN))) => {
                return Err((
                    "no token is at the zero address",
                    "for the chain's own coin, write `native = true` instead of `address`",
                ));
            }
            (true, None) => None,
            (false, Some(WrittenAddress(contract))) => Some(contract),
        };
        let decimals = match (self.decimals, contract) {
            (Some(decimals), _) => decimals.get(),
            (None, None) => NATIVE_DECIMALS,
            (None, Some(_)) => {
                return Err(("`decimals` is missing", "write how many decimals the token has, such as 6"));
            }
        };
        Ok((contract, u8::try_from(decimals).unwrap_or(u8::MAX)))
    }
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
