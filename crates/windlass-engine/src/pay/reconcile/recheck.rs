//! Whether the chain still has what is stored as paid for good: a reorg below finality takes
//! payments away, and leaves a gap in the account's nonces.
//!
//! A payment is called lost only when the vault does not know the request, every endpoint that
//! answers has another block at its height, and both are so at two looks. It is then marked, and
//! its account is halted; an operator decides what is sent again ([`resend`](super::super::resend)).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use windlass_core::chain::{Address, B256};
use windlass_core::payout::ledger::{Approval, Inclusion, LedgerRow, Payout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{PayoutQuery, Payouts};
use windlass_core::payout::vault::answer::VaultStatus;
use windlass_core::payout::vault::calldata::MAX_BATCH;
use windlass_core::reader::BlockTag;
use windlass_core::time::Timestamp;

use crate::pay::counted;
use crate::pay::error::PayError;
use crate::pay::page::Page;
use crate::pay::payer::Payer;

/// The most payouts of one look: ten questions to the vault.
const MAX_PAYOUTS: usize = 10 * MAX_BATCH;

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rechecked {
    /// How many payments were asked for.
    pub payments: usize,
    /// How many seem to be lost, and are looked at once more.
    pub suspected: usize,
    /// How many are marked as lost now.
    pub lost: usize,
    /// How many the chain has in another block than before, for good, marked or not.
    pub moved: usize,
}

/// Asks again for what is stored as paid, a part at a time.
pub struct Recheck {
    payer: Arc<Payer>,
    /// The last payout that was looked at; none at the end and at the beginning.
    after: Option<PayoutId>,
    /// Payments that seemed to be lost at the last look.
    suspected: BTreeSet<PayoutId>,
}

/// How the chain has a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pay) enum Presence {
    /// The vault knows it, as paid in this block.
    Paid(u64),
    /// The vault does not know it, and its block is replaced.
    Lost,
    /// The vault does not know it, and an endpoint still has its block, or none answers.
    Unclear,
}

impl Recheck {
    /// Begins with the first payout.
    pub const fn new(payer: Arc<Payer>) -> Self {
        Self { payer, after: None, suspected: BTreeSet::new() }
    }

    /// Looks at the next payouts, and first at those that seemed to be lost.
    pub async fn step(&mut self) -> Result<Rechecked, PayError> {
        let payer = self.payer.clone();
        let mut payouts = payer.ledger.payouts(&self.suspected.iter().copied().collect::<Vec<_>>()).await?;
        payouts.extend(self.next_page().await?);
        let is_final = |payout: &Payout| {
            payout.state == PayoutState::Confirmed
                && payout.finalized_at.is_some()
                && payout.request.vault == payer.options.vault
        };
        payouts.retain(is_final);
        // One that seemed to be lost may be in the page as well.
        payouts.sort_unstable_by_key(|payout| payout.id);
        payouts.dedup_by_key(|payout| payout.id);
        let mut done = Rechecked { payments: payouts.len(), ..Rechecked::default() };
        let before = std::mem::take(&mut self.suspected);
        for (payout, presence) in payer.presence_of(&payouts).await? {
            match (presence, payout.is_payment_lost()) {
                (Presence::Lost, false) if before.contains(&payout.id) => {
                    done.lost += usize::from(was_written(payer.mark_lost(payout).await)?);
                }
                (Presence::Lost, false) => {
                    self.suspected.insert(payout.id);
                }
                (Presence::Paid(block), is_lost) if is_lost || is_elsewhere(payout, block) => {
                    done.moved += usize::from(payer.mark_moved(payout, block).await?);
                }
                _ => {}
            }
        }
        done.suspected = self.suspected.len();
        Ok(done)
    }

    /// The next payouts that are stored as paid; from the first on again behind the last.
    async fn next_page(&mut self) -> Result<Vec<Payout>, PayError> {
        let limit = u32::try_from(MAX_PAYOUTS / 2).unwrap_or(u32::MAX);
        let mut payouts = Vec::new();
        for _ in 0..2 {
            let state = Some(PayoutState::Confirmed);
            let query = PayoutQuery { state, after: self.after, limit, ..PayoutQuery::default() };
            let page = self.payer.ledger.list_payouts(&query).await?;
            self.after =
                page.last().map(|payout| payout.id).filter(|_| page.len() as u64 == u64::from(limit));
            payouts.extend(page);
            if self.after.is_none() {
                break;
            }
        }
        Ok(payouts)
    }
}

/// Whether a payment is in another block than is stored.
fn is_elsewhere(payout: &Payout, block: u64) -> bool {
    payout.inclusion.is_none_or(|inclusion| inclusion.block.number != block)
}

/// Whether a row was written; one that another process has changed meanwhile is looked at again.
fn was_written(written: Result<(), PayError>) -> Result<bool, PayError> {
    match written {
        Err(error) if error.is_overtaken() => Ok(false),
        written => written.map(|()| true),
    }
}

