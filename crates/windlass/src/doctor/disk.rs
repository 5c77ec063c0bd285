//! The disk under a SQLite file.

use std::path::{Path, PathBuf};

use windlass_core::code::Code;

use super::report::Finding;
use crate::compose::store;
use crate::config::database::{Database, Location};
use crate::failure::Failure;

/// Below this it is time to do something.
const LOW_BYTES: u64 = 2 << 30;
/// Below this the next write may fail.
const FULL_BYTES: u64 = 64 << 20;

const SUBJECT: &str = "disk";

/// Looks at the free space where the database is; nothing for a server, which has its own disk.
pub(super) fn examine(database: &Database) -> Option<Finding> {
    let Ok(Location::Sqlite(path)) = store::locate(database) else { return None };
    let folder = folder_of(&path);
    // A missing folder is reported with the database.
    let space = rustix::fs::statvfs(&folder).ok()?;
    Some(judge(&folder, space.f_bavail.saturating_mul(space.f_frsize)))
}

/// The folder that holds a file.
pub(super) fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn judge(folder: &Path, free_bytes: u64) -> Finding {
    let message = format!("{} MiB free at {}", free_bytes >> 20, folder.display());
    if free_bytes < FULL_BYTES {
        let hint = "free some space, or move the database";
        return Finding::failed(SUBJECT, Failure::coded(Code::DiskFull, message).hint(hint));
    }
    if free_bytes < LOW_BYTES {
        return Finding::warning(
            SUBJECT,
            message,
            "free some space soon; a million events take about 400 MiB",
        );
    }
    Finding::ok(SUBJECT, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    #[test]
    fn little_space_is_a_warning_and_none_a_failure() {
        let level = |bytes| judge(Path::new("/x"), bytes).level;
        assert_eq!(level(FULL_BYTES - 1), Level::Failure);
        assert_eq!(level(LOW_BYTES - 1), Level::Warning);
        assert_eq!(level(LOW_BYTES), Level::Ok);
    }

    #[test]
    fn a_bare_name_is_in_the_current_folder() {
        assert_eq!(folder_of(Path::new("windlass.db")), Path::new("."));
        assert_eq!(folder_of(Path::new("/var/lib/windlass.db")), Path::new("/var/lib"));
    }
}
