//! `[database]`: where everything is kept.

use std::path::{Path, PathBuf};

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
        let secret = Secret::Plain(SecretString::from("sqlite:windlass.db"));
        Self { url: DatabaseUrl { secret, folder: None } }
    }
}

/// A database's URL, or where to find it. Shown without its password.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Secret", into = "Secret")]
pub(crate) struct DatabaseUrl {
    secret: Secret,
    /// The folder that a relative path is taken from; the current one if there is none.
    folder: Option<PathBuf>,
}

/// Where a database is.
#[derive(Debug)]
pub(crate) enum Location {
    /// A file, by its whole path.
    Sqlite(PathBuf),
    /// A server's URL, password and all.
    Postgres(SecretString),
}

/// The modes of encryption a server can be asked for.
const SSL_MODES: [&str; 4] = ["disable", "prefer", "require", "verify-full"];

/// The text is not the URL of a database that Windlass knows. Never repeats the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LocationError {
    /// It is no database's URL at all.
    #[error("a database URL is `sqlite:PATH`, or begins with `postgres://` and names a host")]
    Unknown,
    /// SQLite's own kinds of URL.
    #[error("behind `sqlite:` only a path is accepted: no `file:`, no `:memory:`, nothing behind a `?`")]
    NotAPath,
    /// What follows the first `@` would be taken for the host, a part of the password too.
    #[error("a database URL has one `@`, before the host: write `%40` for one in the user or the password")]
    TwoAts,
    /// A mode of encryption that is not known.
    #[error("`sslmode` is one of {}", SSL_MODES.join(", "))]
    SslMode,
    /// No port of a server.
    #[error("the port of a database URL is a number from 1 to 65535")]
    Port,
    /// Neither.
    #[error("{}, and {}", Self::Port, Self::SslMode)]
    PortAndSslMode,
}

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
            return sqlite_path(path).map(Self::Sqlite);
        }
        let known = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if known && authority(text).matches('@').count() > 1 {
            return Err(LocationError::TwoAts);
        }
        let with_port = url::Url::parse(text);
        let has_port = !matches!(with_port, Err(url::ParseError::InvalidPort))
            && with_port.as_ref().ok().and_then(url::Url::port) != Some(0);
        let url = if has_port { with_port } else { url::Url::parse(&without_port(text)) };
        let url = url.ok().filter(|url| known && (url.has_host() || url.query().is_some()));
        let url = url.ok_or(LocationError::Unknown)?;
        let mode_fits = |mode: &str| SSL_MODES.contains(&mode);
        let has_mode = url.query_pairs().all(|(key, value)| key != "sslmode" || mode_fits(&value));
        match (has_port, has_mode) {
            (true, true) => {}
            (true, false) => return Err(LocationError::SslMode),
            (false, true) => return Err(LocationError::Port),
            (false, false) => return Err(LocationError::PortAndSslMode),
        }
        Ok(Self::Postgres(SecretString::from(text)))
    }

    /// This place with a relative path taken from a folder on.
    fn taken_from(self, folder: Option<&Path>) -> Self {
        match self {
            Self::Sqlite(path) => {
                Self::Sqlite(whole(folder.map_or_else(|| path.clone(), |folder| folder.join(&path))))
            }
            server => server,
        }
    }
}

