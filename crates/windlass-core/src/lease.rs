//! Leases: who may work on what, until when, under which epoch.
//!
//! Time decides who may take over; the epoch decides who may write. A lease that
//! has run out can be taken by anybody, which raises its epoch, and from then on
//! every write that carries the old epoch is refused. A holder that was merely
//! late, and that nobody has replaced, still writes safely. A store that knows that
//! a holder has died lets its leases run out at once.

use serde::{Deserialize, Serialize};

use crate::name::{LeaseName, Owner};
use crate::time::Timestamp;

/// Counts the takings of a lease or lane. Never goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl Epoch {
    /// The epoch after this one.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A lease as its holder knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// What it is on.
    pub name: LeaseName,
    /// Who holds it.
    pub owner: Owner,
    /// The fence: goes into every write made under the lease.
    pub epoch: Epoch,
    /// When others may take it.
    pub expires_at: Timestamp,
}

/// A lease as the store has it; `owner` is empty after a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRow {
    /// The last holder, unless it released.
    pub owner: Option<Owner>,
    /// The last epoch given out.
    pub epoch: Epoch,
    /// When it can be taken.
    pub expires_at: Timestamp,
}

impl LeaseRow {
    /// The epoch under which `owner` would hold this lease from `now` on, or
    /// `None` while another holds it. Asking again for what one holds keeps the
    /// epoch, so that a lost answer can be repeated; everything else raises it.
    pub fn take(&self, owner: &Owner, now: Timestamp) -> Option<Epoch> {
        let live = self.owner.is_some() && self.expires_at > now;
        match (live, self.owner.as_ref() == Some(owner)) {
            (true, true) => Some(self.epoch),
            (true, false) => None,
            (false, _) => Some(self.epoch.next()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::new(name).expect("an owner")
    }

    fn row(holder: Option<&str>) -> LeaseRow {
        LeaseRow { owner: holder.map(owner), epoch: Epoch(4), expires_at: Timestamp::from_ms(100) }
    }

    #[test]
    fn only_the_holder_keeps_a_live_lease() {
        let now = Timestamp::from_ms(99);
        assert_eq!(row(Some("a")).take(&owner("a"), now), Some(Epoch(4)));
        assert_eq!(row(Some("a")).take(&owner("b"), now), None);
    }

    #[test]
    fn a_lease_that_ran_out_or_was_released_is_taken_under_a_new_epoch() {
        let (before, after) = (Timestamp::from_ms(99), Timestamp::from_ms(100));
        assert_eq!(row(Some("a")).take(&owner("b"), after), Some(Epoch(5)));
        assert_eq!(row(Some("a")).take(&owner("a"), after), Some(Epoch(5)));
        assert_eq!(row(None).take(&owner("a"), before), Some(Epoch(5)));
    }
}
