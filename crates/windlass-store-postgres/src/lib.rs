//! The Windlass store on PostgreSQL.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`connect`] | from a URL to a pool of prepared sessions |
//! | `tls` | what `sslmode` means |
//! | `migrate` | the schema, brought up to date under a lock |
//! | `transact` | one operation: retried when the connection is lost, settled when an answer is |
//! | `tx` | one transaction on one connection |
//! | `mark` | how a transaction proves that it was committed |
//! | `error` | what PostgreSQL's errors mean to the caller |
//! | `commit` | the transaction door |
//! | `claim`, `floor` | how a claim goes over lanes, and where it begins |
//! | `lease`, `lane`, `job`, `range`, `cursor`, `outbox`, `event`, `state` | one noun each |
//! | `table` | typed tables of events |
//! | `sql` | statements that a person writes |
//! | `pay` | what is kept of payouts |
//! | `copy` | many rows at once |
//! | `instance`, `proof` | which processes are alive, and how this one shows it |
//! | `health` | clock, description, closing |
//!
//! Invariants: whatever raises an epoch is on disk before its holder hears of it
//! (an epoch that a crash could take back would be given out twice); rows are
//! locked leases first, then lanes by number, names in byte order; no error and
//! no `Debug` output holds a password.

mod claim;
mod commit;
pub mod connect;
mod copy;
mod cursor;
mod error;
mod event;
mod floor;
mod health;
mod instance;
mod job;
mod lane;
mod lease;
mod mark;
mod migrate;
mod outbox;
mod pay;
mod proof;
mod range;
mod row;
mod sql;
mod state;
mod table;
mod tls;
mod transact;
mod tx;

use std::fmt;
use std::sync::{Arc, OnceLock};

use deadpool_postgres::Pool;
use tokio::sync::{RwLock, Semaphore};
use windlass_core::error::StoreResult;
use windlass_core::time::Clock;

pub use crate::connect::PostgresOptions;
pub use crate::migrate::SCHEMA_VERSION;

use crate::connect::{Place, Target};
use crate::floor::Floors;
use crate::job::Completions;
use crate::mark::Marks;
use crate::proof::Proof;

/// A handle on a store in PostgreSQL; clones share their connections.
#[derive(Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    place: Place,
    clock: Option<Arc<dyn Clock>>,
    marks: Marks,
    floors: Floors,
    completions: Completions,
    /// How many commits of many rows may be under way at once.
    bulk: Semaphore,
    proof: OnceLock<Proof>,
    /// Every operation reads it while it runs, so that closing can wait for the last one.
    running: RwLock<()>,
}

impl PostgresStore {
    /// Connects and brings the schema up to date, unless it was opened to look only.
    pub async fn open(options: PostgresOptions) -> StoreResult<Self> {
        let target = Target::parse(&options)?;
        let pool = target.pool(&options)?;
        let session = target.session(&options)?;
        let store = Self {
            inner: Arc::new(Inner {
                pool,
                place: target.place,
                clock: options.clock,
                marks: Marks::default(),
                floors: Floors::default(),
                completions: Completions::default(),
                bulk: Semaphore::new(commit::max_bulk_commits()),
                proof: OnceLock::new(),
                running: RwLock::new(()),
            }),
        };
        if options.read_only {
            store.check_schema().await?;
        } else {
            store.migrate(options.schema.as_deref()).await?;
            if let Err(error) = store.make_views().await {
                // They are for people; nothing else needs them, and the next opening tries again.
                tracing::warn!(%error, "views of tables could not be made");
            }
            if options.prove_alive {
                // It is set once, here.
                let _ = store.inner.proof.set(Proof::begin(session).await);
                store.free_dead().await;
            }
        }
        Ok(store)
    }

    /// This handle's instance, if it has one.
    fn own_id(&self) -> Option<i64> {
        self.inner.proof.get().map(Proof::id)
    }

    /// The instance that leases and lanes taken now name.
    fn named_id(&self) -> Option<i64> {
        self.inner.proof.get().and_then(Proof::named_id)
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.inner.place).finish_non_exhaustive()
    }
}
