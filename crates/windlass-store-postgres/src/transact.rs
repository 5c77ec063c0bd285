//! One operation: tried again on a fresh connection when the old one was lost
//! before its COMMIT, settled by its mark when the answer to the COMMIT was lost.

use std::time::Duration;

use deadpool_postgres::{Client, Object};
use futures_util::future::{BoxFuture, join, join3};
use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};

use crate::PostgresStore;
use crate::error::{Fault, Outcome};
use crate::mark::Mark;
use crate::tx::{Mode, Tx};

/// How often an operation is begun again.
const MAX_RETRIES: u32 = 3;
/// How often a lost commit is looked up: for half a minute, time enough for a server to come up again.
const MAX_SETTLE_TRIES: u32 = 10;
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
            let fault = match self.attempt(mode, retries > 0, args, &work).await {
                Ok(done) => return Ok(done),
                Err(fault) => fault,
            };
            if !fault.is_passing() || retries == MAX_RETRIES {
                return Err(fault.explain(&self.inner.place));
            }
            tracing::warn!(?fault, retries, "the database failed in passing; trying again");
            tokio::time::sleep(FIRST_DELAY * 4_u32.pow(retries)).await;
            retries += 1;
        }
    }

    /// One try. `check` makes sure of the connection first.
    async fn attempt<A, T, W>(&self, mode: Mode, check: bool, args: &A, work: &W) -> Outcome<T>
    where
        A: Sync + ?Sized,
        T: Send,
        W: for<'a> Fn(&'a Tx, &'a A) -> BoxFuture<'a, Outcome<T>> + Sync,
    {
        let client = self.connection(check).await?;
        let now_ms = self.inner.clock.as_ref().map(|clock| clock.now().as_ms());
        if !mode.is_marked() {
            let tx = Tx::new(client, mode, now_ms);
            let (begun, worked) = join(tx.begin(), work(&tx, args)).await;
            let done = tx.keep(begun.and(worked)).await?;
            return tx.commit().await.map(|()| done);
        }
        let mark = self.inner.marks.take(&client).await?;
        let tx = Tx::new(client, mode, now_ms);
        let (begun, marked, worked) = join3(tx.begin(), mark.write(&tx), work(&tx, args)).await;
        let done = match tx.keep(begun.and(marked).and(worked)).await {
            Ok(done) => match tx.commit().await {
                Err(fault) if fault.is_lost() => self.settle(&mark, fault).await.map(|()| done),
                answer => answer.map(|()| done),
            },
            Err(fault) => Err(fault),
        };
        if matches!(done, Err(Fault::Unsettled)) {
            mark.abandon();
        }
        done
    }

    /// Finds out what became of a transaction whose commit was not answered:
    /// nothing when it was made, the fault that lost it when it was not.
    async fn settle(&self, mark: &Mark<'_>, lost: Fault) -> Outcome<()> {
        for tries in 0..MAX_SETTLE_TRIES {
            tokio::time::sleep(FIRST_DELAY * 2_u32.pow(tries)).await;
            let looked_up = match self.connection(true).await {
                Ok(client) => mark.was_committed(&client).await,
                Err(fault) => Err(fault),
            };
            match looked_up {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(lost),
                Err(fault) => tracing::warn!(?fault, tries, "a lost commit could not be looked up yet"),
            }
        }
        Err(Fault::Unsettled)
    }

    /// A connection; with `check`, one that has just answered.
    pub(crate) async fn connection(&self, check: bool) -> Outcome<Client> {
        let client = self.inner.pool.get().await?;
        if !check || client.simple_query("").await.is_ok() {
            return Ok(client);
        }
        // Whatever broke this connection broke its neighbours: none of them is trusted.
        drop(Object::take(client));
        self.inner.pool.retain(|_, _| false);
        Ok(self.inner.pool.get().await?)
    }
}
