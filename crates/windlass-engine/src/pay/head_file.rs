//! The end of the audit log, kept in a file that is not in the database.
//!
//! Whoever can write to the database can put the whole of it back to an older copy, log and
//! all, or remove the newest entries. What was revoked or rejected by them would be forgotten,
//! and nothing in the database shows it. The file does: the log has to hold the entry that the
//! file names.
//!
//! Processes of a machine share the file, and who writes it holds its lock. It never goes back.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use windlass_core::payout::audit::AuditHead;

/// The file.
#[derive(Debug, Clone)]
pub struct HeadFile {
    path: PathBuf,
}

/// The file, while no other process writes it.
#[derive(Debug)]
pub struct HeadFileLock {
    file: HeadFile,
    /// Unlocked when it is closed, also by the death of the process.
    _lock: File,
}

impl HeadFile {
    /// The file at a path; it is made when there is something to keep.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entry that it names; none before it was written.
    pub fn read(&self) -> io::Result<Option<AuditHead>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock; nothing while another process or task has it.
    pub fn try_lock(&self) -> io::Result<Option<HeadFileLock>> {
        let lock = self.lock_file()?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(HeadFileLock { file: self.clone(), _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Names another entry from now on: a person has decided so.
    pub fn replace(&self, head: AuditHead) -> io::Result<()> {
        let lock = self.lock_file()?;
        lock.lock()?;
        self.put(head)
    }

    fn lock_file(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        File::options().create(true).append(true).open(self.beside("lock"))
    }

    /// Takes the place of what was there in one step, so that nobody reads half of it, and is on
    /// the disk before that: a loss of power leaves this file or the one before, never an empty one.
    fn put(&self, head: AuditHead) -> io::Result<()> {
        let new = self.beside("new");
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(serde_json::json!(head).to_string().as_bytes())?;
        file.sync_data()?;
        drop(file);
        fs::rename(&new, &self.path)
    }

    fn beside(&self, what: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{what}"));
        PathBuf::from(name)
    }
}

impl HeadFileLock {
    /// Goes on to a later entry. Returns the entry that the file names now, which is a later one
    /// where another process has written it.
    pub fn advance(&self, head: AuditHead) -> io::Result<AuditHead> {
        match self.file.read()? {
            Some(kept) if kept.seq >= head.seq => Ok(kept),
            _ => self.file.put(head).map(|()| head),
        }
    }
}
