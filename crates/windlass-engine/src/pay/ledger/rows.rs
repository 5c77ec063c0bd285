//! What is read: every row verified. Where a row is refused, some questions fail, since an answer
//! without it would be wrong, and others leave it out.

use std::collections::BTreeMap;

use async_trait::async_trait;
use windlass_core::chain::{Address, B256, ChainId, U256};
use windlass_core::error::StoreResult;
use windlass_core::payout::audit::{AuditHead, AuditRow};
use windlass_core::payout::ledger::{
    ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, LedgerIndex, Payout, RowId, SignerRow,
};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE, PayoutQuery, Payouts};

use super::{Ledger, named, nothing};

#[async_trait]
impl Payouts for Ledger {
    async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>> {
        self.check_payouts(ids).await?.all()
    }

    async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>> {
        self.read(nothing, || self.store.payouts_of_keys(keys)).await?.all()
    }

    async fn payouts_of_requests(&self, request_ids: &[B256]) -> StoreResult<Vec<Payout>> {
        self.check_payouts_of_requests(request_ids).await?.all()
    }

    /// Those that were refused are left out.
    async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
        let mut query = PayoutQuery { limit: query.limit.min(MAX_PAYOUT_PAGE), ..query.clone() };
        let mut payouts = Vec::new();
        loop {
            let read = self.check_page(&query).await?;
            let was_full = read.rows.len() + read.refused.len() >= query.limit as usize;
            let last = read.last(query.newest_first);
            query.limit -= u32::try_from(read.rows.len()).unwrap_or(query.limit).min(query.limit);
            payouts.extend(read.rows);
            if read.forgeries.is_empty() || !was_full || query.limit == 0 {
                return Ok(payouts);
            }
            query.after = last;
        }
    }

    async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>> {
        self.store.count_payouts().await
    }

    async fn count_waiting(&self) -> StoreResult<Vec<(VaultRef, u64)>> {
        self.store.count_waiting().await
    }

    /// One that was refused makes nobody known.
    async fn paid_to(&self, vault: VaultRef, to: &[Address]) -> StoreResult<Vec<Payout>> {
        Ok(self.read(nothing, || self.store.paid_to(vault, to)).await?.rows)
    }

    async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256> {
        self.store.open_total(vault, token).await
    }

    /// Those that were refused count for nothing.
    async fn approvals(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Approval>> {
        let expected = |index: &LedgerIndex| {
            let open = payouts.iter().flat_map(|payout| index.approvals(*payout).cloned());
            open.collect::<Vec<RowId>>()
        };
        let read = self.read(expected, || self.store.approvals(payouts)).await?;
        Ok(read.rows)
    }

    async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>> {
        let expected = |index: &LedgerIndex| named(index, keys.iter().map(|key| RowId::Budget(*key)));
        // What was never written is no row.
        let read = || async {
            let budgets = self.store.budgets(keys).await?;
            Ok(budgets.into_iter().filter(|budget| budget.version != 0).collect())
        };
        let written = self.read(expected, read).await?.all()?;
        let written: BTreeMap<BudgetKey, Budget> = written.into_iter().map(|row| (row.key, row)).collect();
        Ok(keys.iter().map(|key| written.get(key).copied().unwrap_or(Budget::empty(*key))).collect())
    }

    /// Those that were refused are left out.
    async fn list_budgets(&self, after: Option<BudgetKey>, limit: u32) -> StoreResult<Vec<Budget>> {
        Ok(self.check_budgets(after, limit).await?.rows)
    }

    /// Those that were refused are left out.
    async fn list_intents(&self, after: Option<IntentId>, limit: u32) -> StoreResult<Vec<Intent>> {
        Ok(self.check_intents(after, limit).await?.rows)
    }

    async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>> {
        let expected = |index: &LedgerIndex| named(index, std::iter::once(RowId::Intent(id)));
        let read = || async { Ok(self.store.intent(id).await?.into_iter().collect()) };
        Ok(self.read(expected, read).await?.all()?.pop())
    }

    async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>> {
        self.read(nothing, || self.store.intents_of(payout)).await?.all()
    }

    async fn intents_of_payouts(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Intent>> {
        self.read(nothing, || self.store.intents_of_payouts(payouts)).await?.all()
    }

    async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>> {
        match self.intent(intent).await? {
            Some(intent) => self.attempts_of(&intent).await,
            None => self.refuse_forms_of_none(intent).await.map(|()| Vec::new()),
        }
    }

    async fn list_attempts(&self, after: Option<(IntentId, u32)>, limit: u32) -> StoreResult<Vec<Attempt>> {
        self.store.list_attempts(after, limit).await
    }

    async fn unreadable_ids(&self) -> StoreResult<Vec<RowId>> {
        self.store.unreadable_ids().await
    }

    async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
        let expected = |index: &LedgerIndex| named(index, std::iter::once(RowId::Signer { chain, address }));
        let read = || async { Ok(self.store.signer(chain, address).await?.into_iter().collect()) };
        Ok(self.read(expected, read).await?.all()?.pop())
    }

    async fn list_signers(&self) -> StoreResult<Vec<SignerRow>> {
        let is_signer = |row: &&RowId| matches!(row, RowId::Signer { .. });
        let expected = |index: &LedgerIndex| index.rows().filter(is_signer).cloned().collect();
        Ok(self.read(expected, || self.store.list_signers()).await?.rows)
    }

    async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        self.store.audit_rows(query).await
    }

    async fn audit_head(&self) -> StoreResult<AuditHead> {
        self.store.audit_head().await
    }

    /// One that was refused is not known.
    async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>> {
        let read = || async { Ok(self.store.api_key(hash).await?.into_iter().collect()) };
        Ok(self.read(nothing, read).await?.rows.pop())
    }

    /// Those that were refused are left out.
    async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>> {
        Ok(self.check_api_keys().await?.rows)
    }
}
