//! Whether the store can be written: found out before any work begins, so that a disk
//! that is full or a database that is read-only is told as what it is.

use windlass_core::commit::{Commit, Write};
use windlass_core::name::StateKey;
use windlass_core::store::Store;

use crate::collect::ledger::unnamed;
use crate::failure::Failure;

/// More than one page of any database, so that it takes room.
const BYTES: usize = 64 << 10;

/// Writes something and takes it away again. One who dies in between leaves it for the
/// next start to take away.
pub(super) async fn write(store: &dyn Store) -> Result<(), Failure> {
    let key = StateKey::new("run/probe").map_err(unnamed)?;
    for value in [Some("0".repeat(BYTES)), None] {
        store.commit(Commit::of(vec![Write::PutState { key: key.clone(), value }])).await?;
    }
    Ok(())
}
