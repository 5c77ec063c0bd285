//! Keystore files on disk.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use super::KeystoreTrouble;

/// The largest file that is read; a keystore has about 500 bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Reads a file of a reasonable size.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, KeystoreTrouble> {
    try_read(path).map_err(|error| KeystoreTrouble::Unreadable(error.to_string()))
}

fn try_read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for somebody to write to it.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    Ok(content)
}

/// Writes a file that was not there. Whatever happens, there is a whole one or none, and
/// once this returns it stays.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), KeystoreTrouble> {
    try_write(path, content).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => KeystoreTrouble::Exists,
        _ => KeystoreTrouble::Unwritable(error.to_string()),
    })
}

fn try_write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // A temporary file is its owner's alone (mode 0600), and goes when this fails.
    let mut file = tempfile::Builder::new().prefix(".keystore-").tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}