/// A path from the root on; as it is where there is no current folder.
fn whole(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// User, password, host and port of a URL.
fn authority(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// A URL without its port, so that the rest of it can be looked at.
fn without_port(text: &str) -> String {
    let begin = text.find("://").map_or(0, |at| at + 3);
    let end = begin + authority(text).len();
    let host = text[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    let kept = text[host..end].rfind(':').map_or(end, |at| host + at);
    format!("{}{}", &text[..kept], &text[end..])
}

fn sqlite_path(path: &str) -> Result<PathBuf, LocationError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    match path {
        "" => Err(LocationError::Unknown),
        path if path.starts_with(':') || path.starts_with("file:") || path.contains(['?', '\0']) => {
            Err(LocationError::NotAPath)
        }
        path => Ok(path.into()),
    }
}

impl DatabaseUrl {
    /// Reads the secret, if it is one, and says where the database is.
    pub(crate) fn locate(&self) -> Result<Location, UrlError> {
        let location = Location::parse(self.secret.resolve()?.expose_secret())?;
        // What a variable says was written by somebody in the current folder, wherever the file is.
        let folder = self.folder.as_deref().filter(|_| !matches!(self.secret, Secret::Env(_)));
        Ok(location.taken_from(folder))
    }

    /// This URL with relative paths in it taken from a folder on.
    pub(crate) fn anchored(self, folder: &Path) -> Self {
        Self { secret: self.secret.anchored(folder), folder: Some(folder.to_owned()) }
    }
}

impl TryFrom<Secret> for DatabaseUrl {
    type Error = LocationError;
    fn try_from(secret: Secret) -> Result<Self, LocationError> {
        if let Secret::Plain(text) = &secret {
            Location::parse(text.expose_secret())?;
        }
        Ok(Self { secret, folder: None })
    }
}

impl From<DatabaseUrl> for Secret {
    /// What serialises: the plain form gives up its password first, and a path is
    /// whole once the folder it is taken from is known.
    fn from(url: DatabaseUrl) -> Self {
        let folder = url.folder;
        url.secret.shown_by(|text| match (Location::parse(text), &folder) {
            (Ok(Location::Sqlite(path)), Some(folder)) => {
                format!("sqlite:{}", whole(folder.join(path)).display())
            }
            _ => redact::database_url(text),
        })
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
        for (text, path) in [("sqlite:a/b.db", "/etc/a/b.db"), ("sqlite:///tmp/b.db", "/tmp/b.db")] {
            let url = url(text).expect("a url").anchored(Path::new("/etc"));
            let shown = serde_json::to_string(&url).expect("text");
            assert_eq!(shown, format!("\"sqlite:{path}\""));
            let location = url.locate().expect("a place");
            assert!(matches!(location, Location::Sqlite(found) if found == Path::new(path)), "{text}");
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
    fn an_unescaped_at_sign_is_refused_before_it_makes_a_host_of_a_password() {
        for text in
            ["postgres://u:abc@SECRET@host/db", "postgresql://a@b:SECRET@host:5432/db?sslmode=require"]
        {
            let error = url(text).expect_err(text).to_string();
            assert!(error.contains("%40") && !error.contains("SECRET"), "{error}");
        }
        for text in ["postgres://u:a%40b@host/db", "postgres://host/db?user=u@v", "postgres://u@host/d@b"] {
            url(text).expect(text);
        }
    }

    #[test]
    fn what_is_more_than_a_path_is_refused() {
        for text in ["sqlite:x?mode=ro", "sqlite:file:x", "sqlite::memory:", "sqlite://file:x?key=hunter2"] {
            let error = url(text).expect_err(text).to_string();
            assert_eq!(error, LocationError::NotAPath.to_string(), "{text}");
        }
    }

    #[test]
    fn only_known_modes_of_encryption_are_accepted() {
        for mode in SSL_MODES {
            assert!(url(&format!("postgres://h/d?sslmode={mode}")).is_ok(), "{mode}");
        }
        let error = url("postgres://h/d?sslmode=hunter2").expect_err("unknown").to_string();
        assert_eq!(error, "`sslmode` is one of disable, prefer, require, verify-full");
    }

    #[test]
    fn a_port_that_is_none_is_named_and_hides_nothing_else() {
        for text in ["postgres://root:hunter2@h:99999/x", "postgres://h:0", "postgres://[::1]:x/d"] {
            let error = url(text).expect_err(text).to_string();
            assert_eq!(error, "the port of a database URL is a number from 1 to 65535", "{text}");
        }
        let error = url("postgres://root:hunter2@h:99999/x?sslmode=bogus").expect_err("two").to_string();
        assert!(
            error.contains("port") && error.contains("`sslmode`") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn a_password_is_neither_serialised_nor_debugged() {
        let url = url("postgres://wind:hunter2@db:5432/wind?sslmode=require").expect("a url");
        let shown = serde_json::to_string(&url).expect("text");
        assert_eq!(shown, "\"postgres://wind:***@db:5432/wind?sslmode=require\"");
        assert!(!format!("{url:?}").contains("hunter2"));
    }
}
