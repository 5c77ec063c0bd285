//! How a transaction proves that it was committed.
//!
//! A connection can be lost between the COMMIT and its answer. Each transaction
//! that must not be repeated blindly therefore writes a number into a row that
//! only it uses. Locking that row afterwards waits for whatever the server still
//! does in the lost session; the number in it then tells what became of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use deadpool_postgres::Client;
use windlass_core::error::StoreError;

use crate::error::Outcome;
use crate::row::get;
use crate::tx::Tx;

/// Marks of stores that are gone are forgotten after this many days.
const KEEP_MARKS_DAYS: i32 = 7;

/// A row of `commit_mark` that one transaction uses. Dropped, it is free for the
/// next one, which writes the next number, so that neither mistakes the other's for
/// its own.
pub(crate) struct Mark<'a> {
    marks: &'a Marks,
    row: MarkRow,
}

#[derive(Debug, Clone, Copy)]
struct MarkRow {
    id: i64,
    nonce: i64,
}

/// The marks that no transaction uses: as many as ever were under way at once.
#[derive(Default)]
pub(crate) struct Marks {
    free: Mutex<Vec<MarkRow>>,
}

impl Marks {
    /// A mark for one transaction.
    pub(crate) async fn take(&self, client: &Client) -> Outcome<Mark<'_>> {
        let free = self.free().pop();
        let row = match free {
            Some(row) => MarkRow { nonce: row.nonce + 1, ..row },
            None => create(client).await?,
        };
        Ok(Mark { marks: self, row })
    }

    fn free(&self) -> MutexGuard<'_, Vec<MarkRow>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Committed on its own, so that the row is there to be locked whatever happens.
async fn create(client: &Client) -> Outcome<MarkRow> {
    let row = client.query_one("INSERT INTO commit_mark DEFAULT VALUES RETURNING id", &[]).await?;
    Ok(MarkRow { id: get(&row, 0)?, nonce: 1 })
}

impl Mark<'_> {
    /// Writes the mark within its transaction.
    pub(crate) async fn write(&self, tx: &Tx) -> Outcome<()> {
        let sql = "UPDATE commit_mark SET nonce = $2, used_at = now() WHERE id = $1";
        match tx.execute(sql, &[&self.row.id, &self.row.nonce]).await? {
            1 => Ok(()),
            _ => Err(StoreError::Other("a commit mark is missing".to_owned()).into()),
        }
    }

    /// Whether the transaction was committed; waits for it to end.
    pub(crate) async fn was_committed(&self, client: &Client) -> Outcome<bool> {
        let sql = "SELECT nonce FROM commit_mark WHERE id = $1 FOR UPDATE";
        let row = client.query_one(sql, &[&self.row.id]).await?;
        Ok(get::<i64>(&row, 0)? == self.row.nonce)
    }

    /// Uses the mark no more: its transaction may still be under way somewhere.
    pub(crate) fn abandon(self) {
        std::mem::forget(self);
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.marks.free().push(self.row);
    }
}

/// Forgets the marks of stores that are long gone.
pub(crate) async fn forget_old(client: &Client) -> Outcome<()> {
    let sql = "DELETE FROM commit_mark WHERE used_at < now() - make_interval(days => $1)";
    client.execute(sql, &[&KEEP_MARKS_DAYS]).await?;
    Ok(())
}
