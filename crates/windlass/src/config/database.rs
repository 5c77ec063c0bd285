//! `[database]`: where everything is kept.

use std::path::PathBuf;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::redact;
use super::secret::{Secret, SecretError};

/// Where everything is kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Database {
    /// `sqlite:PATH`, `postgres://…`, or where to find it: `env:NAME`, `file:PATH`.
    pub(crate) url: DatabaseUrl,
}

impl Default for Database {
    fn default() -> Self {
        Self { url: DatabaseUrl(Secret::Plain(SecretString::from("sqlite:windlass.db"))) }
    }
}

/// A database's URL, or where to find it. Shown without its password.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Secret", into = "Secret")]
pub(crate) struct DatabaseUrl(Secret);

/// Where a database is.
#[derive(Debug)]
pub(crate) enum Location {
    /// A file.
    Sqlite(PathBuf),
    /// A server's URL, password and all.
    Postgres(SecretString),
}

/// The text is not the URL of a database that Windlass knows. Never repeats the text.
#[derive(Debug, thiserror::Error)]
#[error("a database URL is `sqlite:PATH`, or begins with `postgres://` and names a host")]
pub(crate) struct LocationError;

/// Why there is no database to open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UrlError {
    /// The secret is not there.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// It is there and is no database URL.
    #[error(transparent)]
    Location(#[from] LocationError),
}

impl Location {
    fn parse(text: &str) -> Result<Self, LocationError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(LocationError) } else { Ok(Self::Sqlite(path.into())) };
        }
        let known = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if known && url::Url::parse(text).is_ok_and(|url| url.has_host() || url.query().is_some()) {
            return Ok(Self::Postgres(SecretString::from(text)));
        }
        Err(LocationError)
    }
}

impl DatabaseUrl {
    /// Reads the secret, if it is one, and says where the database is.
    pub(crate) fn locate(&self) -> Result<Location, UrlError> {
        Ok(Location::parse(self.0.resolve()?.expose_secret())?)
    }
}

impl TryFrom<Secret> for DatabaseUrl {
    type Error = LocationError;
    fn try_from(secret: Secret) -> Result<Self, LocationError> {
        if let Secret::Plain(text) = &secret {
            Location::parse(text.expose_secret())?;
        }
        Ok(Self(secret))
    }
}

impl From<DatabaseUrl> for Secret {
    /// What serialises: the plain form gives up its password first.
    fn from(url: DatabaseUrl) -> Self {
        url.0.shown_by(redact::database_url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Result<DatabaseUrl, serde_json::Error> {
        serde_json::from_value(text.into())
    }

    #[test]
    fn sqlite_paths_are_relative_or_absolute() {
        for (text, path) in [("sqlite:a/b.db", "a/b.db"), ("sqlite:///tmp/b.db", "/tmp/b.db")] {
            let location = url(text).expect("a url").locate().expect("a place");
            assert!(
                matches!(location, Location::Sqlite(found) if found == std::path::Path::new(path)),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_database_is_refused_without_repeating_it() {
        for text in ["", "sqlite:", "mysql://u:hunter2@h/d", "postgres:hunter2", "hunter2"] {
            let error = url(text).expect_err(text).to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_password_is_neither_serialised_nor_debugged() {
        let url = url("postgres://wind:hunter2@db:5432/wind?sslmode=require").expect("a url");
        let shown = serde_json::to_string(&url).expect("text");
        assert_eq!(shown, "\"postgres://wind:***@db:5432/wind?sslmode=require\"");
        assert!(!format!("{url:?}").contains("hunter2"));
    }
}
