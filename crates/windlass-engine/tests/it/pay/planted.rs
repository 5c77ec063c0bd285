//! Faults that are planted on purpose, each around a port: what holds paying to its rules
//! must find every one of them out.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use windlass_core::commit::{Commit, Fence, Write};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::PayWrite;
use windlass_core::payout::submit::TransactionChain;
use windlass_core::store::Store;
use windlass_testkit::hooked::{HookedStore, StoreHook};
use windlass_testkit::planted::{Fault, plant};

use super::direct::{Calm, Direct};
use super::kills::{self, Story};
use super::schedules;
use super::world::World;
use crate::database::Kind;

/// So many schedules, or points of a kill, a fault may take to be found.
const MAX_TRIES: u64 = 300;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    /// Nothing.
    Nothing,
    /// What was signed is sent before the commit that stores it.
    SentBeforeStored,
    /// Whether a nonce is used up is asked at the newest block, not at a final one.
    NoncesOfTheNewestBlock,
    /// A payout is given another nonce while a transaction of the old one may be mined.
    AnotherNonceAtOnce,
    /// Nobody asks whether who writes still holds the account.
    Unfenced,
    /// A commit is cut in two where the process dies.
    Torn,
}

impl Plant {
    /// Breaks what the chain tells.
    pub(super) fn into_chain(self, world: &World) {
        let mut tricks = world.tricks.lock().expect("whole");
        tricks.is_height_ignored = self == Self::NoncesOfTheNewestBlock;
        tricks.is_waiting_counted = self == Self::AnotherNonceAtOnce;
    }

    /// The world's store, or a broken one.
    pub(super) fn into_store(self, world: &World) -> Arc<dyn Store> {
        let store = world.store.clone();
        match self {
            Self::SentBeforeStored => {
                Arc::new(HookedStore::new(store, Arc::new(Hasty(world.direct(Arc::new(Calm))))))
            }
            Self::Unfenced => Arc::new(HookedStore::new(store, Arc::new(Unfenced))),
            Self::Torn => plant(store, Fault::CommitTorn),
            Self::Nothing | Self::NoncesOfTheNewestBlock | Self::AnotherNonceAtOnce => store,
        }
    }
}

/// Sends what is signed before it is stored.
struct Hasty(Arc<Direct>);

#[async_trait]
impl StoreHook for Hasty {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn committing(&self, commit: Commit) -> StoreResult<Commit> {
        for write in &commit.writes {
            if let Write::Pay(PayWrite::Attempts(attempts)) = write {
                for attempt in attempts {
                    self.0.send(&attempt.raw).await;
                }
            }
        }
        Ok(commit)
    }
}

/// Takes leases out of what a commit stands on.
struct Unfenced;

#[async_trait]
impl StoreHook for Unfenced {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn committing(&self, mut commit: Commit) -> StoreResult<Commit> {
        commit.fences.retain(|fence| !matches!(fence, Fence::Lease { .. }));
        Ok(commit)
    }
}

/// What a check that fails says.
async fn complaint(check: impl Future<Output = ()>) -> Option<String> {
    let failure = AssertUnwindSafe(check).catch_unwind().await.err()?;
    let text = failure.downcast_ref::<String>().cloned();
    Some(text.or_else(|| failure.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
}

/// Random schedules find it out; what they say.
async fn found_by_schedules(plant: Plant) -> String {
    for seed in 0..MAX_TRIES {
        if let Some(said) = complaint(schedules::play(Kind::Sqlite, seed, Arc::default(), plant)).await {
            println!("{plant:?} was found by schedule {seed}: {said:.200}");
            return said;
        }
    }
    panic!("{MAX_TRIES} schedules passed in spite of {plant:?}");
}

/// Killing at a point finds it out; what the check says.
async fn found_by_kills(plant: Plant) -> String {
    for point in 1..MAX_TRIES {
        let killed = async {
            let story = Story { is_of_coin: false, batch: 2, plant };
            let met = kills::killed_at(Kind::Sqlite, usize::try_from(point).expect("small"), story).await;
            assert!(met.is_none_or(|met| !met.is_empty()));
        };
        if let Some(said) = complaint(killed).await {
            println!("{plant:?} was found by a kill at point {point}: {said:.200}");
            return said;
        }
    }
    panic!("{MAX_TRIES} kills passed in spite of {plant:?}");
}

#[tokio::test]
async fn sending_before_storing_is_found_out_by_kills() {
    let said = found_by_kills(Plant::SentBeforeStored).await;
    assert!(said.contains("sent before it was stored"), "{said}");
}

#[tokio::test]
async fn sending_before_storing_is_found_out_by_schedules() {
    let said = found_by_schedules(Plant::SentBeforeStored).await;
    assert!(said.contains("sent before it was stored"), "{said}");
}

#[tokio::test]
async fn a_nonce_that_is_not_final_is_found_out() {
    let said = found_by_schedules(Plant::NoncesOfTheNewestBlock).await;
    assert!(said.contains("not used up for good"), "{said}");
}

#[tokio::test]
async fn another_nonce_while_the_old_one_may_be_mined_is_found_out() {
    let said = found_by_schedules(Plant::AnotherNonceAtOnce).await;
    assert!(said.contains("not used up for good"), "{said}");
}

#[tokio::test]
async fn a_lease_that_nobody_asks_for_is_found_out() {
    let said = found_by_schedules(Plant::Unfenced).await;
    assert!(said.contains("lost the account's lease"), "{said}");
}

#[tokio::test]
async fn a_pay_commit_torn_in_two_is_found_out_by_kills() {
    found_by_kills(Plant::Torn).await;
}

#[tokio::test]
async fn a_pay_commit_torn_in_two_is_found_out_by_schedules() {
    found_by_schedules(Plant::Torn).await;
}
