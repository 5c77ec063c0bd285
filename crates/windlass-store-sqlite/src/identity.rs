//! Which file was opened. A file that is removed or replaced stays open and takes
//! writes that nobody will ever read; so the writer looks before it writes.

use windlass_core::error::{StoreError, StoreResult};

use crate::connect::Place;

/// The file that was opened; nothing for a database in memory.
pub(crate) struct Identity {
    place: Place,
    file: Option<FileId>,
}

/// Device and inode.
type FileId = (u64, u64);

impl Identity {
    /// Remembers the file that stands at a place now.
    pub(crate) fn of(place: &Place) -> StoreResult<Self> {
        let file = match place {
            Place::Memory => None,
            Place::File(_) => file_id(place),
        };
        Ok(Self { place: place.clone(), file })
    }

    /// Refuses when another file stands there, or none.
    pub(crate) fn check(&self) -> StoreResult<()> {
        if self.file.is_some() && self.file != file_id(&self.place) {
            return Err(StoreError::Gone { place: self.place.to_string() });
        }
        Ok(())
    }
}

#[cfg(unix)]
fn file_id(place: &Place) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;

    let Place::File(path) = place else { return None };
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Place) -> Option<FileId> {
    None
}
