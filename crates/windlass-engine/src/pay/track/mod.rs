//! From sent to final: every transaction is followed until nothing can undo it.

mod bump;
mod decide;
mod look;
mod next;
mod step;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::commit::Write;
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::job::{ClaimedJob, JobTicket, NewJob};
use windlass_core::payout::ledger::{Attempt, IntentId};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::time::Timestamp;

use self::bump::Reception;
use self::step::Step;
use super::counted;
use super::error::{OVERTAKEN_PAUSE, PayError};
use super::page::Page;
use super::payer::{Payer, Sight};
use super::submit::words;
use crate::pace::{Paced, step_until};

/// The most transactions that one step looks at.
const MAX_INTENTS: u32 = 200;
/// Of how many transactions the last answers are remembered.
const MAX_REMEMBERED: usize = 10_000;
/// How many of them at once.
const AT_ONCE: usize = 16;

/// What a step has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracked {
    /// Nothing was due.
    Idle,
    /// Transactions were looked at.
    Looked {
        /// How many.
        intents: usize,
        /// Of how many something was written.
        changed: usize,
        /// How many could not be looked at, and will be again.
        failed: usize,
    },
}

/// The loop.
pub struct Tracker {
    payer: Arc<Payer>,
    /// What endpoints answered last to each transaction.
    sent: HashMap<IntentId, LastSend>,
}

/// What endpoints answered to the newest form of a transaction. Not stored: a process that starts
/// sends and sees for itself.
struct LastSend {
    /// In words, so that the log has only what is new.
    answers: Vec<String>,
    /// Since when an endpoint has it.
    reception: Option<Reception>,
}

/// One transaction, and the right to finish its job.
struct Followed {
    intent: IntentId,
    ticket: JobTicket,
}

impl Tracker {
    /// A loop.
    pub fn new(payer: Arc<Payer>) -> Self {
        Self { payer, sent: HashMap::new() }
    }

