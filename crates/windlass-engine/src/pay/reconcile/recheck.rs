//! Whether the chain still has what is stored as paid for good: a reorg below finality takes
//! payments away, and leaves a gap in the account's nonces.
//!
//! A payment is called lost only when enough endpoints have the vault not know the request although its
//! block is final, at two looks: a reorg below finality has taken it away, or it was never there and an
//! endpoint has made it up. It is then marked, and its account is halted; an operator decides what is sent
//! again ([`resend`](super::super::resend)). A mark that turns out wrong is taken back, with the halt that
//! only came from such marks.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use windlass_core::chain::{Address, B256};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::ledger::{Approval, Inclusion, LedgerRow, PayWrite, Payout};
use windlass_core::payout::request::{PayoutId, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};
use windlass_core::payout::vault::answer::VaultStatus;
use windlass_core::payout::vault::calldata::MAX_BATCH;
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use crate::pay::counted;
use crate::pay::error::PayError;
use crate::pay::ledger::Ledger;
use crate::pay::names::PayNames;
use crate::pay::page::Page;
use crate::pay::payer::Payer;

/// The most payouts of one look: ten questions to the vault.
const MAX_PAYOUTS: usize = 10 * MAX_BATCH;

/// The most payouts whose payments are gone that are looked at every time and reported.
const MAX_KEPT: usize = MAX_PAYOUT_PAGE as usize;

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rechecked {
    /// How many payments were asked for.
    pub payments: usize,
    /// How many seem to be lost, and are looked at once more.
    pub suspected: usize,
    /// How many are marked as lost now.
    pub lost: usize,
    /// How many the chain has in another block than before, for good, or were marked and are there.
    pub moved: usize,
    /// How many are marked as lost, now or since earlier.
    pub gone: usize,
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
    /// Enough endpoints have the vault not know it, although its block is final.
    Lost,
    /// The endpoints do not agree, or its block is not final.
    Unclear,
}

impl Recheck {
    /// Begins with the first payout.
    pub const fn new(payer: Arc<Payer>) -> Self {
        Self { payer, after: None, suspected: BTreeSet::new() }
    }

    /// Looks at every payment, and once more at those that seemed to be lost.
    pub async fn whole(&mut self) -> Result<Rechecked, PayError> {
        let mut all = Rechecked::default();
        self.after = None;
        loop {
            let done = self.step().await?;
            all.payments += done.payments;
            all.lost += done.lost;
            all.moved += done.moved;
            (all.suspected, all.gone) = (done.suspected, done.gone);
            if self.after.is_none() {
                break;
            }
        }
        if all.suspected > 0 {
            let last = self.look(Vec::new()).await?;
            all.lost += last.lost;
            (all.suspected, all.gone) = (last.suspected, last.gone);
        }
        Ok(all)
    }

    /// Looks at the next payouts, and first at those that are marked or seemed to be lost.
    pub async fn step(&mut self) -> Result<Rechecked, PayError> {
        let page = self.next_page().await?;
        self.look(page).await
    }

