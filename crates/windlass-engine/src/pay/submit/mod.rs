//! From approved to signed, stored and sent: one loop per account.
//!
//! An account's nonces are given out by who holds its lease, in the commit that stores
//! the signed bytes. What is sent is read back from there.

mod ahead;
mod blocked;
mod check;
mod group;
mod send;
mod sign;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::commit::Write;
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::job::{ClaimedJob, JobTicket, NewJob};
use windlass_core::lease::Lease;
use windlass_core::payout::ledger::{PayWrite, Payout, SignerRow};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::signer::Signer;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};
use windlass_core::time::Timestamp;

use self::check::Fate;
pub(super) use self::send::words;
use super::accounts::Blocked;
use super::counted;
use super::error::PayError;
use super::names::PayNames;
use super::page::Page;
use super::payer::Payer;
use crate::pace::{Paced, step_until};

/// The most payouts that one step takes up: as many as one question to the store may name.
const MAX_PAYOUTS: u32 = MAX_PAYOUT_PAGE;
/// A hold whose figures alone have changed is written again after this.
const HOLD_REFRESH: Duration = Duration::from_secs(600);
/// Whoever is not the account's holder asks again after this.
const NOT_OURS_PAUSE: Duration = Duration::from_secs(2);

/// What a step has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// Another process gives out the account's nonces.
    NotOurs,
    /// The account was halted.
    Halted,
    /// Transactions of the account that are not ours are not final yet.
    NotYet,
    /// The account cannot pay for the gas of its next transaction.
    ShortOfGas,
    /// The endpoints serve another chain than the one that the vault is known on.
    OtherChain,
    /// As many transactions are on their way as may be.
    Full,
    /// There is nothing to do.
    Idle,
    /// Payouts were taken up.
    Worked {
        /// How many transactions were signed.
        transactions: usize,
        /// How many payouts they pay.
        payouts: usize,
        /// How many payouts wait.
        held: usize,
        /// How many were rejected, or turned out to be over.
        ended: usize,
    },
}

/// The loop.
pub struct Submitter {
    payer: Arc<Payer>,
    signer: Arc<dyn Signer>,
    lease: Option<Lease>,
    /// Since when every endpoint counts more transactions than are stored here.
    ahead_since: Option<Timestamp>,
    /// How many commits in a row were refused.
    refused_commits: AtomicU32,
}

/// A payout that was taken up, and the right to finish its job.
struct Taken {
    payout: Payout,
    ticket: JobTicket,
}

/// A payout whose row was refused, or is not there, and the right to finish its job.
struct Unusable {
    id: PayoutId,
    ticket: JobTicket,
}

impl Submitter {
    /// The loop of an account.
    pub fn new(payer: Arc<Payer>, signer: Arc<dyn Signer>) -> Self {
        Self { payer, signer, lease: None, ahead_since: None, refused_commits: AtomicU32::new(0) }
    }

