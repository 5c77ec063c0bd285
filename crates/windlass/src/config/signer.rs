//! `[signer.<name>]`: a key that signs, and where it is.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::hidden::Hidden;
use super::origin::Origin;
use super::problem::Problem;
use super::sections::Config;
use super::tree::{self, Table};

/// The longest name.
const MAX_NAME_BYTES: usize = 32;

/// A key that signs, and where it is: in a keystore file, in AWS KMS, or lying open.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Signer {
    /// A keystore file (Web3 Secret Storage, version 3); a relative path begins where this file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) keystore: Option<PathBuf>,
    /// What opens the keystore: `env:NAME` or `file:PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) passphrase: Option<Hidden>,
    /// The id or ARN of a key in AWS KMS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) kms: Option<String>,
    /// The region of KMS; by default that of the AWS configuration in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) region: Option<String>,
    /// Another address of KMS, such as one in a private network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) endpoint: Option<String>,
    /// A bare private key, for chains where nothing has a price: `env:NAME` or `file:PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) development_key: Option<Hidden>,
}

impl Signer {
    /// The same with relative paths taken from a folder on.
    pub(crate) fn anchored(self, folder: &Path) -> Self {
        Self {
            keystore: self.keystore.map(|path| folder.join(path)),
            passphrase: self.passphrase.map(|secret| secret.anchored(folder)),
            development_key: self.development_key.map(|secret| secret.anchored(folder)),
            ..self
        }
    }

    /// What is wrong with it, if something is: a key is in one place.
    fn trouble(&self) -> Option<&'static str> {
        let places = [self.keystore.is_some(), self.kms.is_some(), self.development_key.is_some()];
        match places.iter().filter(|is_there| **is_there).count() {
            0 => Some("a key is in a `keystore`, in `kms`, or, for development, a `development_key`"),
            1 if self.keystore.is_some() && self.passphrase.is_none() => {
                Some("a keystore wants a `passphrase`: `env:NAME` or `file:PATH`")
            }
            1 if self.keystore.is_none() && self.passphrase.is_some() => {
                Some("a `passphrase` opens a `keystore`, and there is none")
            }
            1 if self.kms.is_none() && (self.region.is_some() || self.endpoint.is_some()) => {
                Some("`region` and `endpoint` are those of `kms`, and there is none")
            }
            1 => None,
            _ => Some("a key is in one place: `keystore`, `kms` or `development_key`"),
        }
    }
}

/// A signer's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct SignerName(String);

impl FromStr for SignerName {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(fits) {
            return Ok(Self(name.to_owned()));
        }
        Err(format!("a name is 1 to {MAX_NAME_BYTES} lower-case letters, digits and `_`, not `{name}`"))
    }
}

impl TryFrom<String> for SignerName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<SignerName> for String {
    fn from(name: SignerName) -> Self {
        name.0
    }
}

impl fmt::Display for SignerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for SignerName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SignerName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Whether every key is in one place.
pub(crate) fn check(config: &Config, table: &Table) -> Vec<Problem> {
    let wrong = config.signer.iter().filter_map(|(name, signer)| Some((name, signer.trouble()?)));
    wrong
        .map(|(name, trouble)| {
            let path = ["signer".to_owned(), name.to_string()];
            let origin = tree::nearest(table, &path).map_or(Origin::Default, |node| node.origin.clone());
            Problem::new(origin, path.join("."), trouble)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(text: &str) -> Option<&'static str> {
        toml::from_str::<Signer>(text).expect("a signer").trouble()
    }

    #[test]
    fn a_key_is_in_one_place() {
        for good in [
            "keystore = 'k.json'\npassphrase = 'env:P'",
            "kms = 'arn:x'\nregion = 'eu-west-1'",
            "development_key = 'env:K'",
        ] {
            assert_eq!(trouble(good), None, "{good}");
        }
        for wrong in [
            "",
            "keystore = 'k.json'",
            "kms = 'x'\ndevelopment_key = 'env:K'",
            "development_key = 'env:K'\npassphrase = 'env:P'",
            "development_key = 'env:K'\nregion = 'x'",
        ] {
            assert!(trouble(wrong).is_some(), "{wrong}");
        }
    }

    #[test]
    fn a_bare_key_is_not_taken() {
        let told = toml::from_str::<Signer>("development_key = '0xhunter2'").expect_err("written out");
        assert!(!told.message().contains("hunter2"), "{told}");
    }
}
