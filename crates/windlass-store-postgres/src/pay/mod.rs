//! What is kept of payouts.
//!
//! Rows with a version are made at version 1 and replaced by the one that follows:
//! where another version stands, nothing is written and the caller is told. Rows of
//! one kind go over as one JSON document, so that a batch costs one round trip.

mod access;
mod approval;
mod audit;
mod budget;
mod ids;
mod intent;
mod payout;
mod replace;
mod signer;
mod value;

use async_trait::async_trait;
use tokio_postgres::error::SqlState;
use windlass_core::chain::{Address, B256, ChainId, U256};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditHead, AuditRow};
use windlass_core::payout::ledger::{
    ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, PayWrite, Payout, RowId, SignerRow,
};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, PayoutQuery, Payouts, check_many};

use crate::PostgresStore;
use crate::error::{Fault, Outcome};
use crate::tx::{Param, Tx};

/// Writes what a commit says of payouts.
pub(crate) async fn write(tx: &Tx, write: &PayWrite) -> Outcome<Written> {
    match write {
        PayWrite::Payouts(payouts) => payout::put(tx, payouts).await?,
        PayWrite::Approvals(approvals) => approval::put(tx, approvals).await?,
        PayWrite::Budgets(budgets) => budget::put(tx, budgets).await?,
        PayWrite::Intents(intents) => intent::put(tx, intents).await?,
        PayWrite::Attempts(attempts) => intent::put_attempts(tx, attempts).await?,
        PayWrite::Signer(signer) => signer::put(tx, signer).await?,
        PayWrite::ApiKey(key) => access::put(tx, key).await?,
        PayWrite::Replace(row) => replace::replace(tx, row).await?,
        PayWrite::Remove(row) => replace::remove(tx, row).await?,
        PayWrite::Audit { key, entries, followed } => audit::append(tx, key, entries, *followed).await?,
        PayWrite::OpenTotalLimit(limit) => payout::check_open_total(tx, limit).await?,
    }
    Ok(Written::Done)
}

/// Runs a statement that replaces or makes so many rows: somebody else's row in the
/// place of one is told from a rule that was broken.
async fn put_rows(
    tx: &Tx,
    what: impl Fn() -> String,
    count: usize,
    sql: &str,
    params: &[Param<'_>],
) -> Outcome<()> {
    match tx.execute(sql, params).await {
        Ok(written) if written == count as u64 => Ok(()),
        Ok(_) => Err(StoreError::Stale(what()).into()),
        Err(fault) => Err(refused(fault, what)),
    }
}

fn refused(fault: Fault, what: impl Fn() -> String) -> Fault {
    let Fault::Postgres(error) = &fault else { return fault };
    let Some(told) = error.as_db_error() else { return fault };
    let broken = [
        SqlState::RAISE_EXCEPTION,
        SqlState::CHECK_VIOLATION,
        SqlState::NOT_NULL_VIOLATION,
        SqlState::FOREIGN_KEY_VIOLATION,
    ];
    if *told.code() == SqlState::UNIQUE_VIOLATION {
        return StoreError::Stale(what()).into();
    }
    if broken.contains(told.code()) {
        return StoreError::Forbidden(format!("{}: {}", what(), told.message())).into();
    }
    fault
}

#[async_trait]
impl Payouts for PostgresStore {
    async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>> {
        check_many(ids.len())?;
        let ids: Vec<String> = ids.iter().map(PayoutId::to_string).collect();
        self.read(&ids, |tx, ids| Box::pin(payout::of_ids(tx, ids))).await
    }

    async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>> {
        check_many(keys.len())?;
        let keys: Vec<&str> = keys.iter().map(IdempotencyKey::as_str).collect();
        self.read(&keys, |tx, keys| Box::pin(payout::of_keys(tx, keys))).await
    }

    async fn payouts_of_requests(&self, request_ids: &[B256]) -> StoreResult<Vec<Payout>> {
        check_many(request_ids.len())?;
        let ids: Vec<&[u8]> = request_ids.iter().map(|id| id.as_slice()).collect();
        self.read(&ids, |tx, ids| Box::pin(payout::of_requests(tx, ids))).await
    }

    async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
        self.read(query, |tx, query| Box::pin(payout::list(tx, query))).await
    }

    async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>> {
        self.read(&(), |tx, ()| Box::pin(payout::count(tx))).await
    }

    async fn count_waiting(&self) -> StoreResult<Vec<(VaultRef, u64)>> {
        self.read(&(), |tx, ()| Box::pin(payout::count_waiting(tx))).await
    }

    async fn paid_to(&self, vault: VaultRef, to: &[Address]) -> StoreResult<Vec<Payout>> {
        check_many(to.len())?;
        self.read(&(vault, to), |tx, (vault, to)| Box::pin(payout::paid_to(tx, *vault, to))).await
    }

    async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256> {
        self.read(&(vault, token), |tx, (vault, token)| Box::pin(payout::open_total(tx, *vault, *token)))
            .await
    }

    async fn approvals(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Approval>> {
        check_many(payouts.len())?;
        self.read(&payouts, |tx, payouts| Box::pin(approval::of(tx, payouts))).await
    }

    async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>> {
        check_many(keys.len())?;
        self.read(keys, |tx, keys| Box::pin(budget::find(tx, keys))).await
    }

    async fn list_budgets(&self, after: Option<BudgetKey>, limit: u32) -> StoreResult<Vec<Budget>> {
        self.read(&(after, limit), |tx, (after, limit)| Box::pin(budget::list(tx, *after, *limit))).await
    }

    async fn list_intents(&self, after: Option<IntentId>, limit: u32) -> StoreResult<Vec<Intent>> {
        self.read(&(after, limit), |tx, (after, limit)| Box::pin(intent::list(tx, *after, *limit))).await
    }

    async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>> {
        self.read(&id, |tx, id| Box::pin(intent::find(tx, *id))).await
    }

    async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>> {
        self.read(&payout, |tx, payout| Box::pin(intent::of_payout(tx, *payout))).await
    }

    async fn intents_of_payouts(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Intent>> {
        check_many(payouts.len())?;
        let payouts: Vec<String> = payouts.iter().map(PayoutId::to_string).collect();
        self.read(&payouts, |tx, payouts| Box::pin(intent::of_payouts(tx, payouts))).await
    }

    async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>> {
        self.read(&intent, |tx, intent| Box::pin(intent::attempts(tx, *intent))).await
    }

    async fn list_attempts(&self, after: Option<(IntentId, u32)>, limit: u32) -> StoreResult<Vec<Attempt>> {
        self.read(&(after, limit), |tx, (after, limit)| Box::pin(intent::list_attempts(tx, *after, *limit)))
            .await
    }

    async fn unreadable_ids(&self) -> StoreResult<Vec<RowId>> {
        self.read(&(), |tx, ()| Box::pin(ids::list(tx))).await
    }

    async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
        self.read(&(chain, address), |tx, (chain, address)| Box::pin(signer::find(tx, *chain, *address)))
            .await
    }

    async fn list_signers(&self) -> StoreResult<Vec<SignerRow>> {
        self.read(&(), |tx, ()| Box::pin(signer::list(tx))).await
    }

    async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        self.read(query, |tx, query| Box::pin(audit::list(tx, query))).await
    }

    async fn audit_head(&self) -> StoreResult<AuditHead> {
        self.read(&(), |tx, ()| Box::pin(audit::head(tx))).await
    }

    async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>> {
        self.read(&hash, |tx, hash| Box::pin(access::find(tx, *hash))).await
    }

    async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>> {
        self.read(&(), |tx, ()| Box::pin(access::list(tx))).await
    }
}
