//! How collecting a chain goes, as the process that does it tells all others.
//!
//! Every loop of a chain notes what it sees in a `pulse`, in memory; the reporter
//! writes what matters of it to the store, under the chain's lease, when something
//! changed and every few seconds otherwise. So whoever can read the store can tell
//! a chain that is collected from one whose endpoints are silent, and both from one
//! that nobody collects.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | the record that is stored |
//! | `pulse` | what is seen meanwhile |
//! | `watched` | a port that notes what is asked and answered |
//! | [`report`] | the loop that writes the record |
//!
//! Invariants: a record is true until `stale_at`, by the store's clock, and says
//! nothing afterwards: its process may have died right before or after the write.
//! Nobody decides anything by it; who may write is the lease's affair alone.

pub(super) mod pulse;
pub mod report;
pub(super) mod watched;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::code::Code;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::lease::Lease;
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use super::finality_wait::FinalityWaited;
use super::names::ChainNames;

pub use pulse::{Failing, Pulse};

/// The longest message that is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// How collecting a chain goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHealth {
    /// Who collects it, or tries to.
    pub owner: Owner,
    /// What that one does.
    pub phase: Phase,
    /// When this was written, by the store's clock.
    pub at: Timestamp,
    /// When it says nothing any more, unless it was written again.
    pub stale_at: Timestamp,
    /// When an endpoint last answered.
    pub heard_at: Option<Timestamp>,
    /// The newest block that endpoints know.
    pub head: Option<SeenHead>,
    /// What keeps it from going on.
    pub trouble: Option<Trouble>,
    /// What is the matter with single endpoints, a sentence each.
    #[serde(default)]
    pub endpoints: Vec<String>,
    /// How long the last final block waits for endpoints.
    #[serde(default)]
    pub finality_waited: FinalityWaited,
}

/// What a process does with a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It has yet to see that the chain is the right one, with the contracts on it.
    Starting,
    /// It collects.
    Collecting,
    /// What it has seen forbids to begin.
    Refused,
    /// It has let go.
    Ended,
}

/// The newest block that endpoints know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenHead {
    /// Its number.
    pub number: u64,
    /// Its time, in seconds.
    pub timestamp_s: u64,
    /// Since when no newer one was seen.
    pub since: Timestamp,
    /// When an endpoint last said that this is the newest.
    #[serde(default)]
    pub seen_at: Option<Timestamp>,
    /// From which age on it is old, in seconds.
    pub old_after_s: u64,
}

/// What keeps a chain from being collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// Since when.
    pub since: Timestamp,
    /// Under which code it is explained.
    pub code: String,
    /// In words, without anything secret.
    pub message: String,
}

impl Trouble {
    /// Trouble in words; no more of them than are kept.
    pub fn new(since: Timestamp, code: Code, message: &str) -> Self {
        let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
        Self { since, code: code.to_string(), message }
    }
}

impl SeenHead {
    /// How old it is.
    pub fn age_s(&self, now: Timestamp) -> u64 {
        (now.as_ms().max(0).unsigned_abs() / 1_000).saturating_sub(self.timestamp_s)
    }

    /// For how long no newer one was seen.
    pub fn still_s(&self, now: Timestamp) -> u64 {
        now.as_ms().saturating_sub(self.since.as_ms()).max(0).unsigned_abs() / 1_000
    }

    /// Whether a newer one should have come long ago: by its own time, or, where the chain's clock
    /// is ahead of ours, by ours.
    pub fn is_old(&self, now: Timestamp) -> bool {
        self.age_s(now).max(self.still_s(now)) > self.old_after_s
    }
}

impl ChainHealth {
    /// Whether it still says something.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.phase != Phase::Ended && now < self.stale_at
    }

    /// What is stored; nothing where it makes no sense, as when another version wrote it.
    pub async fn read(store: &dyn Store, names: &ChainNames) -> StoreResult<Option<Self>> {
        let text = store.state(&names.health).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes it under the chain's lease. It can be told anew, so power may take it away.
    pub(super) async fn write(
        &self,
        store: &dyn Store,
        names: &ChainNames,
        lease: &Lease,
    ) -> StoreResult<()> {
        let value = serde_json::to_string(self).map_err(|error| StoreError::Other(error.to_string()))?;
        let write = Write::PutState { key: names.health.clone(), value: Some(value) };
        store.commit(Commit::of(vec![write]).under_lease(lease).relaxed()).await?;
        Ok(())
    }

    /// Writes it for one who does not hold the chain: takes the lease for this one write,
    /// so that whoever can collect the chain is not kept from it. `false` when another
    /// holds it, and has more to say.
    pub async fn tell(&self, store: &dyn Store, names: &ChainNames) -> StoreResult<bool> {
        let taken = store.acquire_lease(&names.lease, &self.owner, TELL_TTL).await?;
        let Some(lease) = taken else { return Ok(false) };
        // One that has not asked yet does not end the wait for endpoints.
        let before = Self::read(store, names).await?.map(|before| before.finality_waited);
        let told = Self { finality_waited: before.unwrap_or_default(), ..self.clone() };
        let written = told.write(store, names, &lease).await;
        store.release_lease(&lease).await?;
        written.map(|()| true)
    }
}

/// How long a lease lasts that is held for one write.
const TELL_TTL: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn a_record_is_fresh_until_its_time_or_its_end() {
        let health = ChainHealth {
            owner: Owner::new("a").expect("a name"),
            phase: Phase::Collecting,
            at: at(1_000),
            stale_at: at(2_000),
            heard_at: None,
            head: None,
            trouble: None,
            endpoints: Vec::new(),
            finality_waited: FinalityWaited::default(),
        };
        assert!(health.is_fresh(at(1_999)));
        assert!(!health.is_fresh(at(2_000)));
        assert!(!ChainHealth { phase: Phase::Ended, ..health }.is_fresh(at(1_000)));
    }

    #[test]
    fn a_head_of_the_future_is_not_old() {
        let head =
            SeenHead { number: 7, timestamp_s: 100, since: at(50_000), seen_at: None, old_after_s: 120 };
        assert_eq!((head.age_s(at(50_000)), head.is_old(at(50_000))), (0, false));
        assert_eq!((head.age_s(at(170_999)), head.is_old(at(170_999))), (70, false));
        assert!(!SeenHead { since: at(200_000), ..head }.is_old(at(220_999)));
        assert!(SeenHead { since: at(200_000), ..head }.is_old(at(221_000)), "by its own time");
        let ahead = SeenHead { timestamp_s: 9_000, ..head };
        assert_eq!((ahead.is_old(at(170_999)), ahead.is_old(at(171_000))), (false, true), "by our clock");
    }

    #[test]
    fn no_more_words_are_kept_than_fit() {
        let trouble = Trouble::new(at(0), Code::RpcFailed, &"é".repeat(MAX_MESSAGE_CHARS + 1));
        assert_eq!(trouble.message.chars().count(), MAX_MESSAGE_CHARS);
    }
}
