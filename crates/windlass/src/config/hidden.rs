//! Secrets that are never written out in a configuration.

use std::path::Path;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::secret::{Secret, SecretError};

/// Where a secret is: `env:NAME` or `file:PATH`. Written out, it would be in backups, in
/// version control and on the screen of whoever looks at the file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Secret", into = "Secret")]
#[schemars(with = "String")]
pub(crate) struct Hidden(Secret);

/// The secret is written out. Never repeats it.
#[derive(Debug, thiserror::Error)]
#[error("this is kept out of the configuration: write `env:NAME` or `file:PATH`")]
pub(crate) struct WrittenOut;

impl Hidden {
    /// Reads the secret.
    pub(crate) fn resolve(&self) -> Result<SecretString, SecretError> {
        self.0.resolve()
    }

    /// The file that it is in, if it is in one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.0 {
            Secret::File(path) => Some(path),
            _ => None,
        }
    }

    /// The same with a relative path taken from a folder on.
    pub(crate) fn anchored(self, folder: &Path) -> Self {
        Self(self.0.anchored(folder))
    }
}

impl TryFrom<Secret> for Hidden {
    type Error = WrittenOut;
    fn try_from(secret: Secret) -> Result<Self, WrittenOut> {
        match secret {
            Secret::Plain(_) => Err(WrittenOut),
            place => Ok(Self(place)),
        }
    }
}

impl From<Hidden> for Secret {
    fn from(hidden: Hidden) -> Self {
        hidden.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_written_out_is_refused_and_not_repeated() {
        let read = |text: &str| Secret::try_from(text.to_owned()).map(Hidden::try_from).expect("a secret");
        let told = read("hunter2").expect_err("written out").to_string();
        assert!(!told.contains("hunter2"), "{told}");
        assert!(read("env:KEY").is_ok() && read("file:/key").is_ok());
    }
}
