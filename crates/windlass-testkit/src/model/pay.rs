//! What is kept of payouts, and the rules that hold whoever writes.

mod replace;

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::{Address, B256, ChainId, U256};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditEntry, AuditHead, AuditKey, AuditRow};
use windlass_core::payout::ledger::{
    ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, IntentState, PayWrite, Payout, SignerRow,
    check_tail,
};
use windlass_core::payout::request::{PayoutId, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::time::Timestamp;

use super::Model;

/// Everything about payouts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    payouts: BTreeMap<PayoutId, Payout>,
    approvals: BTreeMap<(PayoutId, String), Approval>,
    budgets: BTreeMap<BudgetKey, Budget>,
    intents: BTreeMap<IntentId, Intent>,
    attempts: BTreeMap<(IntentId, u32), Attempt>,
    signers: BTreeMap<(ChainId, Address), SignerRow>,
    keys: BTreeMap<String, ApiKey>,
    audit: Vec<AuditRow>,
}

impl Model {
    pub(crate) fn pay(&mut self, write: &PayWrite, now: Timestamp) -> StoreResult<Written> {
        let ledger = &mut self.ledger;
        match write {
            PayWrite::Payouts(rows) => rows.iter().try_for_each(|row| ledger.put_payout(row))?,
            PayWrite::Approvals(rows) => rows.iter().try_for_each(|row| ledger.approve(row))?,
            PayWrite::Budgets(rows) => rows.iter().try_for_each(|row| ledger.put_budget(row))?,
            PayWrite::Intents(rows) => rows.iter().try_for_each(|row| ledger.put_intent(row))?,
            PayWrite::Attempts(rows) => rows.iter().try_for_each(|row| ledger.put_attempt(row))?,
            PayWrite::Signer(row) => ledger.put_signer(row)?,
            PayWrite::ApiKey(row) => ledger.put_key(row)?,
            PayWrite::Replace(row) => ledger.replace(row),
            PayWrite::Remove(row) => ledger.checked_remove(row)?,
            PayWrite::Audit { key, entries, followed } => ledger.append(key, entries, *followed, now)?,
            PayWrite::OpenTotalLimit(limit) => limit.check(ledger.open_total(limit.vault, limit.token))?,
        }
        Ok(Written::Done)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn stale<T>(what: impl std::fmt::Display) -> StoreResult<T> {
    Err(StoreError::Stale(what.to_string()))
}

fn forbidden<T>(what: impl std::fmt::Display) -> StoreResult<T> {
    Err(StoreError::Forbidden(what.to_string()))
}

/// Whether everything stands in a payout that its state wants, and nothing that it excludes.
fn is_sound(payout: &Payout) -> bool {
    use PayoutState::*;
    let state = payout.state;
    let was_submitted = matches!(state, Submitted | Confirmed | Failed);
    payout.reason.is_some() == matches!(state, Failed | Rejected)
        && payout.budget_day.is_some() == state.holds_budget()
        && payout.submitted_at.is_some() == was_submitted
        && payout.confirmed_at.is_some() == (state == Confirmed)
        && (state != Confirmed || payout.inclusion.is_some())
        && (payout.finalized_at.is_none() || state == Confirmed)
        && (!was_submitted || payout.intent.is_some() || payout.inclusion.is_some())
}

impl Ledger {
    fn put_payout(&mut self, row: &Payout) -> StoreResult<()> {
        if row.version == 1 {
            let is_taken = |other: &Payout| {
                other.request.key == row.request.key
                    || (row.retry_of.is_some() && other.retry_of == row.retry_of)
            };
            if self.payouts.contains_key(&row.id) || self.payouts.values().any(is_taken) {
                return stale(row.id);
            }
            if row.state != PayoutState::PendingRisk {
                return forbidden("a payout begins as PENDING_RISK");
            }
            self.payouts
                .insert(row.id, Payout::new(row.id, row.request.clone(), &row.created_by, row.created_at));
            let kept = self.payouts.get_mut(&row.id).expect("just put there");
            (kept.retry_of, kept.updated_at, kept.mac) = (row.retry_of, row.updated_at, row.mac);
            (kept.memo, kept.reference) = (row.memo.clone(), row.reference.clone());
            return Ok(());
        }
        let Some(old) = self.payouts.get(&row.id).filter(|old| old.version == row.version - 1) else {
            return stale(row.id);
        };
        let has_a_way = old.finalized_at.is_none() || old.is_payment_lost();
        let is_a_way = old.state == row.state || (old.state.leads_to(row.state) && has_a_way);
        if !is_a_way || !is_sound(row) {
            return forbidden("no payout goes that way");
        }
        let kept = Payout {
            request: old.request.clone(),
            created_by: old.created_by.clone(),
            created_at: old.created_at,
            retry_of: old.retry_of,
            memo: old.memo.clone(),
            reference: old.reference.clone(),
            ..row.clone()
        };
        self.payouts.insert(row.id, kept);
        Ok(())
    }

    fn approve(&mut self, row: &Approval) -> StoreResult<()> {
        if !self.payouts.contains_key(&row.payout) {
            return forbidden("there is no such payout");
        }
        let key = (row.payout, row.approver.clone());
        match self.approvals.insert(key, row.clone()) {
            None => Ok(()),
            Some(_) => stale("an approval"),
        }
    }

    fn put_budget(&mut self, row: &Budget) -> StoreResult<()> {
        if self.budget(row.key).version != row.version - 1 {
            return stale("a budget");
        }
        self.budgets.insert(row.key, *row);
        Ok(())
    }

    fn put_intent(&mut self, row: &Intent) -> StoreResult<()> {
        let Some(old) = self.intents.get(&row.id) else {
            return if row.version == 1 { self.insert_intent(row) } else { stale(row.id) };
        };
        if old.version != row.version - 1 {
            return stale(row.id);
        }
        let is_ended = matches!(row.state, IntentState::Mined | IntentState::Reverted);
        let is_reopened =
            old.state == IntentState::Mined && row.state == IntentState::Open && row.inclusion.is_none();
        if (old.state != IntentState::Open && !is_reopened)
            || row.attempts < old.attempts
            || (is_ended && row.inclusion.is_none())
            || (row.receipt.is_some() && row.inclusion.is_none())
        {
            return forbidden("no transaction goes that way");
        }
        let kept = Intent {
            version: row.version,
            state: row.state,
            updated_at: row.updated_at,
            attempts: row.attempts,
            signed_at_block: row.signed_at_block,
            inclusion: row.inclusion,
            receipt: row.receipt,
            mac: row.mac,
            ..old.clone()
        };
        self.intents.insert(row.id, kept);
        Ok(())
    }

    fn insert_intent(&mut self, row: &Intent) -> StoreResult<()> {
        if row.state != IntentState::Open {
            return forbidden("a transaction begins as OPEN");
        }
        if row.payouts.iter().any(|payout| !self.payouts.contains_key(payout)) {
            return forbidden("there is no such payout");
        }
        let is_paid_elsewhere = |payout: &PayoutId| {
            let mut live = self.intents.values().filter(|intent| intent.state.is_live());
            live.any(|intent| intent.payouts.contains(payout))
        };
        let mut named = row.payouts.clone();
        named.sort_unstable();
        named.dedup();
        if row.payouts.iter().any(is_paid_elsewhere) || named.len() < row.payouts.len() {
            return stale("a payout's live transaction");
        }
        self.intents.insert(row.id, Intent { inclusion: None, receipt: None, ..row.clone() });
        Ok(())
    }

    fn put_attempt(&mut self, row: &Attempt) -> StoreResult<()> {
        let key = (row.intent, row.number);
        if self.attempts.contains_key(&key) || self.attempts.values().any(|other| other.hash == row.hash) {
            return stale("an attempt");
        }
        if !self.intents.contains_key(&row.intent) {
            return forbidden("there is no such transaction");
        }
        self.attempts.insert(key, row.clone());
        Ok(())
    }

    fn put_signer(&mut self, row: &SignerRow) -> StoreResult<()> {
        let key = (row.chain, row.address);
        match self.signers.get(&key) {
            None if row.version == 1 => {}
            Some(old) if old.version == row.version - 1 => {
                if row.next_nonce < old.next_nonce {
                    return forbidden("a nonce is never given out twice");
                }
            }
            _ => return stale("a signer"),
        }
        self.signers.insert(key, row.clone());
        Ok(())
    }

    fn put_key(&mut self, row: &ApiKey) -> StoreResult<()> {
        match self.keys.get(&row.name) {
            None if row.version == 1 => {
                if self.keys.values().any(|other| other.hash == row.hash) {
                    return stale("a key");
                }
                self.keys.insert(row.name.clone(), row.clone());
            }
            Some(old) if old.version == row.version - 1 => {
                if old.revoked_at.is_some() {
                    return forbidden("a key is revoked once");
                }
                let kept =
                    ApiKey { version: row.version, revoked_at: row.revoked_at, mac: row.mac, ..old.clone() };
                self.keys.insert(row.name.clone(), kept);
            }
            _ => return stale("a key"),
        }
        Ok(())
    }

    fn append(
        &mut self,
        key: &AuditKey,
        entries: &[AuditEntry],
        followed: Option<AuditHead>,
        now: Timestamp,
    ) -> StoreResult<()> {
        if let Some(followed) = followed {
            let before = usize::try_from(followed.seq - 1).unwrap_or(0);
            let tail = self.audit.get(before..).unwrap_or_default();
            check_tail(key, followed, self.audit_head(), tail, entries)?;
        }
        for entry in entries {
            let row = key.row(self.audit_head(), now, entry.clone());
            self.audit.push(row);
        }
        Ok(())
    }

    pub(crate) fn payouts(&self, wanted: impl Fn(&Payout) -> bool) -> Vec<Payout> {
        self.payouts.values().filter(|payout| wanted(payout)).cloned().collect()
    }

    pub(crate) fn list_payouts(&self, query: &PayoutQuery) -> Vec<Payout> {
        let limit = query.limit.min(MAX_PAYOUT_PAGE) as usize;
        let is_wanted = |payout: &&Payout| {
            let request = &payout.request;
            query.state.is_none_or(|state| payout.state == state)
                && query.retry_of.is_none_or(|old| payout.retry_of == Some(old))
                && query.to.is_none_or(|to| request.to == to)
                && query.token.is_none_or(|token| request.token == token)
                && query.amount.is_none_or(|amount| request.amount == amount)
                && query.key.as_ref().is_none_or(|key| request.key == *key)
                && (query.reference.is_none() || query.reference == payout.reference)
                && query.id_suffix.as_ref().is_none_or(|suffix| suffix.is_end_of(payout.id))
                && query.from.is_none_or(|from| payout.id >= from)
                && query.before.is_none_or(|before| payout.id < before)
                && query
                    .after
                    .is_none_or(|after| (payout.id < after) == query.newest_first && payout.id != after)
        };
        let mut wanted: Vec<Payout> = self.payouts.values().filter(is_wanted).cloned().collect();
        wanted.sort_unstable_by_key(|payout| payout.id);
        if query.newest_first {
            wanted.reverse();
        }
        wanted.truncate(limit);
        wanted
    }

    pub(crate) fn count_payouts(&self) -> Vec<(PayoutState, u64)> {
        let mut counts = BTreeMap::new();
        self.payouts.values().for_each(|payout| *counts.entry(payout.state).or_insert(0) += 1);
        counts.into_iter().collect()
    }

    pub(crate) fn count_waiting(&self) -> Vec<(VaultRef, u64)> {
        let waiting = [PayoutState::PendingRisk, PayoutState::Approved, PayoutState::Submitted];
        let mut counts = BTreeMap::new();
        for payout in self.payouts.values().filter(|payout| waiting.contains(&payout.state)) {
            *counts.entry(payout.request.vault).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    pub(crate) fn paid_to(&self, vault: VaultRef, to: &[Address]) -> Vec<Payout> {
        let is_paid = |payout: &&Payout, to: Address| {
            (payout.request.vault, payout.request.to) == (vault, to) && payout.state == PayoutState::Confirmed
        };
        let wanted: BTreeSet<Address> = to.iter().copied().collect();
        let found = |to: Address| self.payouts.values().find(|payout| is_paid(payout, to)).cloned();
        wanted.into_iter().filter_map(found).collect()
    }

    pub(crate) fn open_total(&self, vault: VaultRef, token: Address) -> U256 {
        let is_open = |payout: &&Payout| {
            payout.state == PayoutState::Submitted
                && payout.inclusion.is_none()
                && (payout.request.vault, payout.request.token) == (vault, token)
        };
        let open = self.payouts.values().filter(is_open);
        open.fold(U256::ZERO, |sum, payout| sum.saturating_add(payout.request.amount))
    }

    pub(crate) fn approvals(&self, payouts: &[PayoutId]) -> Vec<Approval> {
        self.approvals.values().filter(|approval| payouts.contains(&approval.payout)).cloned().collect()
    }

    pub(crate) fn budget(&self, key: BudgetKey) -> Budget {
        self.budgets.get(&key).copied().unwrap_or(Budget::empty(key))
    }

    pub(crate) fn list_budgets(&self, after: Option<BudgetKey>, limit: u32) -> Vec<Budget> {
        let is_behind = |budget: &&Budget| after.is_none_or(|after| budget.key > after);
        self.budgets.values().filter(is_behind).take(limit.min(MAX_PAYOUT_PAGE) as usize).copied().collect()
    }

    pub(crate) fn list_intents(&self, after: Option<IntentId>, limit: u32) -> Vec<Intent> {
        let is_behind = |intent: &&Intent| after.is_none_or(|after| intent.id > after);
        self.intents.values().filter(is_behind).take(limit.min(MAX_PAYOUT_PAGE) as usize).cloned().collect()
    }

    pub(crate) fn intents(&self, wanted: impl Fn(&Intent) -> bool) -> Vec<Intent> {
        self.intents.values().filter(|intent| wanted(intent)).cloned().collect()
    }

    pub(crate) fn list_attempts(&self, after: Option<(IntentId, u32)>, limit: u32) -> Vec<Attempt> {
        let behind = self.attempts.iter().filter(|(key, _)| after.is_none_or(|after| **key > after));
        behind.map(|(_, attempt)| attempt.clone()).take(limit.min(MAX_PAYOUT_PAGE) as usize).collect()
    }

    pub(crate) fn attempts(&self, intent: IntentId) -> Vec<Attempt> {
        self.attempts.values().filter(|attempt| attempt.intent == intent).cloned().collect()
    }

    pub(crate) fn signers(&self) -> Vec<SignerRow> {
        self.signers.values().cloned().collect()
    }

    pub(crate) fn audit_rows(&self, query: &AuditQuery) -> Vec<AuditRow> {
        let is_wanted = |row: &&AuditRow| {
            row.seq > query.after
                && query.subject.as_ref().is_none_or(|subject| *subject == row.entry.subject)
        };
        let limit = query.limit.min(MAX_PAYOUT_PAGE) as usize;
        self.audit.iter().filter(is_wanted).take(limit).cloned().collect()
    }

    pub(crate) fn audit_head(&self) -> AuditHead {
        self.audit.last().map(AuditHead::of).unwrap_or_default()
    }

    pub(crate) fn api_keys(&self, hash: Option<B256>) -> Vec<ApiKey> {
        self.keys.values().filter(|key| hash.is_none_or(|hash| key.hash == hash)).cloned().collect()
    }
}
