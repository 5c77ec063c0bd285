//! Reads the outbox for one reader, and writes what it hears.
//!
//! The feed polls the store; being woken only makes it sooner. Its position moves
//! with every event that was handed over, so that whatever interrupts it, the id
//! that the reader saw last says where to go on.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::name::Partition;
use windlass_core::outbox::Message;
use windlass_core::store::{Outbox, Tables};
use windlass_core::table::{EventRow, TableSpec};
use windlass_core::value_text::RowJson;

use super::begin::of_another;
use super::message::{Added, News};
use super::position::{At, Mark, Position, RowPlace, write_all};
use super::removals::Removals;
use super::rows::SpanRows;
use super::told::Told;
use super::wanted::Wanted;
use crate::error::ApiError;
use crate::limits::STREAM_MESSAGES;

/// A chain of the stream.
pub(super) struct ChainFeed {
    pub(super) partition: Partition,
    pub(super) position: Position,
    /// Whether the next message must follow directly on the position.
    pub(super) is_continuing: bool,
    /// Whether the position is known to be one of this database; else nothing was kept
    /// that could show it.
    pub(super) is_known: bool,
    pub(super) removals: Removals,
}

/// One reader's stream.
pub(super) struct Feed {
    pub(super) outbox: Arc<dyn Outbox>,
    pub(super) tables: Arc<dyn Tables>,
    pub(super) wake: Arc<Notify>,
    pub(super) interval: Duration,
    /// How long to wait for a reader that takes nothing.
    pub(super) stall: Duration,
    pub(super) wanted: Wanted,
    pub(super) chains: Vec<ChainFeed>,
    pub(super) outlet: mpsc::Sender<Told>,
    /// Whether the reader knows where the stream is.
    pub(super) is_told: bool,
}

/// Why a stream ends.
pub(super) enum Ended {
    /// The reader is gone, or takes nothing.
    Reader,
    /// The store.
    Store(StoreError),
    /// It is too far behind.
    Behind,
    /// Its id was another database's.
    Another,
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A row as it is sent.
#[derive(Serialize)]
struct AddedBody<'a> {
    chain: u64,
    index: &'a str,
    event: &'a str,
    table: &'a str,
    row: RowJson<'a>,
}

