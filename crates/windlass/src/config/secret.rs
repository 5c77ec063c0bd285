//! Values that may be secret: `env:NAME`, `file:PATH`, or plain text.
//!
//! A secret is read when it is needed, not when the configuration is loaded, and
//! neither `Debug` nor serialisation ever shows it.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// The longest secret a file may hold.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// A value, or where to find it.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) enum Secret {
    /// Written out.
    Plain(SecretString),
    /// In an environment variable.
    Env(String),
    /// In a file, without its last line break.
    File(PathBuf),
}

/// The secret is not where it was said to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    /// No such variable, or it is empty.
    #[error("the environment variable `{0}` is not set")]
    Env(String),
    /// No such file, or it cannot be read.
    #[error("cannot read the secret file `{path}`: {reason}")]
    File {
        /// Which file.
        path: String,
        /// Why not.
        reason: String,
    },
}

impl Secret {
    /// Reads the value.
    pub(crate) fn resolve(&self) -> Result<SecretString, SecretError> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Env(name) => std::env::var(name)
                .ok()
                .filter(|text| !text.is_empty())
                .map(SecretString::from)
                .ok_or_else(|| SecretError::Env(name.clone())),
            Self::File(path) => read(path).map_err(|reason| SecretError::File {
                path: path.display().to_string(),
                reason: reason.to_string(),
            }),
        }
    }

    /// This value with plain text replaced by what may be shown of it.
    pub(crate) fn shown_by(self, redact: fn(&str) -> String) -> Self {
        match self {
            Self::Plain(text) => Self::Plain(redact(text.expose_secret()).into()),
            place => place,
        }
    }

    /// What may be printed, when `redact` knows which parts of plain text are harmless.
    pub(crate) fn show(&self, redact: fn(&str) -> String) -> String {
        match self {
            Self::Plain(text) => redact(text.expose_secret()),
            Self::Env(name) => format!("env:{name}"),
            Self::File(path) => format!("file:{}", path.display()),
        }
    }
}

fn read(path: &Path) -> std::io::Result<SecretString> {
    let mut text = String::new();
    File::open(path)?.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_SECRET_BYTES {
        return Err(std::io::Error::other(format!("it is longer than {MAX_SECRET_BYTES} bytes")));
    }
    Ok(text.trim_end_matches(['\r', '\n']).into())
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        match (text.strip_prefix("env:"), text.strip_prefix("file:")) {
            (Some(name), _) => Self::Env(name.to_owned()),
            (_, Some(path)) => Self::File(path.into()),
            _ => Self::Plain(text.into()),
        }
    }
}

/// Types that wrap a secret redact it first (`shown_by`); what is left is shown.
impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.show(str::to_owned))
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::from(text.to_owned())
    }

    #[test]
    fn secrets_are_read_where_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, "hunter2\n").expect("written");
        let found = secret(&format!("file:{}", path.display())).resolve().expect("a secret");
        assert_eq!(found.expose_secret(), "hunter2");
        assert!(secret("env:PATH").resolve().is_ok());
        assert_eq!(secret("plain").resolve().expect("itself").expose_secret(), "plain");
    }

    #[test]
    fn a_missing_secret_says_where_it_was_looked_for() {
        let error = secret("env:WINDLASS_NO_SUCH").resolve().expect_err("missing");
        assert_eq!(error.to_string(), "the environment variable `WINDLASS_NO_SUCH` is not set");
        let error = secret("file:/no/such/file").resolve().expect_err("missing").to_string();
        assert!(error.starts_with("cannot read the secret file `/no/such/file`: "), "{error}");
    }

    #[test]
    fn a_file_that_is_no_secret_is_not_swallowed_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("movie");
        std::fs::write(&path, vec![b'x'; MAX_SECRET_BYTES as usize + 1]).expect("written");
        assert!(Secret::File(path).resolve().is_err());
    }
}
