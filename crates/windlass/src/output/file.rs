//! A file that is there whole or not at all.
//!
//! What is not finished lies beside it under another name, which nobody is told, and is
//! gone when it fails. A link is followed: what it points to is replaced, the link stays.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Links that lead to links are followed so often: as many as the system follows.
const MAX_LINKS: usize = 40;
/// The rights of a new file, as anybody would make it.
const USUAL_MODE: u32 = 0o666;

/// A file in the making.
pub(crate) struct WholeFile {
    unfinished: NamedTempFile,
    /// Where it goes, links followed.
    path: PathBuf,
}

impl WholeFile {
    /// Begins a file that takes its name in the end. One that is there keeps its rights.
    pub(crate) fn begin(path: &Path) -> io::Result<Self> {
        let path = followed(path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let there = path.metadata().ok().map(|there| there.permissions());
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".windlass-");
        // What is new gets what the user's mask leaves of the usual rights.
        let rights = there.clone().unwrap_or_else(|| Permissions::from_mode(USUAL_MODE));
        let unfinished = builder.permissions(rights).tempfile_in(folder).map_err(nameless)?;
        if let Some(there) = there {
            unfinished.as_file().set_permissions(there)?;
        }
        Ok(Self { unfinished, path })
    }

    /// Gives it its name, in the place of a file that has it.
    pub(crate) fn replace(self) -> io::Result<()> {
        self.unfinished.as_file().sync_all()?;
        self.unfinished.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    /// Gives it its name, unless something has it.
    pub(crate) fn create(self) -> io::Result<()> {
        self.unfinished.as_file().sync_all()?;
        self.unfinished.persist_noclobber(&self.path).map(drop).map_err(|error| error.error)
    }
}

/// To the file itself: errors of its wrapper repeat the name it has for now.
impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfinished.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unfinished.as_file_mut().flush()
    }
}

/// Where a path leads, whether or not there is something.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = path.read_link() else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many links lead to one another"))
}

/// The same error without the name that the file has for now.
fn nameless(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((reason, _)) => io::Error::new(error.kind(), reason.to_owned()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_only_once_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        let mut file = WholeFile::begin(&path).expect("begun");
        file.write_all(b"whole").expect("written");
        assert!(!path.exists());
        file.create().expect("named");
        assert_eq!(std::fs::read(&path).expect("a file"), b"whole");
        let second = WholeFile::begin(&path).expect("begun");
        assert_eq!(second.create().expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
        drop(WholeFile::begin(&path).expect("begun"));
        assert_eq!(names(folder.path()), ["a.csv"], "nothing unfinished is left");
    }

    #[test]
    fn links_are_followed_and_rights_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, near, far) = ["file", "near", "far"].map(|name| folder.path().join(name)).into();
        std::fs::write(&file, "old").expect("written");
        std::fs::set_permissions(&file, Permissions::from_mode(0o666)).expect("rights");
        symlink("file", &near).expect("a link");
        symlink("near", &far).expect("a link");
        let mut new = WholeFile::begin(&far).expect("begun");
        new.write_all(b"new").expect("written");
        new.replace().expect("named");
        assert_eq!(std::fs::read(&file).expect("a file"), b"new");
        assert!(near.is_symlink() && far.is_symlink() && !file.is_symlink());
        assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o666);
        symlink("round", folder.path().join("round")).expect("a link");
        assert!(WholeFile::begin(&folder.path().join("round")).is_err());
    }

    #[test]
    fn nobody_is_told_the_name_it_has_for_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = WholeFile::begin(&folder.path().join("no/a.csv")).err().expect("no folder").to_string();
        assert_eq!(error, "No such file or directory (os error 2)");
    }
}