impl Feed {
    /// Tells all there is, then waits for more, until the reader goes.
    pub(super) async fn run(mut self) {
        let wake = Arc::clone(&self.wake);
        loop {
            // Listens before it looks, so that nothing falls in between.
            let mut woken = pin!(wake.notified());
            woken.as_mut().enable();
            match self.pass().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(Ended::Store(error)) if error.retry() != RetryAdvice::Never => {
                    tracing::warn!(%error, "a stream waits for the database");
                }
                Err(ended) => return self.end(ended).await,
            }
            let outlet = self.outlet.clone();
            tokio::select! {
                () = woken => {}
                () = tokio::time::sleep(self.interval) => {}
                () = outlet.closed() => return,
            }
        }
    }

    /// Looks at every chain once; says whether there was anything.
    async fn pass(&mut self) -> Result<bool, Ended> {
        let mut is_news = false;
        for place in 0..self.chains.len() {
            is_news |= self.step(place).await?;
        }
        if !self.is_told {
            // An id without data: the reader's browser or library keeps it for a resume.
            self.send(Told::default()).await?;
        }
        Ok(is_news)
    }

    /// Tells the next messages of a chain; says whether there were any.
    async fn step(&mut self, place: usize) -> Result<bool, Ended> {
        let after = self.chains[place].position.next_seq() - 1;
        let messages = self.outbox.messages(&self.chains[place].partition, after, STREAM_MESSAGES).await?;
        self.check_id(place).await?;
        if messages.is_empty() {
            return Ok(false);
        }
        let tables = self.wanted.tables(&*self.tables, self.chains[place].position.chain).await?;
        for message in &messages {
            self.tell(place, &tables, message).await?;
        }
        Ok(true)
    }

    async fn tell(
        &mut self,
        place: usize,
        tables: &[Arc<TableSpec>],
        message: &Message,
    ) -> Result<(), Ended> {
        self.check_gap(place, message).await?;
        let chain = self.chains[place].position.chain;
        let end = Position::of(chain, message, At::End);
        match News::of(message) {
            News::Added(added) => {
                self.tell_rows(place, tables, message, &added).await?;
                self.move_to(place, end);
            }
            News::Removed(removed) => {
                self.move_to(place, end);
                // Rows of other tables than those asked for are none of the reader's.
                let is_asked = |table: &Arc<TableSpec>| removed.speaks_of(table.name.as_str());
                if removed.tables.is_empty() || tables.iter().any(is_asked) {
                    let body = json!({
                        "chain": chain,
                        "from_block": removed.from_block,
                        "to_block": removed.to_block,
                        "tables": removed.tables,
                        "generation": removed.generation,
                    });
                    self.send(Told::new("removed", body.to_string())).await?;
                }
            }
            News::Other => self.move_to(place, end),
        }
        Ok(())
    }

    /// Sends the rows of a message, as far as they still are what it spoke of.
    async fn tell_rows(
        &mut self,
        place: usize,
        tables: &[Arc<TableSpec>],
        message: &Message,
        added: &Added,
    ) -> Result<(), Ended> {
        let (seq, mark) = (message.seq, Mark::of(message));
        let chain = &mut self.chains[place];
        let is_named = |table: &&Arc<TableSpec>| {
            added.tables.is_empty() || added.tables.iter().any(|name| name == table.name.as_str())
        };
        let tables: Vec<Arc<TableSpec>> = tables.iter().filter(is_named).cloned().collect();
        let after = match &chain.position.at {
            At::Row(row) if chain.position.seq == seq => Some(row.clone()),
            _ => None,
        };
        let is_gone = |lowest: Option<u64>, block: u64| lowest.is_some_and(|lowest| block >= lowest);
        if is_gone(chain.removals.lowest_after(seq), added.from_block) {
            return Ok(());
        }
        let mut rows = SpanRows::new(&tables, added.from_block, added.head.number, after.as_ref());
        loop {
            let next = rows.next(&*self.tables).await?;
            if next.is_empty() {
                return Ok(());
            }
            let chain = &mut self.chains[place];
            let looked = chain.removals.look_ahead(&*self.outbox, &chain.partition, seq).await?;
            looked.map_err(|_| Ended::Behind)?;
            let lowest = chain.removals.lowest_after(seq);
            for (table, row) in next {
                let block = row.head.block.number;
                if is_gone(lowest, block) {
                    return Ok(());
                }
                if self.chains[place].removals.is_mended_after(seq, block, table.name.as_str()) {
                    continue;
                }
                self.tell_row(place, (seq, mark), &table, &row).await?;
            }
        }
    }

    async fn tell_row(
        &mut self,
        place: usize,
        (seq, mark): (i64, Mark),
        table: &TableSpec,
        row: &EventRow,
    ) -> Result<(), Ended> {
        let chain = table.chain;
        let body = AddedBody {
            chain: chain.as_u64(),
            index: table.index.as_str(),
            event: &table.event,
            table: table.name.as_str(),
            row: RowJson::of(table, row),
        };
        let body = serde_json::to_string(&body).map_err(|error| StoreError::Other(error.to_string()))?;
        let sent = RowPlace { key: row.head.key(), table: table.name.clone() };
        self.move_to(place, Position { chain, seq, mark, at: At::Row(sent) });
        self.send(Told::new("added", body)).await
    }

    pub(super) fn move_to(&mut self, place: usize, position: Position) {
        self.chains[place].position = position;
        self.is_told = false;
    }

    /// Hands an event over, under the id of where the stream is now.
    pub(super) async fn send(&mut self, told: Told) -> Result<(), Ended> {
        let id = write_all(self.chains.iter().map(|chain| &chain.position));
        let sending = self.outlet.send_timeout(told.at(id), self.stall);
        sending.await.map_err(|_| Ended::Reader)?;
        self.is_told = true;
        Ok(())
    }

    /// Says why there is no more. Without an id: the reader may try again where it was.
    async fn end(self, ended: Ended) {
        let error = match ended {
            Ended::Reader => return,
            Ended::Store(error) => ApiError::from(error),
            Ended::Another => of_another(),
            Ended::Behind => ApiError::internal("a stream is too far behind: too many reorganisations ahead"),
        };
        let body = json!({ "code": error.code, "message": error.message, "hint": error.hint });
        // The reader may be gone as well.
        let _ = self.outlet.try_send(Told::new("failed", body.to_string()));
    }
}
