//! Which processes that hold leases and lanes are alive.
//!
//! A handle that is opened for work registers an instance: a row in the database and a file
//! of its own in a folder beside it, on which it keeps an exclusive lock. The operating
//! system drops the lock when the process ends, however it ends. Another process of the same
//! boot of the same machine that gets the lock therefore knows that the instance is dead,
//! and lets its leases and lanes run out at once; whoever takes one raises its epoch as
//! always, so that a holder that was alive after all is fenced.
//!
//! Invariant: doubt means waiting. Another boot or machine, a lock file that is missing or
//! cannot be read, a system without a boot id: nothing is concluded, and leases last until
//! their time has run out.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::LeaseName;

use crate::SqliteStore;
use crate::connect::Place;
use crate::error::Translate;
use crate::row::{get, name};
use crate::writer::Tx;

/// What the folder of lock files is called, behind the name of the database.
const FOLDER_SUFFIX: &str = "-alive";
/// Where Linux says which boot this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How often a lock file is made before the handle does without one.
const MAX_TRIES: u32 = 8;
/// No more lock files of dead instances are removed at once.
const MAX_REMOVED_FILES: usize = 1_000;

/// This handle's instance, if it has one, and what it takes to judge others.
#[derive(Default)]
pub(crate) struct Instances {
    /// Where lock files are, and which boot of which machine this is.
    site: Option<Site>,
    own: OnceLock<Own>,
}

struct Site {
    folder: PathBuf,
    boot_id: String,
}

/// The lock that proves that this process is alive.
struct Own {
    id: i64,
    path: PathBuf,
    /// Locked for as long as it is open.
    _lock: File,
}

impl Instances {
    /// What can be known beside a database. Nothing is written.
    pub(crate) fn beside(place: &Place) -> Self {
        let Place::File(path) = place else { return Self::default() };
        Self { site: Site::beside(path), own: OnceLock::new() }
    }

    /// The instance that leases and lanes taken by this handle name.
    pub(crate) fn own_id(&self) -> Option<i64> {
        self.own.get().map(|own| own.id)
    }

    /// Whether an instance of this boot is known to be dead.
    fn is_dead(&self, id: i64) -> bool {
        let Some(site) = &self.site else { return false };
        self.own_id() != Some(id) && site.is_unlocked(id)
    }
}

impl Site {
    /// Two paths to one file lead to one folder.
    fn beside(path: &Path) -> Option<Self> {
        let boot_id = fs::read_to_string(BOOT_ID).ok()?.trim().to_owned();
        let mut folder = fs::canonicalize(path).ok()?.into_os_string();
        folder.push(FOLDER_SUFFIX);
        (!boot_id.is_empty()).then(|| Self { folder: folder.into(), boot_id })
    }

    fn lock_path(&self, id: i64) -> PathBuf {
        self.folder.join(format!("{id:016x}"))
    }

    /// Whether the lock of an instance is there and nobody has it. Looking shares the lock,
    /// so that two who look do not take each other for the instance.
    fn is_unlocked(&self, id: i64) -> bool {
        File::open(self.lock_path(id)).is_ok_and(|file| file.try_lock_shared().is_ok())
    }

