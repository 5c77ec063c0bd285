//! Wrappers around a store that leave payouts alone.

/// Implements [`Payouts`](windlass_core::payout::store::Payouts) by handing every
/// question to a field that has the answers.
#[macro_export]
macro_rules! delegate_payouts {
    ($wrapper:ty, $field:ident) => {
        const _: () = {
            use windlass_core::chain::{Address, B256, ChainId, U256};
            use windlass_core::error::StoreResult;
            use windlass_core::payout::audit::{AuditHead, AuditRow};
            use windlass_core::payout::ledger::{
                ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, Payout, SignerRow,
            };
            use windlass_core::payout::request::{IdempotencyKey, PayoutId, VaultRef};
            use windlass_core::payout::state::PayoutState;
            use windlass_core::payout::store::{AuditQuery, PayoutQuery, Payouts};

            #[async_trait::async_trait]
            impl Payouts for $wrapper {
                async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>> {
                    self.$field.payouts(ids).await
                }
                async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>> {
                    self.$field.payouts_of_keys(keys).await
                }
                async fn payouts_of_requests(&self, ids: &[B256]) -> StoreResult<Vec<Payout>> {
                    self.$field.payouts_of_requests(ids).await
                }
                async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
                    self.$field.list_payouts(query).await
                }
                async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>> {
                    self.$field.count_payouts().await
                }
                async fn has_paid(&self, vault: VaultRef, to: Address) -> StoreResult<bool> {
                    self.$field.has_paid(vault, to).await
                }
                async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256> {
                    self.$field.open_total(vault, token).await
                }
                async fn approvals(&self, payout: PayoutId) -> StoreResult<Vec<Approval>> {
                    self.$field.approvals(payout).await
                }
                async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>> {
                    self.$field.budgets(keys).await
                }
                async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>> {
                    self.$field.intent(id).await
                }
                async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>> {
                    self.$field.intents_of(payout).await
                }
                async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>> {
                    self.$field.attempts(intent).await
                }
                async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
                    self.$field.signer(chain, address).await
                }
                async fn list_signers(&self) -> StoreResult<Vec<SignerRow>> {
                    self.$field.list_signers().await
                }
                async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
                    self.$field.audit_rows(query).await
                }
                async fn audit_head(&self) -> StoreResult<AuditHead> {
                    self.$field.audit_head().await
                }
                async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>> {
                    self.$field.api_key(hash).await
                }
                async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>> {
                    self.$field.list_api_keys().await
                }
            }
        };
    };
}
