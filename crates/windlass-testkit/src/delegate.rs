//! Wrappers around a store that leave payouts alone.

/// Implements [`Payouts`](windlass_core::payout::store::Payouts) by handing every
/// question to a field that has the answers; through a method that is given the
/// question's name and the answer to come, if one is named.
#[macro_export]
macro_rules! delegate_payouts {
    (@ask $of:expr, $name:ident($($argument:expr),*)) => {
        $of.$name($($argument),*).await
    };
    (@ask $of:expr, $name:ident($($argument:expr),*), $self:ident.$through:ident) => {
        $self.$through(stringify!($name), $of.$name($($argument),*)).await
    };
    ($wrapper:ty, $field:ident $(, $through:ident)?) => {
        const _: () = {
            use windlass_core::chain::{Address, B256, ChainId, U256};
            use windlass_core::error::StoreResult;
            use windlass_core::payout::audit::{AuditHead, AuditRow};
            use windlass_core::payout::ledger::{
                ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, Payout, RowId, SignerRow,
            };
            use windlass_core::payout::request::{IdempotencyKey, PayoutId, VaultRef};
            use windlass_core::payout::state::PayoutState;
            use windlass_core::payout::store::{AuditQuery, PayoutQuery, Payouts};

            #[async_trait::async_trait]
            impl Payouts for $wrapper {
                async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>> {
                    $crate::delegate_payouts!(@ask self.$field, payouts(ids) $(, self.$through)?)
                }
                async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>> {
                    $crate::delegate_payouts!(@ask self.$field, payouts_of_keys(keys) $(, self.$through)?)
                }
                async fn payouts_of_requests(&self, ids: &[B256]) -> StoreResult<Vec<Payout>> {
                    $crate::delegate_payouts!(@ask self.$field, payouts_of_requests(ids) $(, self.$through)?)
                }
                async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
                    $crate::delegate_payouts!(@ask self.$field, list_payouts(query) $(, self.$through)?)
                }
                async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>> {
                    $crate::delegate_payouts!(@ask self.$field, count_payouts() $(, self.$through)?)
                }
                async fn count_waiting(&self) -> StoreResult<Vec<(VaultRef, u64)>> {
                    $crate::delegate_payouts!(@ask self.$field, count_waiting() $(, self.$through)?)
                }
                async fn paid_to(&self, vault: VaultRef, to: &[Address]) -> StoreResult<Vec<Payout>> {
                    $crate::delegate_payouts!(@ask self.$field, paid_to(vault, to) $(, self.$through)?)
                }
                async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256> {
                    $crate::delegate_payouts!(@ask self.$field, open_total(vault, token) $(, self.$through)?)
                }
                async fn approvals(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Approval>> {
                    $crate::delegate_payouts!(@ask self.$field, approvals(payouts) $(, self.$through)?)
                }
                async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>> {
                    $crate::delegate_payouts!(@ask self.$field, budgets(keys) $(, self.$through)?)
                }
                async fn list_budgets(
                    &self,
                    after: Option<BudgetKey>,
                    limit: u32,
                ) -> StoreResult<Vec<Budget>> {
                    $crate::delegate_payouts!(@ask self.$field, list_budgets(after, limit) $(, self.$through)?)
                }
                async fn list_intents(
                    &self,
                    after: Option<IntentId>,
                    limit: u32,
                ) -> StoreResult<Vec<Intent>> {
                    $crate::delegate_payouts!(@ask self.$field, list_intents(after, limit) $(, self.$through)?)
                }
                async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>> {
                    $crate::delegate_payouts!(@ask self.$field, intent(id) $(, self.$through)?)
                }
                async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>> {
                    $crate::delegate_payouts!(@ask self.$field, intents_of(payout) $(, self.$through)?)
                }
                async fn intents_of_payouts(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Intent>> {
                    $crate::delegate_payouts!(@ask self.$field, intents_of_payouts(payouts) $(, self.$through)?)
                }
                async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>> {
                    $crate::delegate_payouts!(@ask self.$field, attempts(intent) $(, self.$through)?)
                }
                async fn list_attempts(
                    &self,
                    after: Option<(IntentId, u32)>,
                    limit: u32,
                ) -> StoreResult<Vec<Attempt>> {
                    $crate::delegate_payouts!(@ask self.$field, list_attempts(after, limit) $(, self.$through)?)
                }
                async fn unreadable_ids(&self) -> StoreResult<Vec<RowId>> {
                    $crate::delegate_payouts!(@ask self.$field, unreadable_ids() $(, self.$through)?)
                }
                async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
                    $crate::delegate_payouts!(@ask self.$field, signer(chain, address) $(, self.$through)?)
                }
                async fn list_signers(&self) -> StoreResult<Vec<SignerRow>> {
                    $crate::delegate_payouts!(@ask self.$field, list_signers() $(, self.$through)?)
                }
                async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
                    $crate::delegate_payouts!(@ask self.$field, audit_rows(query) $(, self.$through)?)
                }
                async fn audit_head(&self) -> StoreResult<AuditHead> {
                    $crate::delegate_payouts!(@ask self.$field, audit_head() $(, self.$through)?)
                }
                async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>> {
                    $crate::delegate_payouts!(@ask self.$field, api_key(hash) $(, self.$through)?)
                }
                async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>> {
                    $crate::delegate_payouts!(@ask self.$field, list_api_keys() $(, self.$through)?)
                }
            }
        };
    };
}
