//! The port to what is kept of payouts. What is written goes through the door.

use async_trait::async_trait;

use super::audit::{AuditHead, AuditRow};
use super::ledger::{
    ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, Payout, RowId, SignerRow,
};
use super::memo::Reference;
use super::partial_id::IdSuffix;
use super::request::{IdempotencyKey, PayoutId, VaultRef};
use super::state::PayoutState;
use crate::chain::{Address, B256, ChainId, U256};
use crate::error::{StoreError, StoreResult};

/// The most rows that one question is answered with, or that one question names.
pub const MAX_PAYOUT_PAGE: u32 = 1_000;

/// Refuses a question that names too much, before a store is even asked.
pub fn check_many(count: usize) -> StoreResult<()> {
    if count > MAX_PAYOUT_PAGE as usize {
        return Err(StoreError::Invalid(format!("a question names at most {MAX_PAYOUT_PAGE} rows")));
    }
    Ok(())
}

/// Which payouts, ordered by when they were created.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PayoutQuery {
    /// Of one state.
    pub state: Option<PayoutState>,
    /// That try this one again.
    pub retry_of: Option<PayoutId>,
    /// To this recipient.
    pub to: Option<Address>,
    /// Of this token.
    pub token: Option<Address>,
    /// Of exactly this amount, in base units.
    pub amount: Option<U256>,
    /// Under this idempotency key.
    pub key: Option<IdempotencyKey>,
    /// With this external reference.
    pub reference: Option<Reference>,
    /// Whose id ends with these digits.
    pub id_suffix: Option<IdSuffix>,
    /// From this id on: ids sort by when payouts were created, see [`PayoutId::first_at`].
    pub from: Option<PayoutId>,
    /// Before this id.
    pub before: Option<PayoutId>,
    /// The newest come first.
    pub newest_first: bool,
    /// Behind this one, in the order of the list.
    pub after: Option<PayoutId>,
    /// At most so many, up to [`MAX_PAYOUT_PAGE`].
    pub limit: u32,
}

/// Which entries of the audit log, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditQuery {
    /// Of one subject.
    pub subject: Option<String>,
    /// Behind this number.
    pub after: i64,
    /// At most so many, up to [`MAX_PAYOUT_PAGE`].
    pub limit: u32,
}

/// The most rows with an id that cannot be read that are named, of each table.
pub const MAX_UNREADABLE: u32 = 100;

/// Reads what is kept of payouts.
///
/// A row in which a value does not belong where it stands fails no question: a store gives it as one that
/// has its id and is not authentic (see [`is_unreadable`](super::ledger::is_unreadable)). Where its id
/// cannot be read either, it is left out everywhere but of [`unreadable_ids`](Payouts::unreadable_ids).
#[async_trait]
pub trait Payouts: Send + Sync {
    /// Payouts by id, those that there are, ordered by id. At most [`MAX_PAYOUT_PAGE`].
    async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>>;

    /// Payouts by their keys, ordered by id. At most [`MAX_PAYOUT_PAGE`].
    async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>>;

    /// Payouts by the ids under which their vault knows them, ordered by id. At most [`MAX_PAYOUT_PAGE`].
    async fn payouts_of_requests(&self, request_ids: &[B256]) -> StoreResult<Vec<Payout>>;

    /// A page of payouts.
    async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>>;

    /// How many payouts stand where, in the order of states; none where there are none.
    async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>>;

    /// How many payouts of each vault are not in a block yet (PENDING_RISK, APPROVED or SUBMITTED), by
    /// vault; vaults without such payouts are left out.
    async fn count_waiting(&self) -> StoreResult<Vec<(VaultRef, u64)>>;

    /// For each of these recipients that has one a confirmed payout of a vault, whichever, by
    /// recipient. At most [`MAX_PAYOUT_PAGE`].
    async fn paid_to(&self, vault: VaultRef, to: &[Address]) -> StoreResult<Vec<Payout>>;

    /// How much of a token is submitted and not in a block yet, as far as is stored.
    async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256>;

    /// Who has approved payouts, by payout and name. At most [`MAX_PAYOUT_PAGE`] payouts.
    async fn approvals(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Approval>>;

    /// Sums of days, in the order asked; empty ones where nothing was held yet.
    async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>>;

    /// Sums of days by key, behind one, up to [`MAX_PAYOUT_PAGE`].
    async fn list_budgets(&self, after: Option<BudgetKey>, limit: u32) -> StoreResult<Vec<Budget>>;

    /// Transactions by id, behind one, up to [`MAX_PAYOUT_PAGE`].
    async fn list_intents(&self, after: Option<IntentId>, limit: u32) -> StoreResult<Vec<Intent>>;

    /// A transaction.
    async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>>;

    /// The transactions that were to pay a payout, by id.
    async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>>;

    /// The transactions that were to pay any of these payouts, by id. At most [`MAX_PAYOUT_PAGE`] payouts.
    async fn intents_of_payouts(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Intent>>;

    /// Every signed form of a transaction, in order.
    async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>>;

    /// Signed forms by transaction and number, behind one, up to [`MAX_PAYOUT_PAGE`].
    async fn list_attempts(&self, after: Option<(IntentId, u32)>, limit: u32) -> StoreResult<Vec<Attempt>>;

    /// Rows whose ids cannot be read, up to [`MAX_UNREADABLE`] of each table.
    async fn unreadable_ids(&self) -> StoreResult<Vec<RowId>>;

    /// An account's nonces.
    async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>>;

    /// Every account that has signed, by chain and address.
    async fn list_signers(&self) -> StoreResult<Vec<SignerRow>>;

    /// A page of the audit log.
    async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>>;

    /// The end of the audit log.
    async fn audit_head(&self) -> StoreResult<AuditHead>;

    /// A key of the API by what its secret hashes to.
    async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>>;

    /// Every key of the API, by name.
    async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>>;
}
