//! What is kept of payouts, each row verified before it is used.
//!
//! Whoever can write to the database has no key. So nothing about payouts is read or written
//! but through here: every row that is written gets its code and is named in the audit log in
//! the same commit, and every row that is read has to carry its own code and to be the version
//! that the log names last. A row that does not is refused, reported and counted.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | whether a row is what the log names |
//! | `follow` | following the log, and holding it against the file outside the database |
//! | `checkpoint` | from where the log is followed at the next start |
//! | `commit` | what is written, and what has to hold of the log then |
//! | `naming` | which rows an entry of the log names |
//! | `rows` | what is read |
//! | `signed` | signed forms of transactions |

mod checkpoint;
mod commit;
mod follow;
mod naming;
mod rows;
mod signed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as AsyncMutex;
use windlass_core::chain::B256;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditFault, AuditHead, AuditKey};
use windlass_core::payout::ledger::{
    ApiKey, Budget, BudgetKey, ChainIdentity, Forgery, ForgeryKind, Intent, IntentId, LedgerIndex, LedgerRow,
    Payout, RowId, RowStanding, is_unreadable,
};
use windlass_core::payout::request::{PayoutId, VaultRef};
use windlass_core::payout::store::PayoutQuery;
use windlass_core::store::Store;

pub(super) use self::checkpoint::readable_state;
pub(super) use self::naming::subject_of;
pub(super) use self::signed::{is_signed_form, wrong_form};
use super::head_file::HeadFile;

/// Rows that were refused, by table and by what is wrong with them.
pub const REFUSED_TOTAL: &str = "windlass_pay_refused_rows_total";

/// So many refused rows are remembered, to be named and looked at again.
const MAX_REFUSED: usize = 100_000;
/// So many of them are looked for in a check, to see whether they are gone.
const MAX_LOOKED_FOR: usize = 10_000;

/// What is kept of payouts, verified.
pub struct Ledger {
    store: Arc<dyn Store>,
    key: AuditKey,
    /// What the log names, as far as it was followed.
    followed: AsyncMutex<Followed>,
    refused: Mutex<BTreeMap<RowId, ForgeryKind>>,
    /// What is wrong with the log itself, as it was last followed.
    fault: Mutex<Option<AuditFault>>,
    head_file: Option<HeadFile>,
    /// Whose turn it is to write the file, among the tasks of this process.
    head_turn: AsyncMutex<()>,
    /// How often following was begun, for whoever waits for it.
    rounds: AtomicU64,
    /// Signed forms whose signer is known, by what they hash to.
    signed: Mutex<HashMap<B256, IntentId>>,
}

/// How far the log was followed.
#[derive(Default)]
struct Followed {
    /// Which version of every open row it names last.
    index: LedgerIndex,
    /// The entry at which the last checkpoint was made; none before that was looked for.
    checkpoint: Option<i64>,
    /// How often it was begun.
    rounds: u64,
    /// The entry that the file outside the database names, as far as it was held against the log.
    kept: Option<AuditHead>,
}

/// Rows that were read: those that can be used, and what was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked<T> {
    /// They are what Windlass has written last.
    pub rows: Vec<T>,
    /// They are not, and why.
    pub forgeries: Vec<Forgery>,
    /// They stand in the database instead.
    pub refused: Vec<T>,
}

impl<T> Checked<T> {
    /// The rows, if none was refused.
    fn all(self) -> StoreResult<Vec<T>> {
        match self.forgeries.into_iter().next() {
            None => Ok(self.rows),
            Some(forgery) => Err(StoreError::Forged(forgery.to_string())),
        }
    }
}

impl Checked<Payout> {
    /// The last payout of a page, whether it can be used or not: the next page comes behind it.
    pub fn last(&self, newest_first: bool) -> Option<PayoutId> {
        let ids = self.rows.iter().chain(&self.refused).map(|payout| payout.id);
        if newest_first { ids.min() } else { ids.max() }
    }
}

