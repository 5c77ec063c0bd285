//! Signing, and the commit that everything hangs on.

use std::sync::atomic::Ordering;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use windlass_core::chain::{B256, Bytes};
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::job::NewJob;
use windlass_core::lease::Lease;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::gas::{GasBalance, GasLevel};
use windlass_core::payout::ledger::{
    Attempt, Intent, IntentId, IntentState, OpenTotalLimit, PayWrite, SignerRow,
};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::transaction::Transaction;
use windlass_core::payout::vault::refusal::VaultRefusal;

use super::check::{Checked, Fate};
use super::group::{Grouped, Item, calldata_of, held_by};
use super::{Submitter, Taken};
use crate::pay::counted;
use crate::pay::error::PayError;
use crate::pay::gas_limit::Estimated;
use crate::pay::names::PayNames;

/// After so many commits in a row that were refused, something stands in the way that no other process does.
const MAX_REFUSED_COMMITS: u32 = 25;
/// How many questions are asked, and how many signatures wanted, at once.
const AT_ONCE: usize = 16;

/// A transaction that is ready to be signed.
struct Draft {
    items: Vec<Item>,
    data: Bytes,
    gas_limit: u64,
}

impl Submitter {
    /// Signs, commits and sends; says how many transactions, and how many payouts.
    pub(super) async fn submit(
        &self,
        lease: &Lease,
        row: &SignerRow,
        room: u64,
        grouped: Grouped,
    ) -> Result<(usize, usize), PayError> {
        let Grouped { mut checked, groups } = grouped;
        let (drafts, fees) = self.drafts(groups, room, &mut checked).await?;
        let signed = self.sign(row, &drafts, fees).await?;
        let sent: Vec<IntentId> = signed.iter().map(|(intent, _)| intent.id).collect();
        let payouts = drafts.iter().map(|draft| draft.items.len()).sum();
        if let Err(error) = self.commit(lease, row, checked, &drafts, signed).await {
            self.hold_claimed(lease, &drafts, sent.first(), &error).await?;
            return Err(error);
        }
        self.refused_commits.store(0, Ordering::Relaxed);
        self.send_stored(&sent).await?;
        Ok((sent.len(), payouts))
    }

    /// Transactions with their gas, at a price that is allowed.
    async fn drafts(
        &self,
        groups: Vec<Vec<Item>>,
        room: u64,
        checked: &mut Checked,
    ) -> Result<(Vec<Draft>, GasFees), PayError> {
        let none = GasFees { max_fee: 0, priority_fee: 0 };
        if groups.is_empty() {
            return Ok((Vec::new(), none));
        }
        let options = &self.payer.options;
        let market = self.payer.gas_fees().await?;
        let fees = match market.and_then(|fees| fees.within(options.gas_cap).map_err(|over| over.to_string()))
        {
            Ok(fees) => fees,
            Err(why) => {
                let items = groups.into_iter().flatten();
                checked.settled.extend(items.map(|item| (item.taken, Fate::wait(why.clone()))));
                return Ok((Vec::new(), none));
            }
        };
        let mut parts: Vec<Vec<Item>> = Vec::new();
        for group in groups {
            // What was in a batch that was reverted goes alone from now on.
            let is_again = |item: &Item| item.taken.payout.state == PayoutState::Submitted;
            let (again, group): (Vec<Item>, Vec<Item>) = group.into_iter().partition(is_again);
            parts.extend(again.into_iter().map(|item| vec![item]));
            parts.extend(parts_of(group, options.batch_size()));
        }
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        for item in parts.drain(room.min(parts.len())..).flatten() {
            checked.settled.push((item.taken, Fate::Later));
        }
        let estimates = stream::iter(parts).map(|items| self.estimate(items)).buffered(AT_ONCE);
        let estimates: Vec<_> = estimates.collect().await;
        let (mut drafts, mut trouble) = (Vec::with_capacity(estimates.len()), None);
        for (items, estimate) in estimates {
            match estimate {
                Ok((data, Estimated::Gas(gas_limit))) => drafts.push(Draft { items, data, gas_limit }),
                Ok((_, Estimated::Disputed(why))) => {
                    checked
                        .settled
                        .extend(items.into_iter().map(|item| (item.taken, Fate::wait(why.clone()))));
                }
                // An endpoint that fails now and then holds up those it failed, and no others.
                Err(error) => {
                    checked.settled.extend(items.into_iter().map(|item| (item.taken, Fate::Later)));
                    trouble = Some(error);
                }
                Ok((_, Estimated::Reverted { data, message })) => {
                    // Each was tried before and would have been paid: the vault has changed since.
                    let refusal = VaultRefusal::read(&data, &message);
                    for item in items {
                        checked.settled.push((item.taken, Fate::wait(held_by(&refusal))));
                    }
                }
            }
        }
        match trouble {
            Some(error) if drafts.is_empty() => Err(error),
            _ => Ok((self.affordable(drafts, fees, room, checked).await?, fees)),
        }
    }

