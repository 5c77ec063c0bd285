//! One operation: tried again on a fresh connection when the old one was lost
//! before its COMMIT, settled by its mark when the answer to the COMMIT was lost.

use std::time::{Duration, Instant};

use deadpool_postgres::{Client, Object};
use futures_util::future::BoxFuture;
use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};

use crate::PostgresStore;
use crate::connect::{ANSWER_TIMEOUT, CONNECT_TIMEOUT, IDLE_TRANSACTION_TIMEOUT};
use crate::error::{Fault, Outcome};
use crate::mark::Mark;
use crate::row::get;
use crate::tx::{Mode, Param, Tx, in_time};

/// How often an operation is begun again.
const MAX_RETRIES: u32 = 3;
/// How long a lost commit is looked up: until the server has ended the session that
/// it was lost with, whose locks hide the answer, and has had time to come up again.
const SETTLE_TIMEOUT: Duration = IDLE_TRANSACTION_TIMEOUT.saturating_add(Duration::from_secs(30));
/// The longest pause between two looks.
const MAX_SETTLE_DELAY: Duration = Duration::from_secs(5);
/// The delay before the first of either; each later one is four times, or twice, as long.
const FIRST_DELAY: Duration = Duration::from_millis(25);

impl PostgresStore {
    /// Runs statements that change nothing.
    pub(crate) async fn read<A, T, W>(&self, args: &A, work: W) -> StoreResult<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        self.run(Mode::Read, args, work).await
    }

    /// Runs statements that change nothing and may read a whole table.
    pub(crate) async fn scan<A, T, W>(&self, args: &A, work: W) -> StoreResult<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        self.run(Mode::Scan, args, work).await
    }

    /// Runs a transaction and says for certain what became of it.
    pub(crate) async fn write<A, T, W>(&self, durability: Durability, args: &A, work: W) -> StoreResult<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        let mode = match durability {
            Durability::Full => Mode::Full,
            Durability::Relaxed => Mode::Relaxed,
        };
        self.run(mode, args, work).await
    }

    /// Runs a statement that takes something and is a transaction by itself. It never
    /// waits for a lock, and is repeated like a claim.
    pub(crate) async fn claim_once<A, T, W>(&self, args: &A, work: W) -> StoreResult<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        self.run(Mode::Alone, args, work).await
    }

    /// Runs a transaction that takes something; `None` when the database is busy.
    ///
    /// A claim whose answer was lost is repeated without being looked up: what the
    /// first try took is held by nobody, and free again when its time has run out.
    pub(crate) async fn claim<A, T, W>(&self, args: &A, work: W) -> StoreResult<Option<T>>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        match self.run(Mode::Claim, args, work).await {
            Err(StoreError::Busy) => Ok(None),
            other => other.map(Some),
        }
    }

    async fn run<A, T, W>(&self, mode: Mode, args: &A, work: W) -> StoreResult<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        let _running = self.inner.running.read().await;
        let mut retries = 0;
        loop {
            match self.attempt(mode, retries > 0, args, &work).await {
                Ok(done) => return Ok(done),
                Err(fault) => self.outlast(fault, retries).await?,
            }
            retries += 1;
        }
    }

    /// Waits until it is worth trying again, or says why it is not.
    async fn outlast(&self, fault: Fault, retries: u32) -> StoreResult<()> {
        if !fault.is_passing() || retries == MAX_RETRIES {
            return Err(fault.explain(&self.inner.place));
        }
        // What lasts is told by whoever waits for it.
        tracing::debug!(%fault, retries, "the database failed in passing; trying again");
        tokio::time::sleep(FIRST_DELAY * 4_u32.pow(retries)).await;
        Ok(())
    }

    /// Runs one statement, which is a transaction by itself, and says for certain what
    /// became of it. The statement finds the present in `$1`, its mark and the number
    /// to write in `$2` and `$3`, and its own values behind them. It must do nothing
    /// unless the mark is there, leave its answer with the mark, and return that.
    pub(crate) async fn write_once(&self, sql: &'static str, values: &[Param<'_>]) -> StoreResult<Vec<i64>> {
        let _running = self.inner.running.read().await;
        let mut retries = 0;
        loop {
            match self.attempt_once(retries > 0, sql, values).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => self.outlast(fault, retries).await?,
            }
            retries += 1;
        }
    }

    async fn attempt_once(&self, check: bool, sql: &'static str, values: &[Param<'_>]) -> Outcome<Vec<i64>> {
        let client = self.connection(check).await?;
        let now_ms = self.now_ms();
        let mark = self.inner.marks.take(&client).await?;
        let tx = Tx::new(client, Mode::Alone, None, now_ms, self.named_id());
        let mut params: Vec<Param<'_>> = vec![&now_ms, &mark.id, &mark.nonce];
        params.extend(values);
        let answer = tx.query_opt(sql, &params).await;
        drop(tx);
        match answer {
            Err(fault) if fault.is_lost() => self.settle(mark, fault).await,
            Ok(None) => {
                self.inner.marks.drop_free();
                Err(Fault::MarkForgotten)
            }
            answer => {
                // Done or refused: either way the statement has ended.
                self.inner.marks.give_back(mark);
                answer?.map_or_else(|| Ok(Vec::new()), |row| get(&row, 0))
            }
        }
    }

    /// The caller's time, if it brings a clock.
    fn now_ms(&self) -> Option<i64> {
        let now_ms = self.inner.clock.as_ref().map(|clock| clock.now().as_ms());
        now_ms.inspect(|now_ms| self.inner.floors.watch(*now_ms))
    }

    /// One try. `check` makes sure of the connection first.
    async fn attempt<A, T, W>(&self, mode: Mode, check: bool, args: &A, work: &W) -> Outcome<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        let client = self.connection(check).await?;
        let mark = if mode.is_marked() { Some(self.inner.marks.take(&client).await?) } else { None };
        let tx = Tx::new(client, mode, mark, self.now_ms(), self.named_id());
        let worked = tx.keep(work(&tx, args).await).await;
        let committed = if worked.is_ok() { tx.commit().await } else { Ok(()) };
        let is_over = tx.is_over();
        // Looking a commit up takes a connection, and this may have been the last.
        drop(tx);
        match (mark, committed) {
            (Some(mark), Err(fault)) if fault.is_lost() => drop(self.settle(mark, fault).await?),
            (Some(mark), Ok(())) if is_over => self.reuse(mark, worked.as_ref().err()),
            (_, committed) => committed?,
        }
        worked
    }

    /// Keeps the mark of a transaction that has ended, if its row is there.
    fn reuse(&self, mark: Mark, fault: Option<&Fault>) {
        match fault {
            Some(Fault::MarkForgotten) => self.inner.marks.drop_free(),
            _ => self.inner.marks.give_back(mark),
        }
    }

    /// Finds out what became of a transaction whose commit was not answered:
    /// what it left when it was made, the fault that lost it when it was not.
    async fn settle(&self, mark: Mark, lost: Fault) -> Outcome<Vec<i64>> {
        let begun = Instant::now();
        let mut delay = FIRST_DELAY;
        while begun.elapsed() < SETTLE_TIMEOUT {
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(MAX_SETTLE_DELAY);
            let looked_up = match self.connection(true).await {
                Ok(client) => in_time(ANSWER_TIMEOUT, mark.look_up(&client)).await,
                Err(fault) => Err(fault),
            };
            match looked_up {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => return Err(lost),
                Err(fault) => tracing::warn!(%fault, "a lost commit could not be looked up yet"),
            }
        }
        Err(Fault::Unsettled)
    }

    /// A connection; with `check`, one that has just answered.
    pub(crate) async fn connection(&self, check: bool) -> Outcome<Client> {
        let client = self.inner.pool.get().await?;
        if !check || in_time(CONNECT_TIMEOUT, client.simple_query("")).await.is_ok() {
            return Ok(client);
        }
        // Whatever broke this connection broke its neighbours: none of them is trusted.
        drop(Object::take(client));
        self.inner.pool.retain(|_, _| false);
        Ok(self.inner.pool.get().await?)
    }
}
