//! Which processes that hold leases and lanes are alive.
//!
//! A handle that is opened for work registers an instance: a row, and an advisory lock on its
//! id, held by a session of its own ([`crate::proof`]). PostgreSQL drops the lock with the
//! session, and the session ends with the process. Whoever gets the lock of an instance
//! therefore knows that it is dead, and lets its leases and lanes run out at once; whoever
//! takes one raises its epoch as always, so that a holder that was alive after all, and had
//! lost its session only, is fenced.
//!
//! Invariant: doubt means waiting. A lock that was lost because the server restarted, a
//! session behind a pooler that shares it, a holder that names no instance: nothing is
//! concluded, and leases last until their time has run out.

use std::time::Duration;

use futures_util::future::BoxFuture;
use windlass_core::error::StoreResult;
use windlass_core::name::LeaseName;

use crate::PostgresStore;
use crate::error::Outcome;
use crate::row::{get, name};
use crate::tx::Tx;

/// How long an instance has to be without its lock before it counts as dead: a process whose
/// session was cut has that long to take the lock again.
pub(crate) const CONFIRM_DEATH: Duration = Duration::from_millis(250);

impl PostgresStore {
    /// Runs a claim. When it finds nothing, dead instances may hold something: then what they
    /// hold is freed and the claim is run again.
    pub(crate) async fn claim_or_free<'a, T>(
        &'a self,
        is_empty: impl Fn(&T) -> bool + Send,
        claim: impl Fn() -> BoxFuture<'a, StoreResult<T>> + Send,
    ) -> StoreResult<T>
    where
        T: Send,
    {
        let claimed = claim().await?;
        if is_empty(&claimed) && self.free_dead().await { claim().await } else { Ok(claimed) }
    }

    /// Lets everything that dead instances hold run out now; says whether there were any.
    /// What cannot be found out or done is left to time.
    pub(crate) async fn free_dead(&self) -> bool {
        match self.try_free_dead().await {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(%error, "cannot tell which processes are alive");
                false
            }
        }
    }

    async fn try_free_dead(&self) -> StoreResult<bool> {
        let suspects = self.read(&self.own_id(), |tx, own| Box::pin(unlocked(tx, *own))).await?;
        if suspects.is_empty() {
            return Ok(false);
        }
        tokio::time::sleep(CONFIRM_DEATH).await;
        let freed = self.claim(&suspects, |tx, suspects| Box::pin(free(tx, suspects))).await?;
        if freed.unwrap_or(0) > 0 {
            tracing::info!(held = freed, "a process that held leases or jobs has ended: they are free now");
        }
        Ok(true)
    }

    /// The leases that dead instances hold.
    pub(crate) async fn abandoned_leases(&self) -> StoreResult<Vec<LeaseName>> {
        self.read(&self.own_id(), |tx, own| Box::pin(abandoned(tx, *own))).await
    }
}

/// The other instances that do not hold their lock. Looking shares a lock for as long as the
/// statement lasts, so that two who look do not take each other for the instance.
async fn unlocked(tx: &Tx, own: Option<i64>) -> Outcome<Vec<i64>> {
    let rows = tx
        .query(
            "SELECT id FROM instance WHERE id IS DISTINCT FROM $1
                 AND server_started_at = pg_postmaster_start_time() AND pg_try_advisory_xact_lock_shared(id)",
            &[&own],
        )
        .await?;
    rows.iter().map(|row| get(row, 0)).collect()
}

/// Frees what those of the suspects hold that are still without their lock, which none of
/// them can take again before the commit. Says how many leases and lanes that were.
async fn free(tx: &Tx, suspects: &[i64]) -> Outcome<u64> {
    let rows = tx
        .look(
            "SELECT id FROM instance WHERE id = ANY ($1)
                 AND server_started_at = pg_postmaster_start_time() AND pg_try_advisory_xact_lock_shared(id)
             ORDER BY id FOR UPDATE",
            &[&suspects],
        )
        .await?;
    let dead = rows.iter().map(|row| get(row, 0)).collect::<Outcome<Vec<i64>>>()?;
    if dead.is_empty() {
        return Ok(0);
    }
    let leases = tx
        .execute(
            "WITH held AS MATERIALIZED (
                 SELECT name FROM lease WHERE instance_id = ANY ($2) AND owner IS NOT NULL
                     AND expires_at_ms > windlass_now($1) ORDER BY name FOR UPDATE)
             UPDATE lease SET expires_at_ms = windlass_now($1) FROM held WHERE lease.name = held.name",
            &[&tx.now_ms, &dead],
        )
        .await?;
    let lanes = tx
        .execute(
            "WITH held AS MATERIALIZED (
                 SELECT id FROM lane WHERE instance_id = ANY ($2) AND owner IS NOT NULL
                     AND available_at_ms > windlass_now($1) ORDER BY id FOR UPDATE)
             UPDATE lane SET available_at_ms = windlass_now($1) FROM held WHERE lane.id = held.id",
            &[&tx.now_ms, &dead],
        )
        .await?;
    tx.execute("DELETE FROM instance WHERE id = ANY ($1)", &[&dead]).await?;
    Ok(leases + lanes)
}

async fn abandoned(tx: &Tx, own: Option<i64>) -> Outcome<Vec<LeaseName>> {
    let rows = tx
        .query(
            "SELECT name FROM lease JOIN instance ON instance.id = lease.instance_id
             WHERE owner IS NOT NULL AND expires_at_ms > windlass_now($2) AND instance.id IS DISTINCT FROM $1
                 AND server_started_at = pg_postmaster_start_time() AND pg_try_advisory_xact_lock_shared(instance.id)
             ORDER BY name",
            &[&own, &tx.now_ms],
        )
        .await?;
    rows.iter().map(|row| name(row, 0)).collect()
}