    /// The transactions whose gas the account can pay for, besides what is on its way. What it
    /// cannot pay for is not signed: it would only wait, and hold up all that follows it.
    async fn affordable(
        &self,
        drafts: Vec<Draft>,
        fees: GasFees,
        room: usize,
        checked: &mut Checked,
    ) -> Result<Vec<Draft>, PayError> {
        let Some(first) = drafts.first().map(|draft| draft.gas_limit) else { return Ok(drafts) };
        let max_open = usize::try_from(self.payer.options.max_open).unwrap_or(usize::MAX);
        let on_their_way = max_open.saturating_sub(room) as u64;
        let mut gas = first.saturating_mul(on_their_way);
        let mut affordable = Vec::with_capacity(drafts.len());
        let mut balance = self.payer.gas_balance(self.signer.address(), gas, fees.max_fee).await?;
        for draft in drafts {
            gas = gas.saturating_add(draft.gas_limit);
            balance = balance.costing(gas, fees.max_fee);
            if balance.level() != GasLevel::Short {
                affordable.push(draft);
                continue;
            }
            // With nothing on its way the balance will not change by itself.
            if on_their_way == 0 && affordable.is_empty() {
                self.payer.accounts.short_of_gas(self.signer.address(), draft.gas_limit, balance);
            }
            let fate = self.unaffordable(on_their_way + affordable.len() as u64, &balance);
            checked.settled.extend(draft.items.into_iter().map(|item| (item.taken, fate.clone())));
        }
        Ok(affordable)
    }

    /// What becomes of payouts that this account cannot pay the gas for: another account takes
    /// them, or they wait.
    fn unaffordable(&self, on_their_way: u64, balance: &GasBalance) -> Fate {
        let account = self.signer.address();
        let is_blocked = self.payer.accounts.get(account).blocked.is_some();
        match self.payer.accounts.all_blocked() {
            Some(reason) => Fate::wait(reason),
            None if is_blocked => Fate::Later,
            None => Fate::wait(format!(
                "account {account} {balance}, with {on_their_way} transactions that are not mined yet"
            )),
        }
    }

    /// The call that pays these, and with how much gas at most: with more where it has run out of it.
    async fn estimate(&self, items: Vec<Item>) -> (Vec<Item>, Result<(Bytes, Estimated), PayError>) {
        let asked = async {
            let data = calldata_of(&items).map_err(|error| PayError::strange("a batch", error))?;
            let is_again = |item: &&Item| item.taken.payout.state == PayoutState::Submitted;
            let again: Vec<PayoutId> =
                items.iter().filter(is_again).map(|item| item.taken.payout.id).collect();
            Ok(match self.payer.estimate(&self.call(data.clone())).await? {
                Estimated::Gas(gas) => {
                    (data, Estimated::Gas(self.payer.reverts_of(&again).await?.limit(gas)))
                }
                estimated => (data, estimated),
            })
        };
        let estimate = asked.await;
        (items, estimate)
    }

