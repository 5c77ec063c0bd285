//! What is kept of payouts.
//!
//! Rows with a version are made at version 1 and replaced by the one that follows:
//! where another version stands, nothing is written and the caller is told.

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

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::ffi;
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

use crate::SqliteStore;
use crate::writer::Tx;

/// Writes what a commit says of payouts.
pub(crate) fn write(tx: &Tx<'_>, write: &PayWrite) -> StoreResult<Written> {
    match write {
        PayWrite::Payouts(payouts) => payouts.iter().try_for_each(|payout| payout::put(tx, payout))?,
        PayWrite::Approvals(approvals) => approvals.iter().try_for_each(|one| approval::put(tx, one))?,
        PayWrite::Budgets(budgets) => budgets.iter().try_for_each(|budget| budget::put(tx, budget))?,
        PayWrite::Intents(intents) => intents.iter().try_for_each(|intent| intent::put(tx, intent))?,
        PayWrite::Attempts(attempts) => {
            attempts.iter().try_for_each(|attempt| intent::put_attempt(tx, attempt))?;
        }
        PayWrite::Signer(signer) => signer::put(tx, signer)?,
        PayWrite::ApiKey(key) => access::put(tx, key)?,
        PayWrite::Replace(row) => replace::replace(tx, row)?,
        PayWrite::Remove(row) => replace::remove(tx, row)?,
        PayWrite::Audit { key, entries, followed } => audit::append(tx, key, entries, *followed)?,
        PayWrite::OpenTotalLimit(limit) => limit.check(payout::open_total(tx, limit.vault, limit.token)?)?,
    }
    Ok(Written::Done)
}

/// Runs a statement that replaces or makes one row: somebody else's row in its place is
/// told from a rule that was broken.
fn put_one(
    tx: &Tx<'_>,
    what: impl Fn() -> String,
    sql: &str,
    params: impl rusqlite::Params,
) -> StoreResult<()> {
    match tx.prepare(sql)?.execute(params) {
        Ok(1) => Ok(()),
        Ok(_) => Err(StoreError::Stale(what())),
        Err(error) => Err(refused(error, what)),
    }
}

fn refused(error: rusqlite::Error, what: impl Fn() -> String) -> StoreError {
    match error.sqlite_error().map(|inner| inner.extended_code) {
        Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY) => StoreError::Stale(what()),
        Some(
            ffi::SQLITE_CONSTRAINT_TRIGGER
            | ffi::SQLITE_CONSTRAINT_CHECK
            | ffi::SQLITE_CONSTRAINT_NOTNULL
            | ffi::SQLITE_CONSTRAINT_FOREIGNKEY,
        ) => StoreError::Forbidden(format!("{}: {error}", what())),
        _ => crate::error::sqlite_error(error),
    }
}

#[async_trait]
impl Payouts for SqliteStore {
    async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>> {
        check_many(ids.len())?;
        let ids: Vec<String> = ids.iter().map(PayoutId::to_string).collect();
        self.read(move |tx| payout::by(tx, "id", ids)).await
    }

    async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>> {
        check_many(keys.len())?;
        let keys: Vec<String> = keys.iter().map(|key| key.as_str().to_owned()).collect();
        self.read(move |tx| payout::by(tx, "key", keys)).await
    }

    async fn payouts_of_requests(&self, request_ids: &[B256]) -> StoreResult<Vec<Payout>> {
        check_many(request_ids.len())?;
        let ids: Vec<Vec<u8>> = request_ids.iter().map(|id| id.to_vec()).collect();
        self.read(move |tx| payout::by(tx, "request_id", ids)).await
    }

    async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
        let query = query.clone();
        self.read(move |tx| payout::list(tx, &query)).await
    }

    async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>> {
        self.read(payout::count).await
    }

    async fn count_waiting(&self) -> StoreResult<Vec<(VaultRef, u64)>> {
        self.read(payout::count_waiting).await
    }

    async fn paid_to(&self, vault: VaultRef, to: &[Address]) -> StoreResult<Vec<Payout>> {
        check_many(to.len())?;
        let to: BTreeSet<Address> = to.iter().copied().collect();
        self.read(move |tx| payout::paid_to(tx, vault, &to)).await
    }

    async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256> {
        self.read(move |tx| payout::open_total(tx, vault, token)).await
    }

    async fn approvals(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Approval>> {
        check_many(payouts.len())?;
        let payouts: BTreeSet<PayoutId> = payouts.iter().copied().collect();
        self.read(move |tx| approval::of(tx, &payouts)).await
    }

    async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>> {
        check_many(keys.len())?;
        let keys = keys.to_vec();
        self.read(move |tx| keys.iter().map(|key| budget::find(tx, *key)).collect()).await
    }

    async fn list_budgets(&self, after: Option<BudgetKey>, limit: u32) -> StoreResult<Vec<Budget>> {
        self.read(move |tx| budget::list(tx, after, limit)).await
    }

    async fn list_intents(&self, after: Option<IntentId>, limit: u32) -> StoreResult<Vec<Intent>> {
        self.read(move |tx| intent::list(tx, after, limit)).await
    }

    async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>> {
        self.read(move |tx| intent::find(tx, id)).await
    }

    async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>> {
        self.read(move |tx| intent::of_payout(tx, payout)).await
    }

    async fn intents_of_payouts(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Intent>> {
        check_many(payouts.len())?;
        let payouts: BTreeSet<PayoutId> = payouts.iter().copied().collect();
        self.read(move |tx| intent::of_payouts(tx, &payouts)).await
    }

    async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>> {
        self.read(move |tx| intent::attempts(tx, intent)).await
    }

    async fn list_attempts(&self, after: Option<(IntentId, u32)>, limit: u32) -> StoreResult<Vec<Attempt>> {
        self.read(move |tx| intent::list_attempts(tx, after, limit)).await
    }

    async fn unreadable_ids(&self) -> StoreResult<Vec<RowId>> {
        self.read(ids::list).await
    }

    async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
        self.read(move |tx| signer::find(tx, chain, address)).await
    }

    async fn list_signers(&self) -> StoreResult<Vec<SignerRow>> {
        self.read(signer::list).await
    }

    async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        let query = query.clone();
        self.read(move |tx| audit::list(tx, &query)).await
    }

    async fn audit_head(&self) -> StoreResult<AuditHead> {
        self.read(audit::head).await
    }

    async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>> {
        self.read(move |tx| access::find(tx, hash)).await
    }

    async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>> {
        self.read(access::list).await
    }
}
