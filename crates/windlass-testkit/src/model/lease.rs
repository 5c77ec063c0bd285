//! Leases.

use std::time::Duration;

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::lease::{Epoch, Lease, LeaseRow};
use windlass_core::name::{LeaseName, Owner};
use windlass_core::time::Timestamp;

use super::Model;

impl Model {
    pub(crate) fn acquire_lease(
        &mut self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
        now: Timestamp,
    ) -> Option<Lease> {
        let epoch = match self.leases.get(name) {
            None => Epoch(1),
            Some(row) => {
                let taken = row.take(owner, now);
                self.tally.hit(match (&row.owner, taken) {
                    (None, _) => "released lease taken",
                    (Some(_), None) => "lease refused while held",
                    (Some(_), Some(epoch)) if epoch == row.epoch => "own lease asked for again",
                    (Some(holder), _) if holder == owner => "own expired lease taken anew",
                    _ => "expired lease stolen",
                });
                taken?
            }
        };
        let expires_at = now.after(ttl);
        self.leases.insert(name.clone(), LeaseRow { owner: Some(owner.clone()), epoch, expires_at });
        Some(Lease { name: name.clone(), owner: owner.clone(), epoch, expires_at })
    }

    pub(crate) fn extend_lease(
        &mut self,
        lease: &Lease,
        ttl: Duration,
        now: Timestamp,
    ) -> StoreResult<Lease> {
        let Some(row) = self.leases.get_mut(&lease.name).filter(|row| is_of(row, lease)) else {
            self.tally.hit("zombie extension refused");
            return Err(refusal(&lease.name, lease.epoch));
        };
        self.tally.hit(if row.expires_at <= now { "late holder extended" } else { "lease extended" });
        row.expires_at = now.after(ttl);
        Ok(Lease { expires_at: row.expires_at, ..lease.clone() })
    }

    pub(crate) fn release_lease(&mut self, lease: &Lease, now: Timestamp) -> bool {
        let Some(row) = self.leases.get_mut(&lease.name).filter(|row| is_of(row, lease)) else {
            self.tally.hit("stale release ignored");
            return false;
        };
        self.tally.hit("lease released");
        row.owner = None;
        row.expires_at = now;
        true
    }

    pub(crate) fn list_leases(&self) -> Vec<Lease> {
        let held = |(name, row): (&LeaseName, &LeaseRow)| {
            let owner = row.owner.clone()?;
            Some(Lease { name: name.clone(), owner, epoch: row.epoch, expires_at: row.expires_at })
        };
        self.leases.iter().filter_map(held).collect()
    }

    pub(super) fn check_lease(&mut self, name: &LeaseName, epoch: Epoch, now: Timestamp) -> StoreResult<()> {
        match self.leases.get(name) {
            Some(row) if row.epoch == epoch && row.owner.is_some() => {
                let late = row.expires_at <= now;
                self.tally.hit(if late { "late holder's commit taken" } else { "fenced commit taken" });
                Ok(())
            }
            _ => {
                self.tally.hit("commit refused by a lease");
                Err(refusal(name, epoch))
            }
        }
    }
}

fn is_of(row: &LeaseRow, lease: &Lease) -> bool {
    row.epoch == lease.epoch && row.owner.as_ref() == Some(&lease.owner)
}

fn refusal(name: &LeaseName, epoch: Epoch) -> StoreError {
    StoreError::Fenced { what: format!("lease {name}"), epoch: epoch.0 }
}