    async fn sign(
        &self,
        row: &SignerRow,
        drafts: &[Draft],
        fees: GasFees,
    ) -> Result<Vec<(Intent, Attempt)>, PayError> {
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        let payer = &self.payer;
        let now = payer.store.now().await?;
        let block = payer.sight().await?.latest.number;
        let signing = (row.next_nonce..).zip(drafts).map(|(nonce, draft)| async move {
            let (chain, to) = (row.chain, payer.options.vault.address);
            let transaction = Transaction {
                chain,
                nonce,
                to: Some(to),
                data: draft.data.clone(),
                gas_limit: draft.gas_limit,
                fees,
            };
            let signature = self.signer.sign_hash(transaction.signing_hash()).await?;
            let signed = transaction.signed(&signature);
            let id = IntentId { chain, signer: row.address, nonce };
            let intent = Intent {
                id,
                version: 1,
                to,
                data: draft.data.clone(),
                gas_limit: draft.gas_limit,
                payouts: draft.items.iter().map(|item| item.taken.payout.id).collect(),
                created_at: now,
                state: IntentState::Open,
                updated_at: now,
                attempts: 1,
                signed_at_block: block,
                inclusion: None,
                receipt: None,
                mac: B256::ZERO,
            };
            let attempt =
                Attempt { intent: id, number: 1, hash: signed.hash, fees, raw: signed.raw, created_at: now };
            Ok::<_, PayError>((intent, attempt))
        });
        stream::iter(signing.collect::<Vec<_>>()).buffered(AT_ONCE).try_collect().await
    }

    /// Nonces, transactions, signed bytes, states, and what waits or has ended: all or nothing.
    async fn commit(
        &self,
        lease: &Lease,
        row: &SignerRow,
        mut checked: Checked,
        drafts: &[Draft],
        signed: Vec<(Intent, Attempt)>,
    ) -> Result<(), PayError> {
        let payer = &self.payer;
        let now = payer.store.now().await?;
        let mut page = payer.page();
        let mut tickets = Vec::new();
        let today = UtcDay::of(checked.now);
        let signed_items = drafts.iter().flat_map(|draft| &draft.items);
        signed_items.for_each(|item| checked.budgets.move_to(&item.taken.payout, today));
        checked.budgets.changed().into_iter().for_each(|budget| page.budget(budget));
        for (taken, fate) in &checked.settled {
            self.settle(&mut page, taken, fate, now)?;
            tickets.push(taken.ticket);
        }
        let mut jobs = Vec::with_capacity(signed.len());
        for (draft, (intent, attempt)) in drafts.iter().zip(&signed) {
            for Item { taken, .. } in &draft.items {
                page.write(Write::CompleteJob(taken.ticket));
                tickets.push(taken.ticket);
                page.claimed(taken.payout.id, taken.ticket);
                page.payout(Some(&taken.payout), submitted(taken, intent.id, today, now)?);
            }
            let lane = PayNames::intent_lane(intent.id)?;
            jobs.push(NewJob::new(payer.names.track.clone(), lane, "{}"));
            let detail = json!({"number": 1, "hash": attempt.hash, "fees": attempt.fees, "payouts": intent.payouts.len()});
            page.note("attempt.signed", intent.id, detail);
        }
        if !signed.is_empty() {
            let (intents, attempts): (Vec<_>, Vec<_>) = signed.into_iter().unzip();
            page.write(Write::Pay(PayWrite::Signer(row.used(intents.len() as u64, now))));
            page.write(Write::Pay(PayWrite::Intents(intents)));
            page.write(Write::Pay(PayWrite::Attempts(attempts)));
            jobs.into_iter().for_each(|job| page.job(job));
        }
        let mut commit = page.into_commit();
        // Another account may have signed since the vault was asked.
        let signs = |limit: &OpenTotalLimit| {
            let mut items = drafts.iter().flat_map(|draft| &draft.items);
            items.any(|item| item.taken.payout.request.token == limit.token)
        };
        let limits = checked.limits.into_iter().filter(signs);
        commit.writes.extend(limits.map(|limit| Write::Pay(PayWrite::OpenTotalLimit(limit))));
        let commit = tickets.into_iter().fold(commit, |commit, ticket| commit.under_job(ticket));
        counted::commit(&payer.ledger, commit.under_lease(lease)).await?;
        Ok(())
    }
}

