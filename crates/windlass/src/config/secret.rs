//! Values that may be secret: `env:NAME`, `file:PATH`, or plain text.
//!
//! A secret is read when it is needed, not when the configuration is loaded, and
//! neither `Debug` nor serialisation ever shows it.

use std::borrow::Cow;
use std::env::VarError;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

/// The longest secret a file may hold.
const MAX_SECRET_BYTES: u64 = 64 << 10;

/// A value, or where to find it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Secret {
    /// Written out.
    Plain(SecretString),
    /// In an environment variable.
    Env(String),
    /// In a file of one line.
    File(PathBuf),
}

/// The text says `env:` or `file:` and nothing behind it.
#[derive(Debug, thiserror::Error)]
#[error("behind `{0}:` the name of a {1} is wanted")]
pub(crate) struct NamelessSecret(&'static str, &'static str);

/// The secret is not where it was said to be. Never repeats what is there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    /// No such variable, or nothing that can be used in it.
    #[error("the environment variable `{name}` {trouble}")]
    Env {
        /// Which variable.
        name: String,
        /// What is the matter with it.
        trouble: &'static str,
    },
    /// No such file, or nothing that can be used in it.
    #[error("cannot read the secret file `{path}`: {reason}")]
    File {
        /// Which file.
        path: String,
        /// Why not.
        reason: String,
    },
}

impl SecretError {
    /// What to do about it.
    pub(crate) const fn advice(&self) -> &'static str {
        match self {
            Self::Env { .. } => "set it for this process",
            Self::File { .. } => "put the file there, readable by the user that runs windlass",
        }
    }
}

impl Secret {
    /// Reads the value.
    pub(crate) fn resolve(&self) -> Result<SecretString, SecretError> {
        match self {
            Self::Plain(text) => Ok(text.clone()),
            Self::Env(name) => {
                let trouble = match std::env::var(name) {
                    Ok(text) if !text.is_empty() => return Ok(text.into()),
                    Ok(_) => "is empty",
                    Err(VarError::NotPresent) => "is not set",
                    Err(VarError::NotUnicode(_)) => "is not UTF-8 text",
                };
                Err(SecretError::Env { name: name.clone(), trouble })
            }
            Self::File(path) => read(path).map_err(|reason| SecretError::File {
                path: path.display().to_string(),
                reason: reason.to_string(),
            }),
        }
    }

    /// This value with the path of a file taken from a folder on, if it is relative.
    pub(crate) fn anchored(self, folder: &Path) -> Self {
        match self {
            Self::File(path) => Self::File(folder.join(path)),
            other => other,
        }
    }

    /// This value with plain text replaced by what may be shown of it.
    pub(crate) fn shown_by(self, redact: impl Fn(&str) -> String) -> Self {
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

/// Reads a file of one line. A pipe or a device is none: the secret is read anew
/// whenever it is needed, and opening a pipe would wait for a writer.
fn read(path: &Path) -> io::Result<SecretString> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut text = String::new();
    file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_SECRET_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_SECRET_BYTES} bytes")));
    }
    let line = text.trim_end_matches(['\r', '\n']);
    match line {
        "" => Err(io::Error::other("it is empty")),
        line if line.contains(['\r', '\n']) => Err(io::Error::other("it has more than one line")),
        line => Ok(line.into()),
    }
}

impl TryFrom<String> for Secret {
    type Error = NamelessSecret;
    fn try_from(text: String) -> Result<Self, NamelessSecret> {
        match (text.strip_prefix("env:"), text.strip_prefix("file:")) {
            (Some(""), _) => Err(NamelessSecret("env", "variable")),
            (_, Some("")) => Err(NamelessSecret("file", "file")),
            (Some(name), _) => Ok(Self::Env(name.to_owned())),
            (_, Some(path)) => Ok(Self::File(path.into())),
            _ => Ok(Self::Plain(text.into())),
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
        Secret::try_from(text.to_owned()).expect("a secret")
    }

    /// What is said about a secret file with this content.
    fn refusal(content: &[u8]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, content).expect("written");
        let error = Secret::File(path).resolve().expect_err("refused").to_string();
        assert!(!error.contains("hunter2"), "{error}");
        error.rsplit_once(": ").expect("a reason").1.to_owned()
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
        assert_eq!(error.advice(), "set it for this process");
        assert_eq!(error.to_string(), "the environment variable `WINDLASS_NO_SUCH` is not set");
        let error = secret("file:/no/such/file").resolve().expect_err("missing");
        assert!(error.advice().starts_with("put the file there"), "{}", error.advice());
        let error = error.to_string();
        assert!(error.starts_with("cannot read the secret file `/no/such/file`: "), "{error}");
    }

    #[test]
    fn a_file_that_is_no_secret_is_not_swallowed_whole() {
        assert_eq!(refusal(b""), "it is empty");
        assert_eq!(refusal(b"\r\n"), "it is empty");
        assert_eq!(refusal(b"hunter2\nhunter2\n"), "it has more than one line");
        assert!(refusal(&vec![b'x'; MAX_SECRET_BYTES as usize + 1]).starts_with("it is longer"));
    }

    #[test]
    fn a_pipe_is_no_secret_file_and_nobody_waits_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        for path in [pipe, folder.path().to_owned(), "/dev/null".into()] {
            let error = Secret::File(path).resolve().expect_err("refused").to_string();
            assert!(error.ends_with("it is no ordinary file"), "{error}");
        }
    }

    #[test]
    fn a_place_has_a_name() {
        for text in ["env:", "file:"] {
            assert!(Secret::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
