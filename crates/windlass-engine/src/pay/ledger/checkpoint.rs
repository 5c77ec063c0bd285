//! From where the log is followed at the next start, so that it need not be from its first entry.

use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::StateKey;
use windlass_core::payout::ledger::{CHECKPOINT_KEY, MAX_CHECKPOINT_BYTES};
use windlass_core::store::Store;

use super::Ledger;

/// After at least so many entries a checkpoint is made.
const CHECKPOINT_ENTRIES: i64 = 5_000;

impl Ledger {
    /// Makes a checkpoint if the log has grown enough since the last one.
    pub async fn checkpoint(&self) -> StoreResult<bool> {
        let mut followed = self.refresh().await?;
        let index = &followed.index;
        let seq = index.head().seq;
        let due = CHECKPOINT_ENTRIES.max(4 * i64::try_from(index.len()).unwrap_or(i64::MAX / 4));
        if seq - followed.checkpoint.unwrap_or(0) < due {
            return Ok(false);
        }
        let value = index.checkpoint(&self.key);
        followed.checkpoint = Some(seq);
        drop(followed);
        if value.len() > MAX_CHECKPOINT_BYTES {
            return Ok(false);
        }
        let write = Write::PutState { key: checkpoint_key(), value: Some(value) };
        self.store.commit(Commit::of(vec![write]).relaxed()).await?;
        Ok(true)
    }
}

pub(super) fn checkpoint_key() -> StateKey {
    StateKey::new(CHECKPOINT_KEY).expect("a name of letters and slashes")
}

/// The value kept under a key. What cannot be read is as good as none: none of these is believed without
/// its code.
pub(in crate::pay) async fn readable_state(
    store: &(impl Store + ?Sized),
    key: &StateKey,
) -> StoreResult<Option<String>> {
    match store.state(key).await {
        Err(StoreError::Corrupt(_)) => Ok(None),
        kept => kept,
    }
}
