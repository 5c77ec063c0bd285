//! Named leases. The row stays after a release, so that epochs never start again.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::OptionalExtension;
use windlass_core::commit::Durability;
use windlass_core::error::StoreResult;
use windlass_core::lease::{Epoch, Lease, LeaseRow};
use windlass_core::name::{LeaseName, Owner};
use windlass_core::store::Leases;

use crate::error::Translate;
use crate::lane::fenced;
use crate::row::{get, name, optional_name, timestamp};
use crate::writer::Tx;
use crate::{SqliteStore, instance};

#[async_trait]
impl Leases for SqliteStore {
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        let (name, owner) = (name.clone(), owner.clone());
        Ok(self.claim(move |tx| acquire(tx, name, owner, ttl)).await?.flatten())
    }

    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease> {
        let lease = lease.clone();
        self.write(Durability::Relaxed, move |tx| extend(tx, lease, ttl)).await
    }

    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool> {
        let lease = lease.clone();
        self.write(Durability::Relaxed, move |tx| {
            let released = tx.execute(
                "UPDATE lease SET owner = NULL, expires_at_ms = ?4 \
                 WHERE name = ?1 AND epoch = ?2 AND owner = ?3",
                (lease.name.as_str(), lease.epoch.0, lease.owner.as_str(), tx.now.as_ms()),
            )?;
            Ok(released == 1)
        })
        .await
    }

    async fn list_leases(&self) -> StoreResult<Vec<Lease>> {
        self.read(list).await
    }

    async fn list_abandoned_leases(&self) -> StoreResult<Vec<LeaseName>> {
        self.read(instance::abandoned_leases).await
    }
}

fn find(tx: &Tx<'_>, name: &LeaseName) -> StoreResult<Option<LeaseRow>> {
    tx.prepare("SELECT owner, epoch, expires_at_ms FROM lease WHERE name = ?1")?
        .query_row([name.as_str()], |row| {
            Ok((|| {
                Ok(LeaseRow {
                    owner: optional_name(row, 0)?,
                    epoch: Epoch(get(row, 1)?),
                    expires_at: timestamp(row, 2)?,
                })
            })())
        })
        .optional()
        .translate()?
        .transpose()
}

fn acquire(tx: &Tx<'_>, name: LeaseName, owner: Owner, ttl: Duration) -> StoreResult<Option<Lease>> {
    let Some(epoch) = next_epoch(tx, &name, &owner)? else { return Ok(None) };
    let lease = Lease { name, owner, epoch, expires_at: tx.now.after(ttl) };
    tx.execute(
        "INSERT INTO lease (name, owner, epoch, expires_at_ms, instance_id) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (name) DO UPDATE SET owner = ?2, epoch = ?3, expires_at_ms = ?4, instance_id = ?5",
        (lease.name.as_str(), lease.owner.as_str(), epoch.0, lease.expires_at.as_ms(), tx.instances.own_id()),
    )?;
    Ok(Some(lease))
}

/// The epoch under which a lease can be taken; `None` while another holds it that is not
/// known to be dead.
fn next_epoch(tx: &Tx<'_>, name: &LeaseName, owner: &Owner) -> StoreResult<Option<Epoch>> {
    let Some(row) = find(tx, name)? else { return Ok(Some(Epoch(1))) };
    match row.take(owner, tx.now) {
        None if instance::free_dead(tx)? > 0 => Ok(find(tx, name)?.and_then(|row| row.take(owner, tx.now))),
        epoch => Ok(epoch),
    }
}

fn extend(tx: &Tx<'_>, lease: Lease, ttl: Duration) -> StoreResult<Lease> {
    let extended = Lease { expires_at: tx.now.after(ttl), ..lease };
    let changed = tx.execute(
        "UPDATE lease SET expires_at_ms = ?4 WHERE name = ?1 AND epoch = ?2 AND owner = ?3",
        (extended.name.as_str(), extended.epoch.0, extended.owner.as_str(), extended.expires_at.as_ms()),
    )?;
    if changed == 1 { Ok(extended) } else { Err(fenced(format!("lease {}", extended.name), extended.epoch)) }
}

/// Refuses an epoch that is history.
pub(crate) fn check(tx: &Tx<'_>, name: &LeaseName, epoch: Epoch) -> StoreResult<()> {
    match find(tx, name)? {
        Some(row) if row.epoch == epoch && row.owner.is_some() => Ok(()),
        _ => Err(fenced(format!("lease {name}"), epoch)),
    }
}

fn list(tx: &Tx<'_>) -> StoreResult<Vec<Lease>> {
    let mut statement = tx.prepare(
        "SELECT name, owner, epoch, expires_at_ms FROM lease WHERE owner IS NOT NULL ORDER BY name",
    )?;
    let mut rows = statement.query([]).translate()?;
    let mut leases = Vec::new();
    while let Some(row) = rows.next().translate()? {
        leases.push(Lease {
            name: name(row, 0)?,
            owner: name(row, 1)?,
            epoch: Epoch(get(row, 2)?),
            expires_at: timestamp(row, 3)?,
        });
    }
    Ok(leases)
}