    /// Steps until told to stop, then gives the account back.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), PayError> {
        let result = step_until(&mut self, &shutdown).await;
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.payer.store.release_lease(&lease).await
        {
            tracing::debug!(%error, "an account could not be given back; its hold will run out");
        }
        result
    }

    /// Does one unit of work.
    pub async fn step(&mut self) -> Result<Submitted, PayError> {
        let (account, accounts) = (self.signer.address(), self.payer.accounts.clone());
        let asked_at = Instant::now();
        match self.work_once().await {
            Err(PayError::OtherChain(why)) => {
                accounts.chain_answered(account);
                self.show_other_chain(&why).await
            }
            Err(PayError::Chain(error)) => {
                accounts.chain_failed(account, &error, asked_at);
                self.show_chain_trouble().await?;
                Err(error.into())
            }
            done => {
                if done.is_ok() {
                    accounts.chain_answered(account);
                }
                done
            }
        }
    }

    async fn work_once(&mut self) -> Result<Submitted, PayError> {
        if self.payer.accounts.other_chain().is_some() {
            self.payer.watch_chain().await?;
        }
        self.payer.reconcile_once().await?;
        let (account, accounts) = (self.signer.address(), self.payer.accounts.clone());
        let lease = self.take_lease().await?;
        accounts.set_ours(account, lease.is_some());
        let Some(lease) = lease else { return Ok(Submitted::NotOurs) };
        let row = match self.account(&lease).await? {
            Ok(row) => row,
            Err(blocked) => {
                accounts.block(account, blocked);
                return self.show_blocked(&lease, Submitted::NotYet).await;
            }
        };
        if let Some(why) = &row.halted {
            accounts.block(account, Blocked::Halted(why.clone()));
            return self.show_blocked(&lease, Submitted::Halted).await;
        }
        accounts.unblock(account);
        if matches!(accounts.get(account).blocked, Some(Blocked::ShortOfGas { .. })) {
            return self.show_blocked(&lease, Submitted::ShortOfGas).await;
        }
        let Some(used) = self.used(&row).await? else { return self.confirm_ahead(&lease, &row).await };
        self.ahead_since = None;
        accounts.count_confirmed(account);
        let room = self.payer.options.max_open.saturating_sub(row.next_nonce - used);
        if room == 0 {
            return Ok(Submitted::Full);
        }
        let payouts = room.saturating_mul(self.payer.options.batch_size() as u64);
        let max_jobs = u32::try_from(payouts).unwrap_or(MAX_PAYOUTS).min(MAX_PAYOUTS);
        let jobs = self.payer.claim(&self.payer.names.submit, max_jobs).await?;
        counted::claimed("submit", jobs.len());
        if jobs.is_empty() {
            return Ok(Submitted::Idle);
        }
        let tickets: Vec<JobTicket> = jobs.iter().map(|job| job.ticket).collect();
        let done = self.work(&lease, &row, room, jobs).await;
        if done.is_err() {
            self.payer.give_back(&tickets).await;
        }
        done
    }

    async fn take_lease(&mut self) -> Result<Option<Lease>, PayError> {
        let payer = &self.payer;
        let name = payer.names.signer(self.signer.address())?;
        self.lease = payer.store.acquire_lease(&name, &payer.owner, payer.options.lease_ttl).await?;
        Ok(self.lease.clone())
    }

    /// The account's row; made at the first time, at the nonce where the chain is for good. Until that is
    /// known, and while transactions that were not sent from here are not final, why not.
    async fn account(&self, lease: &Lease) -> Result<Result<SignerRow, Blocked>, PayError> {
        let payer = &self.payer;
        let (chain, address) = (payer.options.vault.chain, self.signer.address());
        if let Some(row) = payer.ledger.signer(chain, address).await? {
            return Ok(Ok(row));
        }
        let used = match self.first_nonce().await? {
            Ok(used) => used,
            Err(blocked) => return Ok(Err(blocked)),
        };
        let row = SignerRow::new(chain, address, used, payer.store.now().await?);
        let mut page = payer.page();
        page.write(Write::Pay(PayWrite::Signer(row.clone())));
        page.note("signer.begun", address, json!({"next_nonce": row.next_nonce}));
        counted::commit(&payer.ledger, page.into_commit().under_lease(lease)).await?;
        Ok(Ok(row))
    }

    /// Somebody else has sent with this key: nothing is signed any more until a person decides.
    async fn halt(&self, lease: &Lease, row: &SignerRow, used: u64) -> Result<Submitted, PayError> {
        let unknown = used - row.next_nonce;
        let why = format!(
            "the chain has {unknown} transactions of this account that are not stored here: \
             the key is used elsewhere, or the database is an old copy"
        );
        tracing::error!(signer = %row.address, used, next_nonce = row.next_nonce, "{why}");
        let now = self.payer.store.now().await?;
        let mut page = self.payer.page();
        let detail = json!({"used": used, "next_nonce": row.next_nonce});
        page.halted(row.halted(Some(why), now), detail);
        counted::commit(&self.payer.ledger, page.into_commit().under_lease(lease)).await?;
        Ok(Submitted::Halted)
    }

    async fn work(
        &self,
        lease: &Lease,
        row: &SignerRow,
        room: u64,
        jobs: Vec<ClaimedJob>,
    ) -> Result<Submitted, PayError> {
        let (taken, unusable) = self.take_up(jobs).await?;
        if !unusable.is_empty() {
            self.put_off(lease, &unusable).await?;
        }
        if taken.is_empty() {
            return Ok(Submitted::Worked { transactions: 0, payouts: 0, held: unusable.len(), ended: 0 });
        }
        let checked = self.check(taken).await?;
        let grouped = self.group(checked).await?;
        let (held, ended) = grouped.counts();
        let (transactions, payouts) = self.submit(lease, row, room, grouped).await?;
        Ok(Submitted::Worked { transactions, payouts, held, ended })
    }

    /// Loads what was claimed. What comes of a claim is told together with it.
    /// A payout that cannot be used waits, and holds up no other.
    async fn take_up(&self, jobs: Vec<ClaimedJob>) -> Result<(Vec<Taken>, Vec<Unusable>), PayError> {
        let mut ids = Vec::with_capacity(jobs.len());
        for job in &jobs {
            match job.key.as_str().parse::<PayoutId>() {
                Ok(id) => ids.push((id, job.ticket)),
                Err(error) => self.payer.discard(job, &error).await?,
            }
        }
        let wanted: Vec<PayoutId> = ids.iter().map(|(id, _)| *id).collect();
        let payouts = self.payer.ledger.check_payouts(&wanted).await?.rows;
        let (mut taken, mut unusable) = (Vec::with_capacity(ids.len()), Vec::new());
        for (id, ticket) in ids {
            match payouts.binary_search_by_key(&id, |payout| payout.id) {
                Ok(at) => taken.push(Taken { payout: payouts[at].clone(), ticket }),
                // The ledger has said why; it may be mended.
                Err(_) => unusable.push(Unusable { id, ticket }),
            }
        }
        // The oldest first, in whatever order their lanes came.
        taken.sort_by_key(|taken| taken.payout.id);
        Ok((taken, unusable))
    }

    /// Payouts whose rows cannot be used are looked at again later.
    async fn put_off(&self, lease: &Lease, unusable: &[Unusable]) -> Result<(), PayError> {
        let again = self.payer.store.now().await?.after(self.payer.options.hold_interval);
        let mut page = self.payer.page();
        for Unusable { id, ticket } in unusable {
            page.write(Write::CompleteJob(*ticket));
            let job = NewJob::new(self.payer.names.submit.clone(), PayNames::payout_lane(*id)?, "{}");
            page.job(NewJob { not_before: Some(again), ..job });
        }
        let commit = unusable.iter().fold(page.into_commit(), |commit, one| commit.under_job(one.ticket));
        counted::commit(&self.payer.ledger, commit.under_lease(lease)).await?;
        Ok(())
    }

    /// Writes what became of a payout that is not sent now.
    fn settle(&self, page: &mut Page, taken: &Taken, fate: &Fate, now: Timestamp) -> Result<(), PayError> {
        page.write(Write::CompleteJob(taken.ticket));
        match fate {
            Fate::Over => {}
            Fate::Later => {
                let lane = PayNames::payout_lane(taken.payout.id)?;
                let job = NewJob::new(self.payer.names.submit.clone(), lane, "{}");
                page.job(job);
            }
            Fate::Wait { reason, until } => {
                // A rule, a sum or a recipient may change before then, and nothing would say so.
                let interval = self.payer.options.hold_interval;
                let again = until.map_or(now.after(interval), |until| until.min(now.after(interval * 4)));
                let lane = PayNames::payout_lane(taken.payout.id)?;
                let job = NewJob {
                    not_before: Some(again),
                    ..NewJob::new(self.payer.names.submit.clone(), lane, "{}")
                };
                page.job(job);
                let held = taken.payout.held(reason.clone(), *until, now);
                if taken.payout.is_held_otherwise(&held, HOLD_REFRESH) {
                    page.claimed(taken.payout.id, taken.ticket);
                    page.payout(Some(&taken.payout), held);
                }
            }
            Fate::End { reason } => {
                let ended = match taken.payout.state {
                    PayoutState::Submitted => taken.payout.failed(reason.clone(), now)?,
                    _ => taken.payout.rejected(reason.clone(), now)?,
                };
                page.claimed(taken.payout.id, taken.ticket);
                page.payout(Some(&taken.payout), ended);
            }
            Fate::Paid { inclusion } => page.found_paid(&taken.payout, *inclusion, now)?,
        }
        Ok(())
    }
}

impl Paced for Submitter {
    const WHAT: &'static str = "submitting payouts";
    type Error = PayError;

    async fn pace(&mut self) -> Result<Duration, PayError> {
        Ok(match self.step().await? {
            Submitted::Worked { .. } => Duration::ZERO,
            Submitted::NotOurs
            | Submitted::Halted
            | Submitted::NotYet
            | Submitted::ShortOfGas
            | Submitted::OtherChain => NOT_OURS_PAUSE,
            Submitted::Full | Submitted::Idle => self.payer.options.track_interval / 4,
        })
    }

    fn retry(error: &PayError) -> RetryAdvice {
        match error {
            PayError::Store(StoreError::Closed) => RetryAdvice::Never,
            error => error.retry(),
        }
    }
}
