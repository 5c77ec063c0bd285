//! Opening SQLite: where it is, how it is set up, and what can be wrong with it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::Clock;

use crate::error::sqlite_error;
use crate::table;

/// How long a commit waits for another process that is writing.
pub const WRITE_WAIT: Duration = Duration::from_secs(5);
/// The pause before an opening that met another one tries again.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
/// The write-ahead log is folded into the database at this size, in pages.
const CHECKPOINT_PAGES: u32 = 4_000;
/// What remains of the write-ahead log's file after a checkpoint, in bytes.
const WAL_FILE_BYTES: u32 = 64 << 20;
/// How many compiled statements a connection keeps.
const MAX_STATEMENTS: usize = 128;
/// How much of the database the writer keeps in memory, in KiB.
const CACHE_KIB: u32 = 32 << 10;

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// Memory, gone when the store is.
    Memory,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory => f.write_str(":memory:"),
        }
    }
}

/// How to open a database.
#[derive(Clone)]
pub struct SqliteOptions {
    /// Where it is.
    pub place: Place,
    /// The clock that leases go by; the system's unless given.
    pub clock: Option<Arc<dyn Clock>>,
    /// Look, but write nothing: no file is created, no schema changed.
    pub read_only: bool,
    /// How many reading connections are kept.
    pub max_readers: usize,
    /// The database may not grow past this size.
    pub max_bytes: Option<u64>,
    /// Prove to other processes that this one is alive, by a lock beside the file: when it
    /// dies, they need not wait until its leases have run out.
    pub prove_alive: bool,
}

impl SqliteOptions {
    /// A database in a file, created when it is missing.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::at(Place::File(path.into()))
    }

    /// A database in memory.
    pub fn memory() -> Self {
        Self::at(Place::Memory)
    }

    fn at(place: Place) -> Self {
        Self { place, clock: None, read_only: false, max_readers: 4, max_bytes: None, prove_alive: false }
    }

    /// The same, with leases that go by this clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }
}

/// Opens the connection that writes.
pub(crate) fn open_writer(options: &SqliteOptions) -> StoreResult<Connection> {
    if options.read_only {
        return open_reader(options);
    }
    if let Place::File(path) = &options.place {
        create_private(path);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = open(options, flags)?;
    set_up_writer(&connection, options).map_err(|error| at(&options.place, error))?;
    Ok(connection)
}

/// Creates a database file that only its owner can read: it has signed transactions and hashes of
/// API keys in it. SQLite gives the log beside it the same mode. A file that exists keeps its mode,
/// and a file that cannot be created is SQLite's to report.
fn create_private(path: &Path) {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Opens a connection that cannot write.
pub(crate) fn open_reader(options: &SqliteOptions) -> StoreResult<Connection> {
    let connection = open(options, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(WRITE_WAIT).map_err(sqlite_error)?;
    Ok(connection)
}

fn open(options: &SqliteOptions, flags: OpenFlags) -> StoreResult<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match &options.place {
        Place::File(path) => Connection::open_with_flags(path, flags),
        Place::Memory => Connection::open_in_memory(),
    };
    let connection = opened.map_err(|error| at(&options.place, sqlite_error(error)))?;
    // Without this, a bound LIMIT makes SQLite compile the statement anew at each call.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(sqlite_error)?;
    connection.set_prepared_statement_cache_capacity(MAX_STATEMENTS);
    table::register(&connection)?;
    Ok(connection)
}

fn set_up_writer(connection: &Connection, options: &SqliteOptions) -> StoreResult<()> {
    connection.busy_timeout(WRITE_WAIT).map_err(sqlite_error)?;
    let set = |name: &str, value: &str| connection.pragma_update(None, name, value).map_err(sqlite_error);
    retry_while_busy(|| set("journal_mode", "WAL"))?;
    set("wal_autocheckpoint", &CHECKPOINT_PAGES.to_string())?;
    set("journal_size_limit", &WAL_FILE_BYTES.to_string())?;
    set("cache_size", &format!("-{CACHE_KIB}"))?;
    if let Some(bytes) = options.max_bytes {
        let page: u32 =
            connection.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(sqlite_error)?;
        set("max_page_count", &(bytes / u64::from(page)).max(1).to_string())?;
    }
    Ok(())
}

/// Tries again for as long as a commit would wait. Where two connections switch a new file to the
/// write-ahead log at once, SQLite refuses one of them immediately: both hold a shared lock, and
/// with a busy handler each would wait for the other.
fn retry_while_busy(change: impl Fn() -> StoreResult<()>) -> StoreResult<()> {
    let begun = Instant::now();
    loop {
        match change() {
            Err(StoreError::Busy) if begun.elapsed() < WRITE_WAIT => std::thread::sleep(BUSY_PAUSE),
            answer => return answer,
        }
    }
}

/// A file that cannot be opened is named.
fn at(place: &Place, error: StoreError) -> StoreError {
    match error {
        StoreError::Unreachable { reason, .. } => {
            StoreError::Unreachable { place: place.to_string(), reason }
        }
        StoreError::Corrupt(reason) => StoreError::Corrupt(format!("{place}: {reason}")),
        other => other,
    }
}