    async fn look(&mut self, mut payouts: Vec<Payout>) -> Result<Rechecked, PayError> {
        let payer = self.payer.clone();
        let stored = lost_ids(&*payer.store, &payer.names).await?;
        let named: Vec<PayoutId> = self.suspected.union(&stored).copied().collect();
        for named in named.chunks(MAX_PAYOUT_PAGE as usize) {
            payouts.extend(payer.ledger.payouts(named).await?);
        }
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
        let mut lost = BTreeSet::new();
        let mut found = BTreeSet::new();
        for (payout, presence) in payer.presence_of(&payouts).await? {
            let mut is_marked = payout.is_payment_lost();
            match (presence, is_marked) {
                (Presence::Lost, false) if before.contains(&payout.id) => {
                    is_marked = was_written(payer.mark_lost(payout).await)?;
                    done.lost += usize::from(is_marked);
                }
                (Presence::Lost, false) => {
                    self.suspected.insert(payout.id);
                }
                (Presence::Paid(block), was_lost) if was_lost || is_elsewhere(payout, block) => {
                    if let Some(inclusion) = payer.mark_moved(payout, block).await? {
                        done.moved += 1;
                        is_marked = false;
                        let is_same = was_lost && payout.inclusion == Some(inclusion);
                        found.extend(payout.intent.filter(|_| is_same).map(|intent| intent.signer));
                    }
                }
                _ => {}
            }
            if is_marked {
                lost.insert(payout.id);
            }
        }
        (done.suspected, done.gone) = (self.suspected.len(), lost.len());
        payer.keep_lost(&stored, &lost).await?;
        for account in found {
            payer.release_found(account).await?;
        }
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

/// Why an account is halted whose payments are gone.
const HALTED_FOR_LOST: &str = "payments of this account are gone";

/// The payouts whose payments were last known to be gone; none where the list cannot be read.
async fn lost_ids(store: &dyn Store, names: &PayNames) -> StoreResult<BTreeSet<PayoutId>> {
    let stored = store.state(&names.lost).await?.unwrap_or_default();
    Ok(serde_json::from_str(&stored).unwrap_or_default())
}

/// The payouts of a vault whose final payments are gone.
pub async fn lost_payments(ledger: &Ledger, vault: VaultRef) -> StoreResult<Vec<Payout>> {
    let names = PayNames::new(vault).map_err(|error| StoreError::Invalid(error.to_string()))?;
    let ids: Vec<PayoutId> = lost_ids(&**ledger.store(), &names).await?.into_iter().take(MAX_KEPT).collect();
    let mut payouts = if ids.is_empty() { Vec::new() } else { ledger.check_payouts(&ids).await?.rows };
    payouts.retain(|payout| payout.request.vault == vault && payout.is_payment_lost());
    Ok(payouts)
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
    let advice = match payout.intent {
        Some(_) => format!("`windlass payout resend {}` sends its transaction again", payout.id),
        None => "nothing was sent for it from here: look for its request in a block explorer, and ask for it again \
                 under another key if it was never paid"
            .to_owned(),
    };
    let reason = format!(
        "its payment is gone: the vault does not know it, although block {block} was final; {advice}"
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
        let sight = self.sight().await?;
        let ids: Vec<B256> = payouts.iter().map(|payout| payout.request.request_id()).collect();
        let records = self.agreed_records_behind(&ids, sight.latest.number, sight.last_final).await?;
        let mut presences = Vec::with_capacity(payouts.len());
        for (payout, record) in payouts.iter().zip(records) {
            let is_final = payout.inclusion.is_some_and(|at| at.block.number <= sight.last_final);
            let presence = match record {
                Some(record) if record.status == VaultStatus::Paid => Presence::Paid(record.block),
                Some(_) if is_final => Presence::Lost,
                _ => Presence::Unclear,
            };
            if presence == Presence::Unclear {
                tracing::warn!(payout = %payout.id, "the endpoints do not agree whether the vault knows a final payment, or too few of them answer");
            }
            presences.push((payout, presence));
        }
        Ok(presences)
    }

    /// Keeps which payments are gone, so that a process that starts reports them, too.
    async fn keep_lost(
        &self,
        stored: &BTreeSet<PayoutId>,
        lost: &BTreeSet<PayoutId>,
    ) -> Result<(), PayError> {
        let kept: BTreeSet<PayoutId> = lost.iter().take(MAX_KEPT).copied().collect();
        if kept != *stored {
            let value = Some(json!(kept).to_string()).filter(|_| !kept.is_empty());
            let write = Write::PutState { key: self.names.lost.clone(), value };
            self.store.commit(Commit::of(vec![write])).await?;
        }
        Ok(())
    }

    /// Lets an account sign again that was halted for payments which are there after all, where none of its
    /// payments is marked any more.
    async fn release_found(&self, account: Address) -> Result<(), PayError> {
        let Some(row) = self.ledger.signer(self.options.vault.chain, account).await? else { return Ok(()) };
        let is_ours = |why: &String| why.contains(HALTED_FOR_LOST);
        if !row.halted.as_ref().is_some_and(is_ours) || self.has_lost(account).await? {
            return Ok(());
        }
        let now = self.store.now().await?;
        let mut page = self.page();
        page.note("signer.resumed", account, json!({"was": row.halted, "next_nonce": row.next_nonce}));
        page.write(Write::Pay(PayWrite::Signer(row.halted(None, now))));
        was_written(counted::commit(&self.ledger, page.into_commit()).await.map_err(Into::into))?;
        tracing::warn!(%account, "payments that were said to be gone are there: the account signs again");
        Ok(())
    }

    /// Whether a payment of an account is marked as lost.
    async fn has_lost(&self, account: Address) -> Result<bool, PayError> {
        let state = Some(PayoutState::Confirmed);
        let mut query = PayoutQuery { state, limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
        loop {
            let page = self.ledger.list_payouts(&query).await?;
            let is_its = |payout: &Payout| payout.intent.is_some_and(|intent| intent.signer == account);
            if page.iter().any(|payout| payout.is_payment_lost() && is_its(payout)) {
                return Ok(true);
            }
            match page.last() {
                Some(last) if page.len() == MAX_PAYOUT_PAGE as usize => query.after = Some(last.id),
                _ => return Ok(false),
            }
        }
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
            "{HALTED_FOR_LOST}: the vault does not know them, although block {block} was final: \
             send them again with `windlass payout resend`, then `windlass signer resume`"
        );
        tracing::error!(%account, "{why}");
        let now = self.store.now().await?;
        page.halted(row.halted(Some(why), now), json!({"block": block}));
        Ok(())
    }

    /// The chain has the payment, perhaps in another block, which is stored once it is final. Where it is, if
    /// that was written.
    async fn mark_moved(&self, payout: &Payout, block: u64) -> Result<Option<Inclusion>, PayError> {
        if block > self.sight().await?.last_final {
            return Ok(None);
        }
        let Some(inclusion) = self.agreed_payment(payout, &[block]).await? else { return Ok(None) };
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
        tracing::warn!(payout = %payout.id, block, "a final payment that was said to be gone is there, or is in another block since a reorg below finality");
        Ok(written.then_some(inclusion))
    }
}