/// The row of a payout whose payment is gone. The log names its approvals again, which were no
/// longer watched once the payment was final.
pub(in crate::pay) fn write_lost(
    page: &mut Page,
    payout: &Payout,
    approvals: &[Approval],
    now: Timestamp,
) -> Payout {
    let block = payout.inclusion.map_or(0, |inclusion| inclusion.block.number);
    let reason = format!(
        "its payment is gone: block {block}, which was final, was replaced; \
         `windlass payout resend {}` sends its transaction again",
        payout.id
    );
    let lost = payout.payment_lost(reason, now);
    let its = approvals.iter().filter(|approval| approval.payout == payout.id);
    let rows = its.map(LedgerRow::row_version).collect();
    let detail = json!({"id": lost.id, "request_id": lost.request.request_id(), "was": payout.inclusion});
    page.publish(format!("{}/{}", lost.id, lost.version), "payout.payment_lost", &detail);
    page.note_with_rows("payout.payment_lost", payout.id, detail, rows);
    page.payout(Some(payout), lost.clone());
    lost
}

impl Payer {
    /// How the chain has each of these payments.
    pub(in crate::pay) async fn presence_of<'p>(
        &self,
        payouts: &'p [Payout],
    ) -> Result<Vec<(&'p Payout, Presence)>, PayError> {
        if payouts.is_empty() {
            return Ok(Vec::new());
        }
        let latest = self.sight().await?.latest.number;
        let ids: Vec<B256> = payouts.iter().map(|payout| payout.request.request_id()).collect();
        let records = self.records(&ids, BlockTag::Number(latest)).await?;
        let mut presences = Vec::with_capacity(payouts.len());
        for (payout, record) in payouts.iter().zip(records) {
            let presence = match (record.status, payout.inclusion) {
                (VaultStatus::Paid, _) => Presence::Paid(record.block),
                (_, Some(inclusion)) if self.is_replaced(inclusion).await => Presence::Lost,
                _ => Presence::Unclear,
            };
            if presence == Presence::Unclear {
                tracing::warn!(payout = %payout.id, "an endpoint's vault does not know a final payment, while its block is not known to be replaced");
            }
            presences.push((payout, presence));
        }
        Ok(presences)
    }

    /// Whether every endpoint that answers, and one at least, has another block at that height.
    async fn is_replaced(&self, inclusion: Inclusion) -> bool {
        let answers = self.chain.header_from_each(BlockTag::Number(inclusion.block.number)).await;
        let headers = answers.into_iter().filter_map(|one| one.answer.ok().flatten());
        let hashes: Vec<B256> = headers.map(|header| header.block.hash).collect();
        !hashes.is_empty() && !hashes.contains(&inclusion.block.hash)
    }

    /// Marks a payout whose final payment the chain has lost, and halts its account: what it has
    /// signed since cannot be mined before the gap in its nonces is closed.
    async fn mark_lost(&self, payout: &Payout) -> Result<(), PayError> {
        let now = self.store.now().await?;
        let block = payout.inclusion.map_or(0, |inclusion| inclusion.block.number);
        tracing::error!(payout = %payout.id, block, "a final payment is no longer in the chain");
        let approvals = self.ledger.approvals(&[payout.id]).await?;
        let mut page = self.page();
        write_lost(&mut page, payout, &approvals, now);
        if let Some(account) = payout.intent.map(|intent| intent.signer) {
            self.halt_for_lost_payment(&mut page, account, block).await?;
        }
        counted::commit(&self.ledger, page.into_commit()).await?;
        Ok(())
    }

    async fn halt_for_lost_payment(
        &self,
        page: &mut Page,
        account: Address,
        block: u64,
    ) -> Result<(), PayError> {
        let Some(row) = self.ledger.signer(self.options.vault.chain, account).await? else { return Ok(()) };
        if row.halted.is_some() {
            return Ok(());
        }
        let why = format!(
            "block {block}, which was final, was replaced, and payments of this account are gone: \
             send them again with `windlass payout resend`, then `windlass signer resume`"
        );
        tracing::error!(%account, "{why}");
        let now = self.store.now().await?;
        page.halted(row.halted(Some(why), now), json!({"block": block}));
        Ok(())
    }

    /// The chain has the payment in another block, which is stored once it is final. Whether it was.
    async fn mark_moved(&self, payout: &Payout, block: u64) -> Result<bool, PayError> {
        if block > self.sight().await?.last_final {
            return Ok(false);
        }
        let Some(inclusion) = self.payment_of(payout, block).await? else { return Ok(false) };
        let now = self.store.now().await?;
        let mut page = self.page();
        page.note(
            "payout.payment_moved",
            payout.id,
            json!({"was": payout.inclusion, "inclusion": inclusion}),
        );
        page.payout(Some(payout), payout.payment_moved(inclusion, now));
        let written =
            was_written(counted::commit(&self.ledger, page.into_commit()).await.map_err(Into::into))?;
        tracing::warn!(payout = %payout.id, block, "a final payment is in another block since a reorg below finality");
        Ok(written)
    }
}