impl Ledger {
    /// The ledger of a store whose audit log is written with this key. The log is followed when
    /// a row is first asked for.
    pub fn new(store: Arc<dyn Store>, key: AuditKey) -> Arc<Self> {
        Self::with_head_file(store, key, None)
    }

    /// The same, whose log has to hold what a file outside the database says, and is kept there.
    pub fn with_head_file(store: Arc<dyn Store>, key: AuditKey, head_file: Option<HeadFile>) -> Arc<Self> {
        Arc::new(Self {
            store,
            key,
            followed: AsyncMutex::default(),
            refused: Mutex::default(),
            fault: Mutex::default(),
            head_file,
            head_turn: AsyncMutex::default(),
            rounds: AtomicU64::new(0),
            signed: Mutex::default(),
        })
    }

    /// Follows the audit log to its end. [`StoreError::AuditBroken`] where it was tampered with.
    pub async fn check_log(&self) -> StoreResult<AuditHead> {
        Ok(self.refresh().await?.index.head())
    }

    /// The audit log's key.
    pub fn key(&self) -> &AuditKey {
        &self.key
    }

    /// The store below, for what is not about payouts.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// What is wrong with the audit log, if anything is.
    pub fn fault(&self) -> Option<AuditFault> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every row that the log names as open.
    pub async fn open_rows(&self) -> StoreResult<Vec<RowId>> {
        Ok(self.refresh().await?.index.rows().cloned().collect())
    }

