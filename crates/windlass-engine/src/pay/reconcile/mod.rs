//! The vault's payments against the stored ones, both ways. The store is put right, never the chain.
//!
//! Every process compares the vault's events with the store before it signs anything, from where
//! that was done last, and again every few minutes: what was paid after an old copy of a database
//! was made is found here, and the vault refuses to pay it again. [`recheck`] looks the other way:
//! whether the chain still has what is stored as paid.

mod misfiled;
pub mod recheck;
pub mod schedule;

use serde::Serialize;
use serde_json::json;
use windlass_core::chain::{Address, B256};
use windlass_core::cursor::{Cursor, CursorRule};
use windlass_core::error::StoreError;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Inclusion, Payout};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};
use windlass_core::payout::vault::calldata::VaultPayout;
use windlass_core::payout::vault::event::{VaultEvent, filter};
use windlass_core::range::BlockRange;
use windlass_core::time::Timestamp;

use self::misfiled::Misfiled;
use crate::pay::agreed::{Told, is_too_large};
use crate::pay::counted;
use crate::pay::desk::budgets;
use crate::pay::error::PayError;
use crate::pay::page::Page;
use crate::pay::payer::Payer;
use crate::pay::vault::is_as_asked;

/// How often an event is compared anew because somebody else was quicker.
const MAX_TRIES: u32 = 20;

/// The most unknown payments that are named one by one.
const MAX_NAMED: usize = 100;

/// A payment of the vault that this store has no payout for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnknownPayment {
    /// Under which id the vault knows it.
    pub request_id: B256,
    /// The transaction.
    pub transaction: B256,
    /// Its block.
    pub block: u64,
    /// The token's contract.
    pub token: Address,
    /// Who was paid.
    pub to: Address,
    /// How much, in base units.
    pub amount: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Reconciled {
    /// The last block that was compared.
    pub through: u64,
    /// How many events the vault had.
    pub events: u64,
    /// How many payouts were put right.
    pub repaired: u64,
    /// How many requests were paid or cancelled that are not stored here.
    pub unknown: u64,
    /// The first of the payments among them.
    pub unknown_payments: Vec<UnknownPayment>,
    /// How many events are of payouts whose rows, or whose transactions' rows, were refused.
    pub refused: u64,
    /// How many events contradict what is stored: rejected and paid, or paid otherwise.
    pub contradictions: u64,
    /// How many events an endpoint tells of on which the endpoints do not agree. They are compared once they do.
    pub disputed: u64,
}

fn unknown_payment(paid: &VaultPayout, at: Inclusion) -> UnknownPayment {
    UnknownPayment {
        request_id: paid.request_id,
        transaction: at.transaction,
        block: at.block.number,
        token: paid.token,
        to: paid.to,
        amount: paid.amount.to_string(),
    }
}

impl Payer {
    /// Compares once in the life of this process.
    pub(super) async fn reconcile_once(&self) -> Result<(), PayError> {
        let mut reconciled = self.reconciled.lock().await;
        if reconciled.is_none() {
            let done = self.reconcile(false).await?;
            tracing::info!(
                through = done.through,
                events = done.events,
                repaired = done.repaired,
                unknown = done.unknown,
                "compared the vault's events with the stored payouts"
            );
            *reconciled = Some(done);
        }
        Ok(())
    }

    /// Compares the vault's final events with what is stored, from where that was done
    /// last or, if told so, from the vault's first block on.
    pub async fn reconcile(&self, is_whole: bool) -> Result<Reconciled, PayError> {
        let last_final = self.sight().await?.last_final;
        let known = self.store.cursor(&self.names.reconciled).await?;
        let start = match &known {
            Some(cursor) if !is_whole => u64::try_from(cursor.primary()).unwrap_or(0) + 1,
            _ => self.deployed_at().await?,
        };
        let mut done = Reconciled { through: start.saturating_sub(1), ..Reconciled::default() };
        let wanted = filter(self.options.vault.address);
        let mut misfiled = Misfiled::default();
        let (mut from, mut is_certain) = (start, true);
        let mut size = self.chain.range_size(&wanted).max(1);
        while from <= last_final {
            let range = BlockRange { from, to: last_final.min(from.saturating_add(size - 1)) };
            let told = match self.agreed_events(range, &wanted).await {
                Ok(told) => told,
                Err(PayError::Chain(error)) if is_too_large(&error) && size > 1 => {
                    size = (size / 2).max(1);
                    continue;
                }
                Err(error) => return Err(error),
            };
            done.disputed += told.disputed as u64;
            // From where too few endpoints tell the same it is compared again, and by whoever asks for all
            // of it at once.
            is_certain &= told.is_heard && told.disputed == 0;
            if !is_certain && !is_whole {
                break;
            }
            for part in told.events.chunks(MAX_PAYOUT_PAGE as usize / 2) {
                self.compare(part, &mut misfiled, &mut done).await?;
            }
            if is_certain {
                self.advance(range.to).await?;
                done.through = range.to;
            }
            from = range.to + 1;
        }
        if !is_certain {
            tracing::warn!(
                done.through,
                done.disputed,
                "the endpoints do not agree on the vault's events behind a block, or too few of them answer"
            );
        }
        Ok(done)
    }