impl Submitter {
    /// A commit was refused. Payouts that a live transaction of the database claims to pay, which their
    /// own rows do not name, are held with that reason; the others are signed without them. Where commits
    /// are refused again and again without such a claim, all of them are held.
    async fn hold_claimed(
        &self,
        lease: &Lease,
        drafts: &[Draft],
        next: Option<&IntentId>,
        error: &PayError,
    ) -> Result<(), PayError> {
        if !matches!(error, PayError::Store(StoreError::Stale(_))) {
            return Ok(());
        }
        let refused = self.refused_commits.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let stuck = next.filter(|_| refused >= MAX_REFUSED_COMMITS).map(|next| {
            format!(
                "the database refuses transaction {next}, the account's next: look for rows of `intent_payout` \
                 and `attempt` with its account and nonce, and remove them"
            )
        });
        let taken: Vec<&Taken> =
            drafts.iter().flat_map(|draft| &draft.items).map(|item| &item.taken).collect();
        let ids: Vec<PayoutId> = taken.iter().map(|taken| taken.payout.id).collect();
        // Whether they are authentic does not matter: they stand in the way.
        let intents = self.payer.store.intents_of_payouts(&ids).await?;
        let now = self.payer.store.now().await?;
        let mut page = self.payer.page();
        let mut tickets = Vec::new();
        for taken in taken {
            let id = taken.payout.id;
            let is_in_the_way = |intent: &&Intent| intent.state.is_live() && intent.payouts.contains(&id);
            let claim = intents.iter().find(is_in_the_way).map(|intent| {
                format!(
                    "the database says that transaction {} pays it, and the payout's own row does not: remove \
                     its row of `intent_payout` with that transaction",
                    intent.id
                )
            });
            if let Some(reason) = claim.or_else(|| stuck.clone()) {
                tracing::error!(payout = %id, "{reason}");
                self.settle(&mut page, taken, &Fate::wait(reason), now)?;
                tickets.push(taken.ticket);
            }
        }
        if tickets.is_empty() {
            return Ok(());
        }
        let commit = tickets.into_iter().fold(page.into_commit(), |commit, ticket| commit.under_job(ticket));
        counted::commit(&self.payer.ledger, commit.under_lease(lease)).await?;
        Ok(())
    }
}

fn submitted(
    taken: &Taken,
    intent: IntentId,
    day: UtcDay,
    now: windlass_core::time::Timestamp,
) -> Result<windlass_core::payout::ledger::Payout, PayError> {
    match taken.payout.state {
        // Taken out of a batch that was reverted: it stays on its way, by another transaction.
        PayoutState::Submitted => Ok(taken.payout.taken_over(intent, day, now)),
        _ => Ok(taken.payout.submitted(intent, day, now)?),
    }
}

/// The items in their order, so many in each part. Each part holds memory for its own items alone: what
/// `Vec::split_off` leaves behind keeps room for all that followed, which is quadratic in the payouts.
fn parts_of<T>(items: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let size = size.max(1);
    let mut parts = Vec::with_capacity(items.len().div_ceil(size));
    let mut items = items.into_iter();
    while items.len() > 0 {
        let mut part = Vec::with_capacity(size.min(items.len()));
        part.extend(items.by_ref().take(size));
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_memory_for_their_own_items_alone() {
        for (size, count) in [(1, 1_000), (200, 5), (300, 4), (0, 1_000)] {
            let parts = parts_of((0..1_000_u64).collect(), size);
            assert_eq!(parts.len(), count);
            assert_eq!(parts.concat(), (0..1_000).collect::<Vec<_>>());
            assert_eq!(parts.iter().map(Vec::capacity).sum::<usize>(), 1_000, "{size}");
        }
        assert!(parts_of(Vec::<u8>::new(), 3).is_empty());
    }
}