    /// What was refused and has not been mended since, by row.
    pub fn forgeries(&self) -> Vec<Forgery> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().map(|(row, kind)| Forgery { row: row.clone(), kind: *kind }).collect()
    }

    /// Forgets rows that were refused and are neither there nor named any more: somebody has taken
    /// them away again.
    pub async fn forget_removed(&self) -> StoreResult<()> {
        let mut unnamed = self.forgeries();
        {
            let followed = self.refresh().await?;
            unnamed.retain(|forgery| !followed.index.contains(&forgery.row));
        }
        for Forgery { row, .. } in unnamed.into_iter().take(MAX_LOOKED_FOR) {
            if !is_there(&*self.store, &row).await? {
                self.mended(std::iter::once(row));
            }
        }
        Ok(())
    }

    /// Reads rows, and refuses those that are not what Windlass has written last. `expected`
    /// says which rows have to be among them.
    async fn read<T, F, R>(
        &self,
        expected: impl Fn(&LedgerIndex) -> Vec<RowId> + Send + Sync,
        read: F,
    ) -> StoreResult<Checked<T>>
    where
        T: LedgerRow + Send + Sync,
        F: Fn() -> R + Send + Sync,
        R: Future<Output = StoreResult<Vec<T>>> + Send,
    {
        // What the log names by now has to be there when rows are read afterwards.
        let named = expected(&self.refresh().await?.index);
        let rows = read().await?;
        {
            let index = &self.followed.lock().await.index;
            let is_good = |row: &T| self.key.is_authentic(row) && is_current(index, row);
            if rows.iter().all(is_good) && missing(&named, &rows).next().is_none() {
                self.mended(rows.iter().map(LedgerRow::row_id));
                return Ok(Checked { rows, forgeries: Vec::new(), refused: Vec::new() });
            }
        }
        // Somebody may have been at work meanwhile. Nobody follows the log while this is found out.
        let mut followed = self.refresh().await?;
        let index = &mut followed.index;
        let named = expected(index);
        let rows = read().await?;
        let before: Vec<RowStanding> = rows.iter().map(|row| index.standing(&row.row_version())).collect();
        let is_unnamed = |(row, before): (&T, &RowStanding)| {
            *before == RowStanding::Newer || (*before == RowStanding::Absent && !index.is_past(row))
        };
        if rows.iter().zip(&before).any(is_unnamed) {
            let done = self.follow(index).await;
            self.remember(done.as_ref().err());
            done?;
        }
        let mut forgeries: Vec<Forgery> = missing(&named, &rows)
            .map(|row| Forgery { row: row.clone(), kind: ForgeryKind::Removed })
            .collect();
        let (mut good, mut refused) = (Vec::with_capacity(rows.len()), Vec::new());
        for (row, before) in rows.into_iter().zip(before) {
            match self.judge(index, &row, before) {
                None => good.push(row),
                Some(kind) => {
                    forgeries.push(Forgery { row: row.row_id(), kind });
                    refused.push(row);
                }
            }
        }
        self.mended(good.iter().map(LedgerRow::row_id));
        forgeries.iter().for_each(|forgery| self.refuse(forgery));
        Ok(Checked { rows: good, forgeries, refused })
    }

    /// What is wrong with a row, by how it stood to the log before it was read, and does now.
    fn judge<T: LedgerRow>(&self, index: &LedgerIndex, row: &T, before: RowStanding) -> Option<ForgeryKind> {
        if !self.key.is_authentic(row) {
            return Some(kind_of_forged(row));
        }
        match before {
            RowStanding::Current => None,
            RowStanding::Older | RowStanding::Other => Some(ForgeryKind::Old),
            RowStanding::Absent if index.is_past(row) => None,
            // It was written after the log was followed: then the log names it by now.
            RowStanding::Newer | RowStanding::Absent => match index.standing(&row.row_version()) {
                RowStanding::Current | RowStanding::Older => None,
                RowStanding::Absent if index.is_past(row) => None,
                _ => Some(ForgeryKind::Unnamed),
            },
        }
    }

    fn refuse(&self, forgery: &Forgery) {
        let Forgery { row, kind } = forgery;
        metrics::counter!(REFUSED_TOTAL, "table" => row.table(), "kind" => kind.as_str()).increment(1);
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MAX_REFUSED && !refused.contains_key(row) {
            return;
        }
        if refused.insert(row.clone(), *kind) != Some(*kind) {
            tracing::error!(table = row.table(), "{forgery}; it is not used");
            if refused.len() == MAX_REFUSED {
                tracing::error!(
                    "{MAX_REFUSED} rows were refused; more are not logged: `windlass audit-log verify` names them"
                );
            }
        }
    }

    /// Forgets what was refused among rows that a look has found in order now.
    fn mended_where(&self, is_mended: impl Fn(&RowId) -> bool) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|row, _| !is_mended(row));
    }

    fn mended(&self, rows: impl Iterator<Item = RowId>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if !refused.is_empty() {
            rows.for_each(|row| {
                refused.remove(&row);
            });
        }
    }

    /// Payouts by id: those that can be used, and those that were refused.
    pub async fn check_payouts(&self, ids: &[PayoutId]) -> StoreResult<Checked<Payout>> {
        let expected = |index: &LedgerIndex| named(index, ids.iter().map(|id| RowId::Payout(*id)));
        self.read(expected, || self.store.payouts(ids)).await
    }

    /// A page of payouts: those that can be used, and those that were refused.
    pub async fn check_page(&self, query: &PayoutQuery) -> StoreResult<Checked<Payout>> {
        self.read(nothing, || self.store.list_payouts(query)).await
    }

    /// A page of transactions: those that can be used, and those that were refused.
    pub async fn check_intents(&self, after: Option<IntentId>, limit: u32) -> StoreResult<Checked<Intent>> {
        self.read(nothing, || self.store.list_intents(after, limit)).await
    }

    /// A page of sums: those that can be used, and those that were refused.
    pub async fn check_budgets(&self, after: Option<BudgetKey>, limit: u32) -> StoreResult<Checked<Budget>> {
        self.read(nothing, || self.store.list_budgets(after, limit)).await
    }

    /// Payouts by the ids under which their vault knows them.
    pub async fn check_payouts_of_requests(&self, ids: &[B256]) -> StoreResult<Checked<Payout>> {
        self.read(nothing, || self.store.payouts_of_requests(ids)).await
    }

    /// The blocks by which a vault's chain is known again, if they were learned.
    pub async fn chain_identity(&self, vault: VaultRef) -> StoreResult<Option<ChainIdentity>> {
        let key = ChainIdentity::state_key(vault).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let expected = |index: &LedgerIndex| named(index, std::iter::once(RowId::ChainIdentity(vault)));
        let read = || async {
            // What cannot be read is as good as gone, and missed where the log names it.
            let kept = readable_state(&*self.store, &key).await?;
            Ok(kept.and_then(|text| serde_json::from_str(&text).ok()).into_iter().collect())
        };
        let mut rows = self.read(expected, read).await?.all()?;
        rows.retain(|row: &ChainIdentity| row.vault == vault);
        Ok(rows.pop())
    }

    /// The version of a row that the log names last, if it does.
    pub async fn last_version(&self, row: &RowId) -> StoreResult<Option<i64>> {
        Ok(self.refresh().await?.index.last_version(row))
    }

    /// Names the rows whose ids cannot be read, and forgets those that are gone.
    pub async fn check_ids(&self) -> StoreResult<()> {
        let found: BTreeSet<RowId> = self.store.unreadable_ids().await?.into_iter().collect();
        self.mended_where(|row| matches!(row, RowId::Unreadable { .. }) && !found.contains(row));
        let forgeries = found.into_iter().map(|row| Forgery { row, kind: ForgeryKind::Unreadable });
        forgeries.for_each(|forgery| self.refuse(&forgery));
        Ok(())
    }

    /// Every API key: those that can be used, and those that were refused.
    pub async fn check_api_keys(&self) -> StoreResult<Checked<ApiKey>> {
        let is_key = |row: &&RowId| matches!(row, RowId::ApiKey(_));
        let expected = |index: &LedgerIndex| index.rows().filter(is_key).cloned().collect();
        self.read(expected, || self.store.list_api_keys()).await
    }
}