    /// Makes and locks a file of a new instance. Another process may remove the file before
    /// it is locked, for it looks like one of a dead instance: then another is made.
    fn lock_new(&self) -> io::Result<Own> {
        let random = RandomState::new();
        for attempt in 0..MAX_TRIES {
            fs::create_dir_all(&self.folder)?;
            let id = (random.hash_one((std::process::id(), attempt)) >> 1) as i64;
            let path = self.lock_path(id);
            let lock = match File::create_new(&path) {
                Ok(file) => file,
                // Another instance's file, or a folder that its last user has just removed.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            match lock.try_lock() {
                Ok(()) if is_same_file(&lock, &path) => return Ok(Own { id, path, _lock: lock }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("no lock file could be kept"))
    }

    /// Removes lock files that nobody has locked and no row names. Only what was committed counts:
    /// the death of an instance whose row comes back could not be proven without its file.
    fn remove_stale_files(&self, tx: &Tx<'_>) -> StoreResult<()> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Ok(()) };
        for entry in entries.flatten().take(MAX_REMOVED_FILES) {
            let id = entry.file_name().to_str().and_then(|name| i64::from_str_radix(name, 16).ok());
            let Some(id) = id.filter(|id| self.lock_path(*id) == entry.path()) else { continue };
            let Ok(file) = File::open(entry.path()) else { continue };
            // The lock is kept until the file is gone, so that nobody begins to use it.
            if file.try_lock().is_ok() && !is_registered(tx, id)? {
                // A file that stays is tried again at the next opening.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(opened), Ok(named)) => identity(opened) == identity(named),
        _ => false,
    }
}

/// Only systems with a boot id get here.
#[cfg(not(unix))]
fn is_same_file(_: &File, _: &Path) -> bool {
    false
}

impl SqliteStore {
    /// Registers this handle, and frees what dead ones have held. A handle that cannot prove
    /// that it is alive works all the same: its leases have to run out.
    pub(crate) async fn register(&self) {
        let instances = self.inner.instances.clone();
        let registered = self
            .write(Durability::Relaxed, move |tx| {
                let Some(site) = &instances.site else { return Ok(None) };
                let own = match site.lock_new() {
                    Ok(own) => own,
                    Err(error) => {
                        tracing::warn!(%error, "cannot lock a file beside the database: after a crash its leases have to run out");
                        return Ok(None);
                    }
                };
                register(tx, site, &own)?;
                free_dead(tx)?;
                Ok(Some(own))
            })
            .await;
        match registered {
            Ok(Some(own)) => {
                drop(self.inner.instances.own.set(own));
                self.remove_stale_files().await;
            }
            Ok(None) => {}
            // Whoever writes next is told, with what to do.
            Err(error @ (StoreError::ReadOnly | StoreError::DiskFull)) => {
                tracing::debug!(%error, "the process could not be registered");
            }
            Err(error) => tracing::warn!(
                %error,
                "the process could not be registered: after a crash its leases have to run out"
            ),
        }
    }

    /// Removes the lock files that no committed row names.
    async fn remove_stale_files(&self) {
        let instances = self.inner.instances.clone();
        let removed = self
            .inner
            .writer
            .run_reading(move |tx| match &instances.site {
                Some(site) => site.remove_stale_files(tx),
                None => Ok(()),
            })
            .await;
        if let Err(error) = removed {
            // The next opening tries again.
            tracing::debug!(%error, "lock files of ended processes stay");
        }
    }

    /// Frees what this handle holds and removes its lock file: nobody can write under its
    /// leases any more. What cannot be removed is removed by the next process.
    pub(crate) async fn unregister(&self) {
        let instances = self.inner.instances.clone();
        let Some(id) = instances.own_id() else { return };
        let unregistered = self.write(Durability::Relaxed, move |tx| free(tx, id)).await;
        if unregistered.is_ok()
            && let Some(own) = instances.own.get()
        {
            let _ = fs::remove_file(&own.path);
            // Only the last one can.
            let _ = own.path.parent().map(fs::remove_dir);
        }
    }
}

fn register(tx: &Tx<'_>, site: &Site, own: &Own) -> StoreResult<()> {
    // Instances of other boots are dead or out of sight; those that hold nothing are forgotten.
    tx.execute(
        "DELETE FROM instance WHERE boot_id <> ?1 \
             AND NOT EXISTS (SELECT 1 FROM lease WHERE instance_id = instance.id \
                 AND owner IS NOT NULL AND expires_at_ms > ?2) \
             AND NOT EXISTS (SELECT 1 FROM lane WHERE instance_id = instance.id \
                 AND owner IS NOT NULL AND available_at_ms > ?2)",
        (&site.boot_id, tx.now.as_ms()),
    )?;
    tx.execute(
        "INSERT INTO instance (id, boot_id, started_at_ms) VALUES (?1, ?2, ?3)",
        (own.id, &site.boot_id, tx.now.as_ms()),
    )?;
    Ok(())
}

fn is_registered(tx: &Tx<'_>, id: i64) -> StoreResult<bool> {
    tx.prepare("SELECT 1 FROM instance WHERE id = ?1")?.exists([id]).translate()
}

/// Lets everything that dead instances hold run out now; says how many were dead.
pub(crate) fn free_dead(tx: &Tx<'_>) -> StoreResult<usize> {
    let dead = dead(tx)?;
    for id in &dead {
        tx.freed(free(tx, *id)?);
    }
    Ok(dead.len())
}

/// Logs how many leases and lanes of dead instances a transaction has freed. Called after its
/// commit: one that fails frees nothing.
pub(crate) fn log_freed(held: usize) {
    if held > 0 {
        tracing::info!(held, "a process that held leases or jobs has ended: they are free now");
    }
}

/// Runs a claim of lanes. If there are none, dead instances may hold some: then it is run again.
pub(crate) fn claim_or_free<T>(
    tx: &Tx<'_>,
    claim: impl Fn(&Tx<'_>) -> StoreResult<Vec<T>>,
) -> StoreResult<Vec<T>> {
    let claimed = claim(tx)?;
    if claimed.is_empty() && free_dead(tx)? > 0 { claim(tx) } else { Ok(claimed) }
}

/// Whether an instance is known to be dead.
pub(crate) fn is_any_dead(tx: &Tx<'_>) -> StoreResult<bool> {
    Ok(!dead(tx)?.is_empty())
}

/// The instances that are known to be dead.
fn dead(tx: &Tx<'_>) -> StoreResult<Vec<i64>> {
    let Some(site) = &tx.instances.site else { return Ok(Vec::new()) };
    let mut statement = tx.prepare("SELECT id FROM instance WHERE boot_id = ?1")?;
    let mut rows = statement.query([&site.boot_id]).translate()?;
    let mut dead = Vec::new();
    while let Some(row) = rows.next().translate()? {
        let id = get(row, 0)?;
        if tx.instances.is_dead(id) {
            dead.push(id);
        }
    }
    Ok(dead)
}

/// Lets everything that an instance holds run out now, and forgets the instance; says how
/// many leases and lanes that were.
fn free(tx: &Tx<'_>, id: i64) -> StoreResult<usize> {
    let leases = tx.execute(
        "UPDATE lease SET expires_at_ms = ?2 \
         WHERE instance_id = ?1 AND owner IS NOT NULL AND expires_at_ms > ?2",
        (id, tx.now.as_ms()),
    )?;
    let lanes = tx.execute(
        "UPDATE lane SET available_at_ms = ?2 \
         WHERE instance_id = ?1 AND owner IS NOT NULL AND available_at_ms > ?2",
        (id, tx.now.as_ms()),
    )?;
    tx.execute("DELETE FROM instance WHERE id = ?1", [id])?;
    Ok(leases + lanes)
}

/// The leases that dead instances hold.
pub(crate) fn abandoned_leases(tx: &Tx<'_>) -> StoreResult<Vec<LeaseName>> {
    let mut leases = Vec::new();
    for id in dead(tx)? {
        let mut statement = tx.prepare(
            "SELECT name FROM lease WHERE instance_id = ?1 AND owner IS NOT NULL AND expires_at_ms > ?2 \
             ORDER BY name",
        )?;
        let mut rows = statement.query((id, tx.now.as_ms())).translate()?;
        while let Some(row) = rows.next().translate()? {
            leases.push(name(row, 0)?);
        }
    }
    Ok(leases)
}
