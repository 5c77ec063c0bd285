//! Named leases. Time decides who may take over, the epoch who may write.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use tokio_postgres::Row;
use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::lease::{Epoch, Lease, LeaseRow};
use windlass_core::name::{LeaseName, Owner};
use windlass_core::store::Leases;
use windlass_core::time::duration_ms;

use crate::PostgresStore;
use crate::error::Outcome;
use crate::row::{damaged, get, name, optional_name, timestamp};
use crate::tx::Tx;

#[async_trait]
impl Leases for PostgresStore {
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        self.claim_or_free(Option::is_none, || Box::pin(self.try_acquire(name, owner, ttl))).await
    }

    /// Relaxed: an extension that a crash takes back makes the lease run out
    /// earlier, and whoever takes it over then fences the holder.
    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease> {
        self.write(Durability::Relaxed, &(lease, ttl), |tx, (lease, ttl)| Box::pin(extend(tx, lease, *ttl)))
            .await
    }

    /// Relaxed: a release that a crash takes back leaves a lease that runs out by itself.
    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool> {
        self.write(Durability::Relaxed, lease, |tx, lease| Box::pin(release(tx, lease))).await
    }

    async fn list_leases(&self) -> StoreResult<Vec<Lease>> {
        self.read(&(), |tx, ()| Box::pin(list(tx))).await
    }

    async fn list_abandoned_leases(&self) -> StoreResult<Vec<LeaseName>> {
        self.abandoned_leases().await
    }
}

impl PostgresStore {
    async fn try_acquire(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        let taken = self
            .claim(&(name, owner, ttl), |tx, (name, owner, ttl)| Box::pin(acquire(tx, name, owner, *ttl)))
            .await?;
        Ok(taken.flatten())
    }
}

async fn acquire(tx: &Tx, name: &LeaseName, owner: &Owner, ttl: Duration) -> Outcome<Option<Lease>> {
    let row = match lock(tx, name).await? {
        Some(row) => row,
        None => {
            // The row is made first, so that there is something to lock.
            tx.execute(
                "INSERT INTO lease (name, epoch, expires_at_ms) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING",
                &[&name.as_str()],
            )
            .await?;
            lock(tx, name).await?.ok_or_else(|| damaged(format!("lease {name} is gone")))?
        }
    };
    let stored = LeaseRow {
        owner: optional_name(&row, 0)?,
        epoch: Epoch(get(&row, 1)?),
        expires_at: timestamp(&row, 2)?,
    };
    let now = timestamp(&row, 3)?;
    let Some(epoch) = stored.take(owner, now) else { return Ok(None) };
    let lease = Lease { name: name.clone(), owner: owner.clone(), epoch, expires_at: now.after(ttl) };
    tx.execute(
        "UPDATE lease SET owner = $2, epoch = $3, expires_at_ms = $4, instance_id = $5 WHERE name = $1",
        &[&name.as_str(), &owner.as_str(), &epoch.0, &lease.expires_at.as_ms(), &tx.instance],
    )
    .await?;
    Ok(Some(lease))
}

async fn lock(tx: &Tx, name: &LeaseName) -> Outcome<Option<Row>> {
    let sql = "SELECT owner, epoch, expires_at_ms, windlass_now($2) FROM lease WHERE name = $1 FOR UPDATE";
    Ok(tx.look(sql, &[&name.as_str(), &tx.now_ms]).await?.pop())
}

async fn extend(tx: &Tx, lease: &Lease, ttl: Duration) -> Outcome<Lease> {
    let row = tx
        .query_opt(
            "UPDATE lease SET expires_at_ms = windlass_after(windlass_now($4), $5)
             WHERE name = $1 AND epoch = $2 AND owner = $3 RETURNING expires_at_ms",
            &[&lease.name.as_str(), &lease.epoch.0, &lease.owner.as_str(), &tx.now_ms, &duration_ms(ttl)],
        )
        .await?
        .ok_or_else(|| fenced(&lease.name, lease.epoch))?;
    Ok(Lease { expires_at: timestamp(&row, 0)?, ..lease.clone() })
}

async fn release(tx: &Tx, lease: &Lease) -> Outcome<bool> {
    let released = tx
        .execute(
            "UPDATE lease SET owner = NULL, expires_at_ms = windlass_now($4)
             WHERE name = $1 AND epoch = $2 AND owner = $3",
            &[&lease.name.as_str(), &lease.epoch.0, &lease.owner.as_str(), &tx.now_ms],
        )
        .await?;
    Ok(released == 1)
}

async fn list(tx: &Tx) -> Outcome<Vec<Lease>> {
    let rows = tx
        .query(
            "SELECT name, owner, epoch, expires_at_ms FROM lease WHERE owner IS NOT NULL ORDER BY name",
            &[],
        )
        .await?;
    let read = |row| {
        Ok(Lease {
            name: name(row, 0)?,
            owner: name(row, 1)?,
            epoch: Epoch(get(row, 2)?),
            expires_at: timestamp(row, 3)?,
        })
    };
    rows.iter().map(read).collect()
}

/// The epochs of those of the leases that are held, none of which can be taken until the commit.
pub(crate) async fn lock_held(tx: &Tx, names: &[&str]) -> Outcome<HashMap<String, Epoch>> {
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = tx
        .look(
            "SELECT name, epoch FROM lease WHERE name = ANY ($1) AND owner IS NOT NULL
             ORDER BY name FOR SHARE",
            &[&names],
        )
        .await?;
    rows.iter().map(|row| Ok((get(row, 0)?, Epoch(get(row, 1)?)))).collect()
}

/// The refusal of an old epoch.
pub(crate) fn fenced(name: &LeaseName, epoch: Epoch) -> StoreError {
    StoreError::Fenced { what: format!("lease {name}"), epoch: epoch.0 }
}