/// What is wrong with a row that does not carry its own code.
pub(super) fn kind_of_forged(row: &impl LedgerRow) -> ForgeryKind {
    if is_unreadable(row) { ForgeryKind::Unreadable } else { ForgeryKind::Altered }
}

/// Whether a row is in its table, whatever it says.
async fn is_there(store: &dyn Store, row: &RowId) -> StoreResult<bool> {
    Ok(match row {
        RowId::Payout(id) => !store.payouts(&[*id]).await?.is_empty(),
        RowId::Approval { payout, approver } => {
            store.approvals(&[*payout]).await?.iter().any(|one| one.approver == *approver)
        }
        RowId::Budget(key) => store.budgets(&[*key]).await?.iter().any(|one| one.version != 0),
        RowId::Intent(id) => store.intent(*id).await?.is_some(),
        RowId::Signer { chain, address } => store.signer(*chain, *address).await?.is_some(),
        RowId::ApiKey(name) => store.list_api_keys().await?.iter().any(|one| one.name == *name),
        // They are forgotten by whoever looks at all of their kind.
        RowId::Attempt { .. } | RowId::Unreadable { .. } | RowId::ChainIdentity(_) => true,
    })
}

fn nothing(_: &LedgerIndex) -> Vec<RowId> {
    Vec::new()
}

/// Those of these rows that the log names.
fn named(index: &LedgerIndex, rows: impl Iterator<Item = RowId>) -> Vec<RowId> {
    rows.filter(|row| index.contains(row)).collect()
}

/// Those of the named rows that were not read.
fn missing<'a, T: LedgerRow>(named: &'a [RowId], rows: &[T]) -> impl Iterator<Item = &'a RowId> {
    let read: BTreeSet<RowId> =
        if named.is_empty() { BTreeSet::new() } else { rows.iter().map(LedgerRow::row_id).collect() };
    named.iter().filter(move |row| !read.contains(*row))
}

fn is_current<T: LedgerRow>(index: &LedgerIndex, row: &T) -> bool {
    match index.standing(&row.row_version()) {
        RowStanding::Current => true,
        RowStanding::Absent => index.is_past(row),
        _ => false,
    }
}
