//! From a URL to a pool of prepared sessions.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime};
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
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
/// How long a connection may be quiet before the server is asked whether it is still there.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
/// How long after one such question the next is sent.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// After how many of them without an answer the connection is given up.
pub const KEEPALIVE_RETRIES: u32 = 3;
/// How long one statement may run.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an answer is waited for: the server gives a statement up before that, so
/// whoever is silent for longer is gone.
pub const ANSWER_TIMEOUT: Duration = STATEMENT_TIMEOUT.saturating_add(Duration::from_secs(10));
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
    /// Look, but change nothing: a schema that is missing or old is not touched.
    pub read_only: bool,
    /// At most this many connections.
    pub max_connections: u32,
    /// Where the time comes from; the database's clock unless given.
    pub clock: Option<Arc<dyn Clock>>,
    /// Prove to other processes that this one is alive, by a lock in one more session: when
    /// it dies, they need not wait until its leases have run out.
    pub prove_alive: bool,
}

impl PostgresOptions {
    /// The usual options for a database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: SecretString::from(url.into()),
            schema: None,
            read_only: false,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            clock: None,
            prove_alive: false,
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("read_only", &self.read_only)
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
        refuse_unknown_sslmode(url)?;
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
        keep_alive(&mut config);
        let place = place_of(&config);
        Ok(Self { config, verify, place })
    }

    /// A session apart from the pool, set up like those in it.
    pub(crate) fn session(&self, options: &PostgresOptions) -> StoreResult<SessionOptions> {
        let settings = session_settings(options.schema.as_deref(), options.read_only)?.into();
        Ok(SessionOptions { config: self.config.clone(), tls: tls::connector(self.verify)?, settings })
    }

    /// A pool of sessions. Nothing is connected yet.
    pub(crate) fn pool(&self, options: &PostgresOptions) -> StoreResult<Pool> {
        let session = session_settings(options.schema.as_deref(), options.read_only)?;
        let prepare = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
            let session = session.clone();
            Box::pin(async move { client.batch_execute(&session).await.map_err(HookError::Backend) })
        });
        let connect = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), tls::connector(self.verify)?, connect);
        Pool::builder(manager)
            // The session that was used last has its statements and its catalog at hand.
            .queue_mode(QueueMode::Lifo)
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

/// How to have a session apart from the pool.
#[derive(Clone)]
pub(crate) struct SessionOptions {
    config: Config,
    tls: MakeRustlsConnect,
    settings: Arc<str>,
}

impl SessionOptions {
    /// Connects. The second part has to be polled for the first to be answered.
    pub(crate) async fn connect(
        &self,
    ) -> Result<
        (Client, impl Future<Output = Result<(), tokio_postgres::Error>> + use<>),
        tokio_postgres::Error,
    > {
        self.config.connect(self.tls.clone()).await
    }

    /// What the session is to be set to.
    pub(crate) fn settings(&self) -> &str {
        &self.settings
    }
}

/// Notices a server that went away while its answer is waited for. What the URL says is kept.
fn keep_alive(config: &mut Config) {
    let is_default = config.get_keepalives_idle() == Config::new().get_keepalives_idle();
    if is_default {
        config.keepalives_idle(KEEPALIVE_IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(KEEPALIVE_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(KEEPALIVE_RETRIES);
    }
}

/// Names the modes that libpq has and this does not, instead of calling the URL malformed.
fn refuse_unknown_sslmode(url: &str) -> StoreResult<()> {
    let unknown = ["verify-ca", "allow"].into_iter().find(|mode| {
        let setting = format!("sslmode={mode}");
        url.split(['?', '&', ' ']).any(|part| part == setting)
    });
    match unknown {
        None => Ok(()),
        Some(mode) => Err(StoreError::Invalid(format!(
            "the database URL wants sslmode={mode}, which is not supported: \
             use verify-full, require, prefer or disable"
        ))),
    }
}

/// What every session is set to.
///
/// Plans: planning a claim or a completion costs as much as running it, so each
/// statement is planned once per connection. Every statement that is run often
/// reaches its rows by key; with scans and hash joins out of the way, that is what
/// one plan for all parameters does too. It reads few rows, whatever it is estimated to
/// read, so no workers are started for it; `Mode::Scan` allows them.
///
/// `synchronous_commit`: whoever turned it off for the whole server did not know
/// that an epoch must be on disk before it is given out.
fn session_settings(schema: Option<&str>, read_only: bool) -> StoreResult<String> {
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
         SET default_transaction_read_only = {read_only};
         SET jit = off;
         SET plan_cache_mode = force_generic_plan;
         SET enable_seqscan = off;
         SET enable_hashjoin = off;
         SET enable_mergejoin = off;
         SET enable_bitmapscan = off;
         SET max_parallel_workers_per_gather = 0;
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
    fn a_mode_of_tls_that_is_not_supported_is_named() {
        for url in
            ["postgres://ann:s3cret@db/x?sslmode=verify-ca", "host=db user=ann sslmode=verify-ca dbname=x"]
        {
            let refused = parse(url).err().expect(url).to_string();
            assert!(refused.contains("sslmode=verify-ca, which is not supported"), "{refused}");
            assert!(!refused.contains("s3cret"), "{refused}");
        }
    }

    #[test]
    fn a_server_that_vanishes_is_noticed_unless_the_url_says_otherwise() {
        let config = parse("postgres://ann@db/x").expect("a URL").config;
        assert!(config.get_keepalives());
        assert_eq!(config.get_keepalives_idle(), KEEPALIVE_IDLE);
        assert_eq!(config.get_keepalives_interval(), Some(KEEPALIVE_INTERVAL));
        assert_eq!(config.get_keepalives_retries(), Some(KEEPALIVE_RETRIES));
        assert_eq!(config.get_tcp_user_timeout(), Some(&NETWORK_TIMEOUT));
        let config = parse("postgres://ann@db/x?keepalives_idle=60").expect("a URL").config;
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(60));
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
