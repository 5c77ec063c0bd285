//! Payouts that wait because no account of this process can send: each says why.

use windlass_core::lease::Lease;

use super::check::Fate;
use super::{MAX_PAYOUTS, Submitted, Submitter, Taken};
use crate::pay::counted;
use crate::pay::error::PayError;

impl Submitter {
    /// The account sends nothing. Where no other one does, the payouts that are due are held with
    /// the reason; otherwise they are left to the others.
    pub(super) async fn show_blocked(&self, lease: &Lease, done: Submitted) -> Result<Submitted, PayError> {
        self.hold_due(lease).await.map(|()| done)
    }

    /// Holds the payouts that are due, where no account of this process sends.
    async fn hold_due(&self, lease: &Lease) -> Result<(), PayError> {
        let payer = &self.payer;
        let Some(reason) = payer.accounts.all_blocked() else { return Ok(()) };
        let jobs = payer.claim(&payer.names.submit, MAX_PAYOUTS).await?;
        if jobs.is_empty() {
            return Ok(());
        }
        let tickets: Vec<_> = jobs.iter().map(|job| job.ticket).collect();
        let held = async {
            let (taken, unusable) = self.take_up(jobs).await?;
            if !unusable.is_empty() {
                self.put_off(lease, &unusable).await?;
            }
            self.hold(lease, taken, &reason).await
        };
        let held = held.await;
        if held.is_err() {
            payer.give_back(&tickets).await;
        }
        held
    }

    /// The endpoints serve another chain: every payout that is due is held with the reason.
    pub(super) async fn show_other_chain(&mut self, why: &str) -> Result<Submitted, PayError> {
        let accounts = self.payer.accounts.clone();
        accounts.set_other_chain(Some(why));
        let lease = self.take_lease().await?;
        accounts.set_ours(self.signer.address(), lease.is_some());
        match lease {
            Some(lease) => self.show_blocked(&lease, Submitted::OtherChain).await,
            None => Ok(Submitted::OtherChain),
        }
    }

    /// The endpoints do not answer. Once that has lasted, every payout that is due is held with the
    /// reason, and looked at again as seldom as any that waits.
    pub(super) async fn show_chain_trouble(&mut self) -> Result<(), PayError> {
        let accounts = self.payer.accounts.clone();
        if accounts.get(self.signer.address()).lasting_trouble().is_none() {
            return Ok(());
        }
        let Some(lease) = self.take_lease().await? else { return Ok(()) };
        accounts.set_ours(self.signer.address(), true);
        self.hold_due(&lease).await
    }

    async fn hold(&self, lease: &Lease, taken: Vec<Taken>, reason: &str) -> Result<(), PayError> {
        let now = self.payer.store.now().await?;
        let mut page = self.payer.page();
        let mut tickets = Vec::with_capacity(taken.len());
        for taken in &taken {
            let fate = match self.stands(&taken.payout).await? {
                Some(over) => over,
                None => Fate::wait(reason),
            };
            self.settle(&mut page, taken, &fate, now)?;
            tickets.push(taken.ticket);
        }
        let commit = tickets.into_iter().fold(page.into_commit(), |commit, ticket| commit.under_job(ticket));
        counted::commit(&self.payer.ledger, commit.under_lease(lease)).await?;
        Ok(())
    }
}
