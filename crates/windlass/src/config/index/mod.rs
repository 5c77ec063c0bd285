//! `[index.<name>]`: contracts whose events are collected, from where on, and which.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | the section |
//! | [`contract`] | whose events: addresses, or what a factory creates |
//! | [`start`] | from which block on |
//! | `columns` | fields that get a database index |
//! | [`check`] | what no single value can say |

pub(crate) mod check;
mod columns;
pub(crate) mod contract;
pub(crate) mod start;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use windlass_core::table::Identifier;

use super::chain::ChainName;
use contract::Contracts;
use start::Start;

/// The longest name of an index: names of tables and columns begin with it.
const MAX_NAME_BYTES: usize = 32;

/// Contracts whose events are collected, from where on, and which.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Index {
    /// The name of a chain that has a section.
    pub(crate) chain: ChainName,
    /// A contract's address, a list of them, or a table that says which event announces them.
    pub(crate) contract: Contracts,
    /// The first block of interest: a number, or "deployment" to search for it.
    pub(crate) start: Start,
    /// Events as contracts declare them, or names and signatures of events in the ABI.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub(crate) events: Vec<String>,
    /// A file with the contract's ABI; a relative path begins where this file is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) abi: Option<AbiPath>,
    /// Fields that people filter by, each of which gets a database index; by default addresses that are `indexed`, in large tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", length(max = 16))]
    pub(crate) index: Option<Vec<String>>,
}

/// Where an ABI is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub(crate) struct AbiPath(PathBuf);

impl AbiPath {
    /// The path.
    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }

    /// This path, taken from a folder on if it is relative.
    pub(crate) fn anchored(self, folder: &Path) -> Self {
        Self(folder.join(self.0))
    }
}

impl TryFrom<String> for AbiPath {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, &'static str> {
        if text.is_empty() || text.contains('\0') {
            return Err("the path of a file is wanted");
        }
        Ok(Self(text.into()))
    }
}

impl From<AbiPath> for String {
    fn from(path: AbiPath) -> Self {
        path.0.display().to_string()
    }
}

/// An index's name: its tables' names begin with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct IndexName(Identifier);

impl IndexName {
    /// The name as tables have it.
    pub(crate) const fn identifier(&self) -> &Identifier {
        &self.0
    }
}

impl TryFrom<String> for IndexName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        match Identifier::new(name.clone()) {
            Ok(identifier) if name.len() <= MAX_NAME_BYTES => Ok(Self(identifier)),
            _ => Err(format!(
                "a name is 1 to {MAX_NAME_BYTES} lower-case letters, digits and `_`, a letter first, not `{name}`"
            )),
        }
    }
}

impl std::str::FromStr for IndexName {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Self::try_from(name.to_owned())
    }
}

impl From<IndexName> for String {
    fn from(name: IndexName) -> Self {
        name.0.into()
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for IndexName {
    fn schema_name() -> Cow<'static, str> {
        "IndexName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEES: &str =
        "chain = 'polygon'\ncontract = '0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9'\nstart = 78600000\n";

    #[test]
    fn an_index_reads_back_as_it_was_written() {
        let text = format!("{FEES}events = ['E()']\nabi = 'Fees.json'\n");
        let index: Index = toml::from_str(&text).expect("an index");
        let again: Index = toml::from_str(&toml::to_string(&index).expect("text")).expect("an index");
        assert_eq!(format!("{index:?}"), format!("{again:?}"));
        let abi = index.abi.expect("a path").anchored(Path::new("/etc/wind"));
        assert_eq!(abi.as_path(), Path::new("/etc/wind/Fees.json"));
    }

    #[test]
    fn a_name_can_begin_that_of_a_table() {
        for (name, fits) in
            [("fees", true), ("a_1", true), ("1a", false), ("_a", false), ("Fees", false), ("", false)]
        {
            assert_eq!(name.parse::<IndexName>().is_ok(), fits, "{name}");
        }
        assert!("x".repeat(MAX_NAME_BYTES + 1).parse::<IndexName>().is_err());
    }
}
