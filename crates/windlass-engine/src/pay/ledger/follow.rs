//! Following the audit log: entry by entry, each held against the one before, and the whole of it
//! against the file outside the database.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use tokio::sync::MutexGuard;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditFault, AuditHead};
use windlass_core::payout::ledger::LedgerIndex;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};

use super::checkpoint::{checkpoint_key, readable_state};
use super::{Followed, Ledger};
use crate::pay::head_file::{HeadFile, HeadFileLock};

impl Ledger {
    /// Follows the log to its end. The entry that was followed last has to be what it was, and the
    /// entry that the file names has to be there: a log that became shorter, or another, is refused.
    pub(super) async fn refresh(&self) -> StoreResult<MutexGuard<'_, Followed>> {
        let arrived = self.rounds.load(Ordering::SeqCst);
        let mut followed = self.followed.lock().await;
        // Whoever was before has begun after this one came: there is nothing more to see.
        if followed.rounds > arrived && followed.checkpoint.is_some() {
            return Ok(followed);
        }
        let round = self.rounds.fetch_add(1, Ordering::SeqCst) + 1;
        let done = self.follow_to_end(&mut followed).await;
        self.remember(done.as_ref().err());
        done?;
        followed.rounds = round;
        Ok(followed)
    }

    async fn follow_to_end(&self, followed: &mut Followed) -> StoreResult<()> {
        // Taken first: another process that signs has to find in the file what is read here.
        let turn = self.free_head_turn();
        // Read first: the log has an entry before the file names it.
        let kept = self.read_head_file()?;
        if followed.checkpoint.is_some() {
            self.follow(&mut followed.index).await?;
            self.hold_against_file(followed, kept).await?;
        } else {
            let checkpoint = readable_state(&*self.store, &checkpoint_key()).await?;
            let checkpoint = checkpoint.and_then(|kept| LedgerIndex::read_checkpoint(&self.key, &kept));
            let mut index = checkpoint.unwrap_or_default();
            let seq = index.head().seq;
            self.follow(&mut index).await?;
            let mut begun = Followed { index, checkpoint: Some(seq), ..Followed::default() };
            self.hold_against_file(&mut begun, kept).await?;
            *followed = begun;
        }
        match turn {
            Some((_turn, lock)) if followed.has_news() => self.keep_head(&lock, followed),
            _ => Ok(()),
        }
    }

    /// Follows the log from an index on.
    pub(super) async fn follow(&self, index: &mut LedgerIndex) -> StoreResult<()> {
        loop {
            let head = index.head();
            let query = AuditQuery { subject: None, after: (head.seq - 1).max(0), limit: MAX_PAYOUT_PAGE };
            let rows = self.store.audit_rows(&query).await?;
            let is_more = rows.len() == MAX_PAYOUT_PAGE as usize;
            let mut rows = rows.iter();
            if head.seq > 0 && !rows.next().is_some_and(|row| AuditHead::of(row) == head) {
                return Err(StoreError::AuditBroken(AuditFault::Cut(head.seq)));
            }
            for row in rows {
                index.follow(&self.key, row).map_err(StoreError::AuditBroken)?;
            }
            if !is_more {
                return Ok(());
            }
        }
    }

    /// Remembers what is wrong with the log, or that nothing is.
    pub(super) fn remember(&self, error: Option<&StoreError>) {
        let found = match error {
            None => None,
            Some(StoreError::AuditBroken(fault)) => Some(*fault),
            // A store in trouble says nothing of the log.
            Some(_) => return,
        };
        let mut known = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fault) = found.filter(|fault| *known != Some(*fault)) {
            tracing::error!(%fault, "the audit log is broken: nothing is paid, and no key is good");
        }
        *known = found;
    }

    pub(super) fn read_head_file(&self) -> StoreResult<Option<AuditHead>> {
        let Some(file) = &self.head_file else { return Ok(None) };
        file.read().map_err(|error| unusable(file, &error))
    }

    /// The log has to hold what the file names: otherwise the database is an older copy, or the
    /// log's end was cut off.
    async fn hold_against_file(&self, followed: &mut Followed, kept: Option<AuditHead>) -> StoreResult<()> {
        let Some(kept) = kept.filter(|kept| followed.kept != Some(*kept)) else { return Ok(()) };
        let head = followed.index.head();
        let cut = StoreError::AuditBroken(AuditFault::Cut(kept.seq));
        if kept.seq > head.seq {
            return Err(cut);
        }
        if kept.seq > 0 && kept != head {
            let query = AuditQuery { subject: None, after: kept.seq - 1, limit: 1 };
            let rows = self.store.audit_rows(&query).await?;
            if !rows.first().is_some_and(|row| AuditHead::of(row) == kept) {
                return Err(cut);
            }
        }
        followed.kept = Some(kept);
        Ok(())
    }

    /// The right to write the file, unless another task or process has it: that one writes its own
    /// end of the log.
    fn free_head_turn(&self) -> Option<(MutexGuard<'_, ()>, HeadFileLock)> {
        let file = self.head_file.as_ref()?;
        let turn = self.head_turn.try_lock().ok()?;
        match file.try_lock() {
            Ok(lock) => lock.map(|lock| (turn, lock)),
            Err(error) => {
                not_kept(file, &error);
                None
            }
        }
    }

    /// Writes the log's end to the file. The file may name a later entry already; another one in
    /// the same place says that the log was rewritten.
    pub(super) fn keep_head(&self, lock: &HeadFileLock, followed: &mut Followed) -> StoreResult<()> {
        let head = followed.index.head();
        match lock.advance(head) {
            Ok(kept) if kept.seq == head.seq && kept != head => {
                Err(StoreError::AuditBroken(AuditFault::Cut(head.seq)))
            }
            Ok(kept) if kept == head => {
                followed.kept = Some(kept);
                Ok(())
            }
            // It is held against the log in the next round.
            Ok(_) => Ok(()),
            Err(error) => {
                if let Some(file) = &self.head_file {
                    not_kept(file, &error);
                }
                Ok(())
            }
        }
    }
}

impl Followed {
    /// Whether the log has entries behind the one that the file names.
    pub(super) fn has_news(&self) -> bool {
        let head = self.index.head();
        head.seq > self.kept.map_or(0, |kept| kept.seq)
    }
}

/// The file can be neither read nor locked.
pub(super) fn unusable(file: &HeadFile, error: &std::io::Error) -> StoreError {
    StoreError::Other(format!("{}: {error}", file.path().display()))
}

fn not_kept(file: &HeadFile, error: &std::io::Error) {
    tracing::error!(%error, file = %file.path().display(), "the audit log's end cannot be kept outside the database");
}
