//! What must be true of a SQLite file before it is opened: it is a file, and this
//! user may write it and its folder, where SQLite keeps two more files beside it.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use windlass_core::code::Code;

use super::report::Finding;
use crate::compose::store;
use crate::failure::Failure;

/// What was seen at the path and its folder.
#[derive(Debug, Clone, Copy)]
struct Seen {
    is_folder: bool,
    exists: bool,
    may_be_written: bool,
    parent_exists: bool,
    parent_may_be_written: bool,
}

/// Looks before the file is opened. `Some` when there is nothing to open, for good or bad.
pub(super) fn examine(subject: &str, path: &Path) -> Option<Finding> {
    let parent = super::disk::folder_of(path);
    let seen = Seen {
        is_folder: path.is_dir(),
        exists: path.exists(),
        may_be_written: may(path, Access::READ_OK | Access::WRITE_OK),
        parent_exists: parent.is_dir(),
        parent_may_be_written: may(&parent, Access::WRITE_OK | Access::EXEC_OK),
    };
    match judge(path, &parent, seen) {
        Ok(true) => None,
        Ok(false) => {
            Some(Finding::ok(subject, format!("sqlite at {}, created by the first run", path.display())))
        }
        Err(failure) => Some(Finding::failed(subject, failure)),
    }
}

/// Whether the effective user has these rights.
fn may(path: &Path, access: Access) -> bool {
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}

/// Whether there is a file to open, or what is in the way.
fn judge(path: &Path, parent: &Path, seen: Seen) -> Result<bool, Failure> {
    let rights = "give the user that runs windlass the right to write it, or change `database.url`";
    let read_only = |message: String| Failure::coded(Code::DatabaseReadOnly, message).hint(rights);
    let (path_shown, parent) = (path.display(), parent.display());
    if seen.is_folder {
        return Err(store::folder(path));
    }
    if !seen.parent_exists {
        let message = format!("the folder `{parent}` does not exist");
        let hint = "create it, or change `database.url`";
        return Err(Failure::coded(Code::DatabaseUnreachable, message).hint(hint));
    }
    if !seen.parent_may_be_written {
        let message =
            format!("the folder `{parent}` may not be written, and SQLite keeps files beside its own");
        return Err(read_only(message));
    }
    if seen.exists && !seen.may_be_written {
        return Err(read_only(format!("the file `{path_shown}` may not be written")));
    }
    Ok(seen.exists)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Seen = Seen {
        is_folder: false,
        exists: true,
        may_be_written: true,
        parent_exists: true,
        parent_may_be_written: true,
    };

    fn code(seen: Seen) -> Result<bool, Option<Code>> {
        judge(Path::new("/a/b.db"), Path::new("/a"), seen).map_err(|failure| failure.code)
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        assert_eq!(code(WELL), Ok(true));
        assert_eq!(code(Seen { exists: false, may_be_written: false, ..WELL }), Ok(false));
        let unreachable = Err(Some(Code::DatabaseUnreachable));
        assert_eq!(code(Seen { is_folder: true, ..WELL }), unreachable);
        assert_eq!(code(Seen { parent_exists: false, parent_may_be_written: false, ..WELL }), unreachable);
        let read_only = Err(Some(Code::DatabaseReadOnly));
        assert_eq!(code(Seen { parent_may_be_written: false, ..WELL }), read_only);
        assert_eq!(code(Seen { may_be_written: false, ..WELL }), read_only);
    }

    #[test]
    fn rights_are_looked_up() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(may(folder.path(), Access::WRITE_OK | Access::EXEC_OK));
        assert!(!may(&folder.path().join("none"), Access::WRITE_OK));
    }
}
