//! The store on embedded SQLite: one file, no server.
//!
//! One thread owns the only writing connection (`writer`); whatever writes is a
//! closure that runs there, inside one `BEGIN IMMEDIATE` transaction. Readers have
//! connections of their own (`readers`) and, in WAL mode, block nobody. Other
//! processes may open the same file: a claim then answers "nothing now" at once
//! when one of them is writing, a commit waits up to [`connect::WRITE_WAIT`].
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`connect`] | paths, pragmas, opening |
//! | `identity` | whether the file is still the one that was opened |
//! | `instance` | which processes that hold leases and lanes are alive |
//! | `migrate` | the schema and its versions |
//! | `writer`, `writing`, `readers` | who runs SQL where |
//! | `lane` | the mechanics that jobs and deliveries share |
//! | `job`, `job_list`, `dead` | jobs in lanes, listings, what was given up |
//! | `lease`, `cursor`, `range`, `event`, `state` | one noun each |
//! | `table` | typed tables of events |
//! | `sql` | statements that a person writes |
//! | `pay` | what is kept of payouts |
//! | `outbox`, `deliver` | the outbox, from the writing and from the reading side |
//! | `commit` | the transaction door |

mod commit;
pub mod connect;
mod cursor;
mod dead;
mod deliver;
mod error;
mod event;
mod health;
mod identity;
mod instance;
mod job;
mod job_list;
mod lane;
mod lease;
mod migrate;
mod outbox;
mod pay;
mod range;
mod readers;
mod row;
mod sql;
mod state;
mod table;
mod writer;
mod writing;

use std::sync::Arc;

use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};

pub use connect::{Place, SqliteOptions};
use identity::Identity;
use instance::Instances;
pub use migrate::SCHEMA_VERSION;
use readers::Readers;
use writer::{Tx, Writer};
use writing::Mode;

/// A store on one SQLite database. Cheap to clone; all clones share one writer.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    place: Place,
    read_only: bool,
    writer: Writer,
    readers: Readers,
    instances: Arc<Instances>,
}

impl SqliteStore {
    /// Opens a database, creating and migrating it unless opened read-only.
    pub async fn open(options: SqliteOptions) -> StoreResult<Self> {
        let prove_alive = options.prove_alive && !options.read_only;
        let is_read_only = options.read_only;
        let store = Self::start(options).await?;
        if !is_read_only && let Err(error) = store.make_views().await {
            // They are for people; nothing else needs them, and the next opening tries again.
            tracing::warn!(%error, "views of tables could not be made");
        }
        if prove_alive {
            store.register().await;
        }
        Ok(store)
    }

    async fn start(options: SqliteOptions) -> StoreResult<Self> {
        let opening = tokio::task::spawn_blocking(move || {
            let mut connection = connect::open_writer(&options)?;
            if !options.read_only {
                migrate::migrate(&mut connection, &options.place)?;
            }
            migrate::check(&connection, &options.place)?;
            let readers = Readers::new(&options);
            let instances = Arc::new(Instances::beside(&options.place));
            let identity = Identity::of(&options.place)?;
            let writer = Writer::start(connection, options.clock.clone(), identity, instances.clone())?;
            Ok(Self {
                inner: Arc::new(Inner {
                    place: options.place,
                    read_only: options.read_only,
                    writer,
                    readers,
                    instances,
                }),
            })
        });
        opening.await.map_err(|error| StoreError::Other(error.to_string()))?
    }

    /// Runs a closure in a write transaction, waiting a bounded time for other processes.
    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let mode = match durability {
            Durability::Full => Mode::Full,
            Durability::Relaxed => Mode::Relaxed,
        };
        self.inner.writer.run(mode, work).await
    }

    /// Runs a claim: `None` at once when another process is writing.
    async fn claim<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<Option<T>> {
        unless_busy(self.inner.writer.run(Mode::Claim, work).await)
    }

    /// Runs a closure on a reading connection, within one snapshot.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        match &self.inner.readers {
            Readers::Pool(pool) => {
                let (now, instances) = (self.inner.writer.now()?, self.inner.instances.clone());
                pool.run(move |connection| work(&Tx::new(connection, now, &instances))).await
            }
            Readers::ThroughWriter => self.inner.writer.run_reading(work).await,
        }
    }
}

/// `None` where another process is writing.
fn unless_busy<T>(claimed: StoreResult<T>) -> StoreResult<Option<T>> {
    match claimed {
        Ok(claimed) => Ok(Some(claimed)),
        Err(StoreError::Busy) => Ok(None),
        Err(error) => Err(error),
    }
}