    /// Steps until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), PayError> {
        step_until(&mut self, &shutdown).await
    }

    /// Looks at the transactions that are due.
    pub async fn step(&mut self) -> Result<Tracked, PayError> {
        let jobs = self.payer.claim(&self.payer.names.track, MAX_INTENTS).await?;
        counted::claimed("track", jobs.len());
        if jobs.is_empty() {
            return Ok(Tracked::Idle);
        }
        let tickets: Vec<JobTicket> = jobs.iter().map(|job| job.ticket).collect();
        let done = self.look_at(jobs).await;
        if done.is_err() {
            self.payer.give_back(&tickets).await;
        }
        done
    }

    async fn look_at(&mut self, jobs: Vec<ClaimedJob>) -> Result<Tracked, PayError> {
        let payer = self.payer.clone();
        let mut followed = Vec::with_capacity(jobs.len());
        for job in &jobs {
            match job.key.as_str().parse::<IntentId>() {
                Ok(intent) => followed.push(Followed { intent, ticket: job.ticket }),
                Err(error) => payer.discard(job, &error).await?,
            }
        }
        let sight = match payer.sight().await {
            Err(PayError::OtherChain(why)) => {
                self.hold_all(&followed, &why).await?;
                return Err(PayError::OtherChain(why));
            }
            Err(error @ PayError::Chain(_)) => {
                if let Some(trouble) = payer.accounts.chain_trouble() {
                    self.hold_all(&followed, &trouble.reason()).await?;
                }
                return Err(error);
            }
            sight => sight?,
        };
        let looks = stream::iter(followed).map(|followed| {
            let (payer, sight) = (&payer, &sight);
            let reception = self.sent.get(&followed.intent).and_then(|sent| sent.reception);
            async move {
                let step = payer.look(sight, followed.intent, reception).await;
                (followed, step)
            }
        });
        let looks: Vec<(Followed, Result<Step, PayError>)> = looks.buffered(AT_ONCE).collect().await;
        let (mut good, mut trouble) = (Vec::new(), None);
        let (intents, mut failed) = (looks.len(), 0);
        for (followed, step) in looks {
            match step {
                Ok(step) => good.push((followed, step)),
                Err(error) => {
                    tracing::debug!(intent = %followed.intent, %error, "a transaction could not be looked at");
                    // An answer that is missing proves nothing: it is looked at again.
                    good.push((followed, Step::again()));
                    failed += 1;
                    trouble = Some(error);
                }
            }
        }
        let changed = good.iter().filter(|(_, step)| step.changes()).count();
        let overtaken = self.commit(&good, &sight).await?;
        self.send(good, sight.latest.number).await?;
        match trouble {
            // All of them: the endpoint is the trouble, and the loop is to know.
            Some(error) if failed == intents => Err(error),
            _ => Ok(Tracked::Looked { intents, changed, failed: failed + overtaken }),
        }
    }

    /// Writes all steps in one commit; where another process was quicker with one of them, each by
    /// itself. Returns how many were not written for that reason.
    async fn commit(&self, steps: &[(Followed, Step)], sight: &Sight) -> Result<usize, PayError> {
        match self.commit_together(steps, sight).await {
            Err(error) if error.is_overtaken() && steps.len() > 1 => {}
            done => return done.map(|()| 0),
        }
        let mut overtaken = 0;
        for step in steps {
            match self.commit_together(std::slice::from_ref(step), sight).await {
                Err(error) if error.is_overtaken() => {
                    tracing::debug!(intent = %step.0.intent, %error, "a transaction is looked at again");
                    self.payer.give_back(&[step.0.ticket]).await;
                    overtaken += 1;
                }
                done => done?,
            }
        }
        Ok(overtaken)
    }

    async fn commit_together(&self, steps: &[(Followed, Step)], sight: &Sight) -> Result<(), PayError> {
        let payer = &self.payer;
        let now = payer.store.now().await?;
        let mut page = payer.page();
        for (followed, step) in steps {
            page.write(Write::CompleteJob(followed.ticket));
            step.write(payer, &mut page, sight, now).await?;
            if step.is_followed_on() {
                page.job(self.next_look(followed.intent, now)?);
            }
        }
        let is_news = steps.iter().any(|(_, step)| step.changes());
        let commit =
            steps.iter().fold(page.into_commit(), |commit, (followed, _)| commit.under_job(followed.ticket));
        let commit = if is_news { commit } else { commit.relaxed() };
        counted::commit(&payer.ledger, commit).await?;
        Ok(())
    }

    /// Payouts on their way say why they are not followed. Their jobs are given back.
    async fn hold_all(&self, followed: &[Followed], why: &str) -> Result<(), PayError> {
        let payer = &self.payer;
        let now = payer.store.now().await?;
        let mut page = payer.page();
        let mut is_news = false;
        for Followed { intent, .. } in followed {
            let Some(intent) = payer.ledger.intent(*intent).await? else { continue };
            for payout in payer.ledger.payouts(&intent.payouts).await? {
                if payout.state == PayoutState::Submitted && !payout.is_held_for(why) {
                    page.payout(Some(&payout), payout.held(why, None, now));
                    is_news = true;
                }
            }
        }
        if is_news {
            counted::commit(&payer.ledger, page.into_commit()).await?;
        }
        Ok(())
    }

    fn next_look(&self, intent: IntentId, now: Timestamp) -> Result<NewJob, PayError> {
        let lane = super::names::PayNames::intent_lane(intent)?;
        let at = now.after(self.payer.options.track_interval);
        Ok(NewJob { not_before: Some(at), ..NewJob::new(self.payer.names.track.clone(), lane, "{}") })
    }

    /// Sends what is not in a block, read back from the store.
    async fn send(&mut self, steps: Vec<(Followed, Step)>, newest: u64) -> Result<(), PayError> {
        let payer = self.payer.clone();
        let due: Vec<IntentId> = steps
            .iter()
            .filter(|(_, step)| step.waiting().is_some())
            .map(|(followed, _)| followed.intent)
            .collect();
        let ended = steps.iter().filter(|(_, step)| !step.is_followed_on());
        ended.for_each(|(followed, _)| {
            self.sent.remove(&followed.intent);
        });
        if self.sent.len() > MAX_REMEMBERED {
            self.sent.clear();
        }
        let sending = stream::iter(due).map(|intent| {
            let payer = &payer;
            async move {
                // A repaired transaction may have no form until it is signed again.
                let Some(attempt) = newest_form(payer, intent).await? else { return Ok(None) };
                let answers = payer.send(&attempt).await;
                Ok::<_, PayError>(Some((intent, attempt.number, answers)))
            }
        });
        let sent: Vec<_> = sending.buffered(AT_ONCE).collect().await;
        let mut page: Page = payer.page();
        let mut is_news = false;
        for answer in sent {
            let Some((intent, number, answers)) = answer? else { continue };
            let before = self.sent.get(&intent);
            let reception = Reception::of(before.and_then(|sent| sent.reception), number, &answers, newest);
            let answers = words(&answers);
            if before.is_none_or(|sent| sent.answers != answers) {
                page.note("attempt.sent", intent, json!({"number": number, "answers": answers}));
                is_news = true;
            }
            self.sent.insert(intent, LastSend { answers, reception });
        }
        if is_news {
            counted::commit(&payer.ledger, page.into_commit().relaxed()).await?;
        }
        Ok(())
    }
}

/// The newest signed form of a transaction; none where one was refused, which is reported.
async fn newest_form(payer: &Payer, intent: IntentId) -> Result<Option<Attempt>, PayError> {
    match payer.ledger.attempts(intent).await {
        Ok(mut attempts) => Ok(attempts.pop()),
        Err(StoreError::Forged(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Paced for Tracker {
    const WHAT: &'static str = "following payouts";
    type Error = PayError;

    async fn pace(&mut self) -> Result<Duration, PayError> {
        Ok(match self.step().await? {
            // They are due again at once: not without a pause, whatever keeps them from being written.
            Tracked::Looked { failed, .. } if failed > 0 => OVERTAKEN_PAUSE,
            Tracked::Looked { .. } => Duration::ZERO,
            Tracked::Idle => self.payer.options.track_interval / 4,
        })
    }

    fn retry(error: &PayError) -> RetryAdvice {
        match error {
            PayError::Store(StoreError::Closed) => RetryAdvice::Never,
            error => error.retry(),
        }
    }
}