    /// Remembers how far it was compared. Others may be ahead.
    async fn advance(&self, through: u64) -> Result<(), PayError> {
        let name = &self.names.reconciled;
        let to = Cursor::new(i64::try_from(through).unwrap_or(i64::MAX), "final")
            .map_err(|error| PayError::strange(name, error))?;
        if !self.store.seed_cursor(name, to.clone()).await? {
            self.store.advance_cursor(name, to, CursorRule::Shared).await?;
        }
        Ok(())
    }

    async fn compare(
        &self,
        events: &[Told],
        misfiled: &mut Misfiled,
        done: &mut Reconciled,
    ) -> Result<(), PayError> {
        let ids: Vec<B256> = events.iter().map(|(event, _)| event.request_id()).collect();
        let read = self.ledger.check_payouts_of_requests(&ids).await?;
        let payouts = read.rows;
        for (event, at) in events.iter().copied() {
            done.events += 1;
            let payout = payouts.iter().find(|payout| payout.request.request_id() == event.request_id());
            // What stands in its place was refused, and is reported: nothing is known of it here.
            let is_refused =
                || read.refused.iter().any(|payout| payout.request.request_id() == event.request_id());
            let is_hidden = payout.is_none()
                && (is_refused() || misfiled.hides(&self.ledger, event.request_id()).await?);
            if is_hidden {
                done.refused += 1;
                continue;
            }
            match self.settle_latest(payout.cloned(), &event, at, done).await {
                // A row that it takes was refused, which is reported. The payout waits until the row is put
                // right, and is then found to be paid where its transaction is followed or it is signed.
                Err(PayError::Store(StoreError::Forged(why))) => {
                    tracing::warn!(request = %event.request_id(), %why, "an event of the vault is not compared");
                    done.refused += 1;
                }
                settled => settled?,
            }
        }
        Ok(())
    }

    /// Settles an event, anew where somebody else was quicker.
    async fn settle_latest(
        &self,
        mut payout: Option<Payout>,
        event: &VaultEvent,
        at: Inclusion,
        done: &mut Reconciled,
    ) -> Result<(), PayError> {
        let mut tries = 0;
        while let Err(error) = self.settle(payout.as_ref(), event, at, done).await {
            tries += 1;
            if !error.is_overtaken() || tries == MAX_TRIES {
                return Err(error);
            }
            payout = self.ledger.payouts_of_requests(&[event.request_id()]).await?.pop();
        }
        Ok(())
    }

    async fn settle(
        &self,
        payout: Option<&Payout>,
        event: &VaultEvent,
        at: Inclusion,
        done: &mut Reconciled,
    ) -> Result<(), PayError> {
        let mut page = self.page();
        let now = self.store.now().await?;
        let count: &mut u64 = match (payout, event) {
            (None, VaultEvent::PayoutExecuted(paid)) => {
                let payment = unknown_payment(paid, at);
                page.unknown_payment(&payment);
                if done.unknown_payments.len() < MAX_NAMED {
                    done.unknown_payments.push(payment);
                }
                &mut done.unknown
            }
            (None, VaultEvent::RequestCancelled { by, .. }) => {
                let detail = json!({"inclusion": at, "cancelled_by": by});
                page.note("vault.unknown_request", event.request_id(), detail);
                &mut done.unknown
            }
            (Some(payout), VaultEvent::PayoutExecuted(paid)) => {
                if payout.state.is_end() || !is_as_asked(payout, paid) {
                    tracing::error!(
                        payout = %payout.id, transaction = %at.transaction, to = %paid.to, token = %paid.token,
                        amount = %paid.amount, "the vault tells otherwise than what is stored"
                    );
                    page.note(
                        "payout.contradicted",
                        payout.id,
                        json!({"inclusion": at, "state": payout.state}),
                    );
                    &mut done.contradictions
                } else if self.is_news(payout, at).await? {
                    if payout.budget_day.is_none() {
                        for budget in budgets(&self.ledger, &payout.request, UtcDay::of(now)).await? {
                            page.budget(budget.with(payout.request.amount));
                        }
                    }
                    page.found_paid(payout, at, now)?;
                    &mut done.repaired
                } else {
                    return Ok(());
                }
            }
            (Some(payout), VaultEvent::RequestCancelled { .. }) => {
                if !matches!(payout.state, PayoutState::PendingRisk | PayoutState::Approved) {
                    return Ok(());
                }
                self.cancel(&mut page, payout, now).await?;
                &mut done.repaired
            }
        };
        counted::commit(&self.ledger, page.into_commit()).await?;
        *count += 1;
        Ok(())
    }

    /// Whether the payment is one that nobody here follows: nothing was signed for it as
    /// far as is stored, or it was made by a form of its transaction that is not stored.
    async fn is_news(&self, payout: &Payout, at: Inclusion) -> Result<bool, PayError> {
        if payout.finalized_at.is_some() {
            return Ok(false);
        }
        let Some(intent) = payout.intent else { return Ok(true) };
        let attempts = self.ledger.attempts(intent).await?;
        Ok(!attempts.iter().any(|attempt| attempt.hash == at.transaction))
    }

    async fn cancel(&self, page: &mut Page, payout: &Payout, now: Timestamp) -> Result<(), PayError> {
        if let Some(day) = payout.budget_day {
            for budget in budgets(&self.ledger, &payout.request, day).await? {
                page.budget(budget.without(payout.request.amount));
            }
        }
        page.payout(Some(payout), payout.rejected("the request was cancelled on the vault", now)?);
        Ok(())
    }
}
