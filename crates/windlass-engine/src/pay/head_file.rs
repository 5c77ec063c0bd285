//! The end of the audit log, kept in a file that is not in the database.
//!
//! Whoever can write to the database can put the whole of it back to an older copy, log and
//! all. What was revoked or rejected since would be forgotten, and nothing in the database
//! shows it. The file does: the log has to hold the entry that the file names.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use windlass_core::payout::audit::AuditHead;

/// The file. Several processes of a machine may share it: it never goes back.
#[derive(Debug, Clone)]
pub struct HeadFile {
    path: PathBuf,
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

    /// What it says; nothing before it was written, or where the loss of power has emptied it.
    pub fn read(&self) -> io::Result<Option<AuditHead>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) if text.is_empty() => return Ok(None),
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        serde_json::from_str(&text).map(Some).map_err(io::Error::other)
    }

    /// Goes on to a later entry; what is behind the file already changes nothing.
    pub fn advance(&self, head: AuditHead) -> io::Result<()> {
        let lock = self.lock()?;
        if self.read()?.is_none_or(|kept| kept.seq < head.seq) {
            self.put(head)?;
        }
        lock.unlock()
    }

    /// Says something else from now on: a person has decided so.
    pub fn replace(&self, head: AuditHead) -> io::Result<()> {
        let lock = self.lock()?;
        self.put(head)?;
        lock.unlock()
    }

    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let lock = File::options().create(true).append(true).open(self.beside("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Takes the place of what was there in one step, so that nobody reads half of it.
    fn put(&self, head: AuditHead) -> io::Result<()> {
        let new = self.beside("new");
        let mut file = File::create(&new)?;
        file.write_all(serde_json::json!(head).to_string().as_bytes())?;
        drop(file);
        fs::rename(&new, &self.path)
    }

    fn beside(&self, what: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".{what}"));
        PathBuf::from(name)
    }
}
