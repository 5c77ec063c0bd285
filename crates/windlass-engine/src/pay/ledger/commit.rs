//! Commits: what has to hold of the audit log before, while and after rows are written.
//!
//! - **Before**: no row is written that the log names in the same or a later version. A row that
//!   was put back to an older version after it was verified is found here.
//! - **While** the store holds the log's end, it refuses the commit where an entry that came since
//!   names one of its rows ([`check_tail`](windlass_core::payout::ledger::check_tail)).
//! - **After**: the log has to name what was written. Otherwise it was taken away, and whoever
//!   asked for it must not hear that it was done.
//!
//! The file outside the database goes along. A commit that signs holds the file's lock throughout,
//! so that no entry which another process of this machine has written to the file is cut off
//! between the look at the file and the signature.

use std::time::Duration;

use tokio::sync::MutexGuard;
use tokio::time::{Instant, sleep};
use windlass_core::commit::{Commit, Durability, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditFault, AuditHead};
use windlass_core::payout::ledger::{PayWrite, RowVersion};

use super::follow::unusable;
use super::naming::authenticate;
use super::{Followed, Ledger};
use crate::pay::head_file::HeadFileLock;

/// How long the file's lock is waited for. Who has it holds it for one commit.
const HEAD_FILE_WAIT: Duration = Duration::from_secs(10);
/// How often it is tried meanwhile.
const HEAD_FILE_PAUSE: Duration = Duration::from_millis(5);

/// The file is this task's to write.
struct HeadTurn<'a> {
    lock: HeadFileLock,
    _turn: MutexGuard<'a, ()>,
}

impl Ledger {
    /// Commits rows with their codes, named in the audit log.
    pub async fn commit(&self, mut commit: Commit) -> StoreResult<()> {
        let versions = authenticate(&self.key, &mut commit.writes);
        self.know_signed(&commit);
        if !commit.writes.iter().any(is_logged) {
            return self.store.commit(commit).await.map(drop);
        }
        // The file names the entry at once: a loss of power must not take the entry away again.
        commit.durability = Durability::Full;
        let turn = if commit.writes.iter().any(is_signed) { self.head_turn().await? } else { None };
        // What replaces a refused approval has its version, as there is no other.
        let is_replaced = |write: &Write| matches!(write, Write::Pay(PayWrite::Replace(_)));
        let decided_on = if commit.writes.iter().any(is_replaced) { &[] } else { &versions[..] };
        let known = self.followed_for(decided_on).await?;
        for write in &mut commit.writes {
            if let Write::Pay(PayWrite::Audit { followed, .. }) = write {
                *followed = Some(known);
            }
        }
        let done = self.store.commit(commit).await;
        self.remember_broken(done.as_ref().err());
        done?;
        self.confirm(&versions, turn).await
    }

    /// Up to where the log was followed, none of these rows being named in this or a later version.
    async fn followed_for(&self, versions: &[RowVersion]) -> StoreResult<AuditHead> {
        let kept = self.read_head_file()?;
        let mut followed = self.followed.lock().await;
        let is_behind = kept.is_some_and(|kept| kept.seq > followed.index.head().seq);
        if followed.checkpoint.is_none() || is_behind {
            drop(followed);
            followed = self.refresh().await?;
        }
        let is_known = |version: &&RowVersion| {
            followed.index.last_version(&version.row).is_some_and(|last| last >= version.version)
        };
        match versions.iter().find(is_known) {
            Some(version) => Err(StoreError::Stale(version.row.to_string())),
            None => Ok(followed.index.head()),
        }
    }

    /// The log names what was written, and the file the log's end. The log is followed under the
    /// file's lock: what was cut off while another process signed is not there any more.
    async fn confirm(&self, versions: &[RowVersion], turn: Option<HeadTurn<'_>>) -> StoreResult<()> {
        let turn = match turn {
            Some(turn) => Some(turn),
            None if self.is_kept(versions).await => return Ok(()),
            None => self.head_turn().await?,
        };
        let mut followed = self.refresh().await?;
        if let Some(lost) = versions.iter().find(|version| !followed.index.has_named(version)) {
            let fault = AuditFault::Missing(followed.index.head().seq + 1);
            tracing::error!(%fault, "what was written of {} is not in the audit log", lost.row);
            return Err(StoreError::AuditBroken(fault));
        }
        self.write_head(turn, &mut followed)
    }

    /// Whether another task or process has seen these rows named, and has kept the log's end.
    async fn is_kept(&self, versions: &[RowVersion]) -> bool {
        let followed = self.followed.lock().await;
        let is_named = versions.iter().all(|version| followed.index.has_named(version));
        self.head_file.is_some() && !versions.is_empty() && is_named && !followed.has_news()
    }

    fn write_head(&self, turn: Option<HeadTurn<'_>>, followed: &mut Followed) -> StoreResult<()> {
        let Some(turn) = turn else { return Ok(()) };
        let done = self.keep_head(&turn.lock, followed);
        self.remember_broken(done.as_ref().err());
        done
    }

    /// Waits until the file is this task's to write; nothing where there is no file.
    async fn head_turn(&self) -> StoreResult<Option<HeadTurn<'_>>> {
        let Some(file) = &self.head_file else { return Ok(None) };
        let turn = self.head_turn.lock().await;
        let deadline = Instant::now() + HEAD_FILE_WAIT;
        loop {
            match file.try_lock() {
                Ok(Some(lock)) => return Ok(Some(HeadTurn { lock, _turn: turn })),
                Ok(None) if Instant::now() < deadline => sleep(HEAD_FILE_PAUSE).await,
                Ok(None) => return Err(StoreError::Busy),
                Err(error) => return Err(unusable(file, &error)),
            }
        }
    }

    fn remember_broken(&self, error: Option<&StoreError>) {
        if error.is_some() {
            self.remember(error);
        }
    }
}

/// Whether entries are added to the audit log.
fn is_logged(write: &Write) -> bool {
    matches!(write, Write::Pay(PayWrite::Audit { entries, .. }) if !entries.is_empty())
}

/// Whether signed bytes are written, which could be sent by whoever reads them.
fn is_signed(write: &Write) -> bool {
    matches!(write, Write::Pay(PayWrite::Attempts(attempts)) if !attempts.is_empty())
}
