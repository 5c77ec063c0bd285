//! Writes how collecting a chain goes, and says in the log what has changed.
//!
//! It looks at the pulse often and writes seldom: when trouble begins, changes or ends,
//! when the chain was taken, and otherwise just often enough for the record to stay
//! fresh. A write that fails is made by a later step; meanwhile the record grows stale,
//! which is what it should say.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;
use windlass_core::error::StoreResult;
use windlass_core::lease::{Epoch, Lease};

use super::pulse::Failing;
use super::{ChainHealth, Phase, Trouble};
use crate::collect::chain::CollectedChain;
use crate::collect::error::CollectError;

/// How often the pulse is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A record is written at least this often.
const MAX_BEAT: Duration = Duration::from_secs(10);
/// It is written this often while the head moves, or while something is said of endpoints.
const MOVING_BEAT: Duration = Duration::from_secs(1);
/// A record is stale when so many beats have passed.
const STALE_BEATS: u32 = 3;

/// The loop.
pub struct Reporter {
    chain: Arc<CollectedChain>,
    /// What was written last, and when.
    written: Option<(Said, Instant)>,
    /// The newest block and the notes on endpoints that were written last.
    written_news: News,
    /// Since when the log knows of trouble, and of which.
    lost: Option<(Instant, Code)>,
    /// Whether the log knows that the newest block is old.
    is_old: bool,
}

/// What makes a record worth writing at once: who holds the chain, and what is wrong.
type Said = (Epoch, Option<Code>);
/// What makes it worth writing soon: the newest block, and what is said of endpoints.
type News = (Option<u64>, Vec<String>);

impl Reporter {
    /// A reporter that has said nothing yet.
    pub const fn new(chain: Arc<CollectedChain>) -> Self {
        Self { chain, written: None, written_news: (None, Vec::new()), lost: None, is_old: false }
    }

    /// Reports until told to stop. The last word is the follower's, who gives the chain back.
    pub async fn run(mut self, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            self.step().await;
        }
    }

    /// Looks once; says whether something was written.
    pub async fn step(&mut self) -> bool {
        let now = Instant::now();
        let trouble = self.chain.pulse.trouble(now);
        self.log(trouble.as_ref(), now);
        let Some(lease) = self.chain.pulse.lease() else {
            self.written = None;
            return false;
        };
        let said = (lease.epoch, trouble.map(|failing| failing.code));
        let news = (self.chain.pulse.head_number(), notes(&self.chain));
        let beat = if news == self.written_news { self.beat() } else { MOVING_BEAT.min(self.beat()) };
        let is_due = |(before, at): &(Said, Instant)| *before != said || now.duration_since(*at) >= beat;
        if !self.written.as_ref().is_none_or(is_due) {
            return false;
        }
        match self.write().await {
            Ok(written) => {
                if written {
                    (self.written, self.written_news) = (Some((said, now)), news);
                }
                written
            }
            Err(error) => {
                tracing::debug!(chain = %self.chain.options.chain, %error, "how it goes could not be written");
                false
            }
        }
    }

    /// A third of the lease at most: a record does not outlast the lease of one who died by much.
    fn beat(&self) -> Duration {
        MAX_BEAT.min(self.chain.options.lease_ttl / STALE_BEATS)
    }

    async fn write(&mut self) -> StoreResult<bool> {
        let chain = self.chain.clone();
        let _turn = chain.pulse.writing.lock().await;
        // It may have been given back while the last word was said.
        let Some(lease) = chain.pulse.lease() else { return Ok(false) };
        let health = record(&chain, &lease, self.beat() * STALE_BEATS).await?;
        self.log_age(&health);
        health.write(&*chain.store, &chain.names, &lease).await?;
        Ok(true)
    }

    /// One line when the chain is lost, one when it is found again.
    fn log(&mut self, trouble: Option<&Failing>, now: Instant) {
        let chain = self.chain.options.chain;
        match (trouble, self.lost) {
            (Some(failing), lost) if lost.is_none_or(|(_, code)| code != failing.code) => {
                let Failing { since, code, message } = failing;
                tracing::warn!(%chain, %code, error = %message, "the chain cannot be collected now; it is tried again until it can");
                self.lost = Some((lost.map_or(*since, |(since, _)| since), *code));
            }
            (None, Some((since, _))) => {
                let after_s = now.duration_since(since).as_secs();
                tracing::info!(%chain, after_s, "the chain can be collected again");
                self.lost = None;
            }
            _ => {}
        }
    }

    /// The same for its age.
    fn log_age(&mut self, health: &ChainHealth) {
        let Some(head) = health.head.filter(|_| health.trouble.is_none()) else { return };
        let (chain, block, age_s) = (self.chain.options.chain, head.number, head.age_s(health.at));
        match (head.is_old(health.at), self.is_old) {
            (true, false) => {
                let code = Code::ChainBehind;
                tracing::warn!(%chain, %code, block, age_s, "the newest block of the chain's endpoints is old");
            }
            (false, true) => tracing::info!(%chain, block, "the chain's endpoints have new blocks again"),
            _ => {}
        }
        self.is_old = head.is_old(health.at);
    }
}

/// The last word of one who lets go of the chain, with why unless it was told to. What
/// dies before this leaves a record that grows stale and a lease that runs out.
pub(in crate::collect) async fn end(chain: &CollectedChain, lease: &Lease, why: Option<&CollectError>) {
    let _turn = chain.pulse.writing.lock().await;
    chain.pulse.hold(None);
    let said = async {
        let mut health = record(chain, lease, Duration::ZERO).await?;
        health.phase = Phase::Ended;
        health.trouble = why.map(|error| Trouble::new(health.at, error.code(), &error.to_string()));
        health.write(&*chain.store, &chain.names, lease).await
    };
    if let Err(error) = said.await {
        tracing::debug!(chain = %chain.options.chain, %error, "that it is let go could not be written");
    }
}

async fn record(chain: &CollectedChain, lease: &Lease, stale_after: Duration) -> StoreResult<ChainHealth> {
    let wall = chain.store.now().await?;
    let record = chain.pulse.record(lease.owner.clone(), (Instant::now(), wall), stale_after);
    let finality_waited = chain.finality_wait().waited(chain.reader.endpoint_names(), wall);
    Ok(ChainHealth { endpoints: notes(chain), finality_waited, ..record })
}

/// What is the matter with single endpoints, and between them.
fn notes(chain: &CollectedChain) -> Vec<String> {
    let mut notes = chain.reader.endpoint_notes();
    notes.extend(chain.pulse.dispute());
    notes.extend(chain.finality_wait().notes());
    notes
}
