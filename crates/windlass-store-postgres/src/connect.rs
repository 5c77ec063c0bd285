//! From a URL to a pool of prepared sessions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::Clock;

use crate::tls;

/// How many connections a store opens unless told.
pub const DEFAULT_MAX_CONNECTIONS: u32 = 16;
/// How long an operation waits for one of them before the store counts as busy.
pub const POOL_WAIT: Duration = Duration::from_secs(5);
/// How long one connection may take to come about.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long bytes may stay unacknowledged before the network counts as broken.
pub const NETWORK_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one statement may run.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a statement waits for a row's lock before the store counts as busy.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server lets a transaction stand idle before it ends the session.
pub const IDLE_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest schema name PostgreSQL keeps whole, in bytes.
const MAX_SCHEMA_BYTES: usize = 63;

/// Where and how to open a store.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=…`, with `sslmode` one of
    /// `disable`, `prefer`, `require` and `verify-full`.
    pub url: SecretString,
    /// The schema that holds the tables; created when it is missing. `None` for the user's default.
    pub schema: Option<String>,
    /// At most this many connections.
    pub max_connections: u32,
    /// Where the time comes from; the database's clock unless given.
    pub clock: Option<Arc<dyn Clock>>,
}

impl PostgresOptions {
    /// The usual options for a database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            schema: None,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            clock: None,
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}

/// Which server and who asks: what errors may say.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Host, port and database.
    pub(crate) address: String,
    /// The user.
    pub(crate) user: String,
}

/// A URL that was understood.
pub(crate) struct Target {
    config: Config,
    verify: bool,
    pub(crate) place: Place,
}

impl Target {
    /// Reads the URL. What is wrong with it is said without repeating any of it,
    /// because a part of a password may stand anywhere in a malformed URL.
    pub(crate) fn parse(options: &PostgresOptions) -> StoreResult<Self> {
        let url = options.url.expose_secret();
        let verify = url.contains("sslmode=verify-full");
        let understood = url.replace("sslmode=verify-full", "sslmode=require").parse::<Config>();
        let mut config = understood.map_err(|_| {
            StoreError::Invalid(
                "the database URL is malformed: it has the form postgres://user:password@host:port/database"
                    .to_owned(),
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreError::Invalid("the database URL names no host".to_owned()));
        }
        if config.get_application_name().is_none() {
            config.application_name("windlass");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(NETWORK_TIMEOUT);
        }
        let place = place_of(&config);
        Ok(Self { config, verify, place })
    }

    /// A pool of sessions. Nothing is connected yet.
    pub(crate) fn pool(&self, options: &PostgresOptions) -> StoreResult<Pool> {
        let session = session_settings(options.schema.as_deref())?;
        let prepare = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let session = session.clone();
            Box::pin(async move { client.batch_execute(&session).await.map_err(HookError::Backend) })
        });
        let connect = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), tls::connector(self.verify)?, connect);
        Pool::builder(manager)
            .max_size(options.max_connections.max(1) as usize)
            .wait_timeout(Some(POOL_WAIT))
            .create_timeout(Some(CONNECT_TIMEOUT * 2))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .runtime(Runtime::Tokio1)
            .post_create(prepare)
            .build()
            .map_err(|error| StoreError::Other(error.to_string()))
    }
}

/// What every session is set to.
///
/// `synchronous_commit`: whoever turned it off for the whole server did not know
/// that an epoch must be on disk before it is given out.
fn session_settings(schema: Option<&str>) -> StoreResult<String> {
    let search_path = match schema {
        None => String::new(),
        Some(name) => format!("SET search_path TO {};", quoted(name)?),
    };
    Ok(format!(
        "{search_path}
         SET statement_timeout = {};
         SET lock_timeout = {};
         SET idle_in_transaction_session_timeout = {};
         SET default_transaction_isolation = 'read committed';
         SET jit = off;
         SET client_min_messages = warning;
         SELECT set_config('synchronous_commit', 'on', false)
             WHERE current_setting('synchronous_commit') = 'off'",
        STATEMENT_TIMEOUT.as_millis(),
        LOCK_TIMEOUT.as_millis(),
        IDLE_TRANSACTION_TIMEOUT.as_millis(),
    ))
}

/// A schema's name as SQL writes it.
pub(crate) fn quoted(schema: &str) -> StoreResult<String> {
    if schema.is_empty() || schema.len() > MAX_SCHEMA_BYTES || schema.contains(char::is_control) {
        return Err(StoreError::Invalid(format!(
            "a schema name has 1 to {MAX_SCHEMA_BYTES} bytes and no control characters"
        )));
    }
    Ok(format!("\"{}\"", schema.replace('"', "\"\"")))
}

fn place_of(config: &Config) -> Place {
    let host = match (config.get_hosts().first(), config.get_hostaddrs().first()) {
        (Some(Host::Tcp(name)), _) => name.clone(),
        #[cfg(unix)]
        (Some(Host::Unix(path)), _) => path.display().to_string(),
        (None, Some(address)) => address.to_string(),
        (None, None) => String::new(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().unwrap_or(&user);
    Place { address: format!("{host}:{port}/{database}"), user }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> StoreResult<Target> {
        Target::parse(&PostgresOptions::new(url))
    }

    #[test]
    fn a_place_names_host_and_database_and_never_the_password() {
        let target = parse("postgres://ann:s3cret@db.example:5433/books?sslmode=require").expect("a URL");
        assert_eq!(target.place.address, "db.example:5433/books");
        assert_eq!(target.place.user, "ann");
        assert!(!target.verify);
        assert!(parse("postgres://ann@db.example/books?sslmode=verify-full").expect("a URL").verify);
    }

    #[test]
    fn a_malformed_url_is_refused_without_being_repeated() {
        for url in ["postgres://ann:s3cret@db/x?s3cret=1", "postgres://ann:s3cret@db:s3cret/x", "s3cret", ""]
        {
            let refused = parse(url).err().expect(url).to_string();
            assert!(!refused.contains("s3cret"), "{refused}");
        }
    }

    #[test]
    fn options_do_not_show_the_url() {
        let shown = format!("{:?}", PostgresOptions::new("postgres://ann:s3cret@db/x"));
        assert!(!shown.contains("s3cret") && !shown.contains("ann"), "{shown}");
    }

    #[test]
    fn schema_names_are_quoted() {
        assert_eq!(quoted("a\"b").expect("a name"), "\"a\"\"b\"");
        assert!(quoted("").is_err());
        assert!(quoted(&"x".repeat(64)).is_err());
    }
}
