//! Where a chain waits until it can be collected: its endpoints answer, it is the right
//! chain, its contracts are there.
//!
//! Usually that is seen before the process begins, and the gate is open at once. A chain
//! whose endpoints refused or were silent then is asked for again and again, and says so in
//! its health record; meanwhile all others are collected. Once they answer, what they say is
//! checked as at the start: if something is to be mended, this chain alone stands still, or
//! the process ends where that is all it was started for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::reader::ChainReader;
use windlass_core::store::Store;
use windlass_core::time::Timestamp;
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::finality_wait::FinalityWaited;
use windlass_engine::collect::health::{ChainHealth, Phase, Trouble};
use windlass_engine::collect::names::ChainNames;
use windlass_engine::supervise::TaskResult;

use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::hurdle::Hurdle;
use crate::collect::ledger::unnamed;
use crate::collect::metered::Metered;
use crate::collect::preflight::Known;
use crate::collect::{preflight, prepare};
use crate::failure::Failure;

/// A silent chain is asked again after its own interval, and after this at most.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// What passes is asked again after this, each time after twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// What must be mended is looked at again after this: it may be mended from outside.
const MEND_PAUSE: Duration = Duration::from_secs(60);
/// How long a look may take before what was said about the last one is stale.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// The gate of one chain.
pub(super) struct Gate {
    pub(super) store: Arc<dyn Store>,
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) drafts: Arc<[Draft]>,
    pub(super) options: CollectOptions,
    pub(super) names: ChainNames,
    /// What was collected before the process began.
    pub(super) known: Arc<Known>,
    /// Told when the chain can be collected.
    pub(super) ready: watch::Sender<Option<Arc<CollectedChain>>>,
    /// Where to leave what ends the process, if something that must be mended does.
    pub(super) refusal: Option<Refusal>,
}

/// What must be mended before the process can do anything.
pub(super) type Refusal = Arc<Mutex<Option<Failure>>>;

/// What was said last.
struct Said {
    code: Code,
    since: Timestamp,
}

impl Gate {
    /// Makes the chain's tables, finds its first blocks, and lets the loops begin.
    pub(super) async fn open(&self) -> Result<(), Hurdle> {
        let catalog = prepare::catalog(&*self.store, &self.endpoints, &self.drafts).await?;
        let reader = Metered::new(self.endpoints.name.to_string(), self.endpoints.pool.clone());
        let chain = CollectedChain::new(self.options.clone(), self.store.clone(), Arc::new(reader), catalog);
        self.ready.send_replace(Some(Arc::new(chain.map_err(unnamed)?)));
        Ok(())
    }

    /// Waits until the chain can be collected, or until told to stop.
    pub(super) async fn run(self, mut hurdle: Hurdle, shutdown: CancellationToken) -> TaskResult {
        let (mut said, mut backoff) = (None, FIRST_PAUSE);
        loop {
            if let (Some(refusal), Hurdle::Silent(_) | Hurdle::Wrong(_)) = (&self.refusal, &hurdle) {
                self.end(&hurdle).await;
                let failure = Failure::from(hurdle);
                let message = failure.message.clone();
                *refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                return Err(message.into());
            }
            let pause = match &hurdle {
                Hurdle::Store(error) => store_pause(error)?,
                Hurdle::Passing { failure, pause, .. } => {
                    let pause = backoff.min(self.max_pause()).max((*pause).min(MAX_PAUSE));
                    backoff *= 2;
                    self.say(&mut said, Phase::Starting, failure, pause).await
                }
                Hurdle::Silent(failure) => {
                    self.say(&mut said, Phase::Starting, failure, self.max_pause()).await
                }
                Hurdle::Wrong(failure) => self.say(&mut said, Phase::Refused, failure, MEND_PAUSE).await,
            };
            let again = async {
                tokio::time::sleep(pause).await;
                preflight::check(&self.endpoints, &self.drafts, &self.known).await?;
                self.open().await
            };
            match shutdown.run_until_cancelled(again).await {
                None => {
                    self.end(&hurdle).await;
                    return Ok(());
                }
                Some(Ok(())) => break,
                Some(Err(next)) => hurdle = next,
            }
        }
        tracing::info!(chain = %self.endpoints.name, "the chain's endpoints answer: it is collected from now on");
        Ok(())
    }

    /// The longest pause between two looks at a chain that does not answer.
    fn max_pause(&self) -> Duration {
        self.options.historical_interval.min(MAX_PAUSE)
    }

    /// The last word, so that nobody thinks that it is still waited for.
    async fn end(&self, hurdle: &Hurdle) {
        let (Hurdle::Passing { failure, .. } | Hurdle::Silent(failure) | Hurdle::Wrong(failure)) = hurdle
        else {
            return;
        };
        let code = failure.code.unwrap_or(Code::TaskFailed);
        let told = self.tell(&None, Phase::Ended, (code, &failure.message), Duration::ZERO).await;
        if let Err(error) = told {
            tracing::debug!(chain = %self.endpoints.name, %error, "that it is not waited for could not be written");
        }
    }

    /// Says what stands in the way: in the log when it changes, in the store each time.
    /// Gives the pause before the next look.
    async fn say(
        &self,
        said: &mut Option<Said>,
        phase: Phase,
        failure: &Failure,
        pause: Duration,
    ) -> Duration {
        let code = failure.code.unwrap_or(Code::TaskFailed);
        if said.as_ref().is_none_or(|said| said.code != code) {
            self.log(phase, code, failure);
            *said = None;
        }
        match self.tell(said, phase, (code, &failure.message), pause).await {
            Ok(since) => *said = Some(Said { code, since }),
            Err(error) => {
                tracing::debug!(chain = %self.endpoints.name, %error, "how it goes could not be written")
            }
        }
        pause
    }

    fn log(&self, phase: Phase, code: Code, failure: &Failure) {
        let (chain, error) = (&self.endpoints.name, &failure.message);
        if phase == Phase::Refused {
            let hint = failure.hint.as_deref().unwrap_or_default();
            tracing::error!(%chain, %code, error, hint, "the chain cannot be collected until this is mended; others go on");
        } else if code == Code::RpcLimited {
            tracing::warn!(%chain, %code, error, "rate limited by the chain's endpoints: it is collected once they answer; others go on");
        } else {
            tracing::warn!(%chain, %code, error, "the chain's endpoints do not answer: it is collected once they do; others go on");
        }
    }

    /// Writes the record; gives since when it says so. Where another process collects the
    /// chain there is nothing to say.
    async fn tell(
        &self,
        said: &Option<Said>,
        phase: Phase,
        (code, message): (Code, &str),
        pause: Duration,
    ) -> StoreResult<Timestamp> {
        let at = self.store.now().await?;
        let since = said.as_ref().map_or(at, |said| said.since);
        let health = ChainHealth {
            owner: self.options.owner.clone(),
            phase,
            at,
            stale_at: at.after(pause + LOOK_LIMIT),
            heard_at: None,
            head: None,
            trouble: Some(Trouble::new(since, code, message)),
            endpoints: self.endpoints.pool.endpoint_notes(),
            finality_waited: FinalityWaited::default(),
        };
        health.tell(&*self.store, &self.names).await?;
        Ok(since)
    }
}

/// A store in passing trouble is asked again; with any other there is nothing to wait for.
fn store_pause(error: &StoreError) -> StoreResult<Duration> {
    if error.is_passing() { Ok(STORE_PAUSE) } else { Err(error.clone()) }
}

/// How long a store in trouble is left alone.
const STORE_PAUSE: Duration = Duration::from_secs(5);
