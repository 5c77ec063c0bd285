//! The whole audit log, entry by entry, and everything that it names against the tables.

mod forms;

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::chain::B256;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditFault, AuditHead, AuditKey, AuditRow};
use windlass_core::payout::ledger::{ChainIdentity, Forgery, ForgeryKind, LedgerRow, RowId, RowVersion};
use windlass_core::payout::request::{PayoutId, VaultRef};
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::store::Store;

use super::ledger::{kind_of_forged, readable_state};

/// The log is whole; this is what it names.
#[derive(Debug, Clone)]
pub struct NamedRows {
    /// The log's end.
    pub head: AuditHead,
    /// The newest version of every row.
    rows: BTreeMap<RowId, NamedVersion>,
}

/// The newest version of a row that the log names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedVersion {
    /// Its version.
    pub version: i64,
    /// Its code.
    pub mac: B256,
    /// Whether a later version may follow.
    pub is_open: bool,
}

impl NamedRows {
    /// The newest version of a row, if the log names one.
    pub fn get(&self, row: &RowId) -> Option<NamedVersion> {
        self.rows.get(row).copied()
    }

    /// Every row of which the log names a version.
    pub fn rows(&self) -> impl Iterator<Item = &RowId> {
        self.rows.keys()
    }
}

/// What came of comparing the tables with the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// How many rows were compared.
    pub rows: u64,
    /// What differs.
    pub forgeries: Vec<Forgery>,
}

/// Follows the log from its first entry to the end that the store says it has.
pub async fn follow(
    store: &Arc<dyn Store>,
    key: &AuditKey,
    published: Option<AuditHead>,
) -> StoreResult<Result<NamedRows, AuditFault>> {
    follow_with(store, key, published, |_| {}).await
}

/// The same, with a look at each entry once it is known to be as it was written.
pub async fn follow_with(
    store: &Arc<dyn Store>,
    key: &AuditKey,
    published: Option<AuditHead>,
    mut look: impl FnMut(&AuditRow) + Send,
) -> StoreResult<Result<NamedRows, AuditFault>> {
    // Read first: what is written meanwhile comes behind it.
    let end = match store.audit_head().await {
        // Following the log names the entry that cannot be read.
        Err(StoreError::Corrupt(_)) => AuditHead::default(),
        end => end?,
    };
    let mut named = NamedRows { head: AuditHead::default(), rows: BTreeMap::new() };
    // Entries are counted from 1 on: what stands before was put there.
    let mut after = i64::MIN;
    loop {
        let query = AuditQuery { subject: None, after, limit: MAX_PAYOUT_PAGE };
        let rows = store.audit_rows(&query).await?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        for row in &rows {
            if row.seq < 1 {
                return Ok(Err(AuditFault::Altered(row.seq)));
            }
            let versions = key.follow(named.head, row).and_then(|head| {
                published.map_or(Ok(()), |published| published.check(row))?;
                named.head = head;
                row.entry.row_versions().map_err(|_| AuditFault::Unreadable(row.seq))
            });
            match versions {
                Ok(versions) => {
                    look(row);
                    named.rows.extend(versions.into_iter().map(|named| {
                        let RowVersion { row, version, mac, is_open } = named;
                        (row, NamedVersion { version, mac, is_open })
                    }));
                }
                Err(fault) => return Ok(Err(fault)),
            }
        }
    }
    if named.head.seq < end.seq {
        return Ok(Err(AuditFault::Missing(named.head.seq + 1)));
    }
    match published.filter(|published| published.seq > named.head.seq) {
        Some(published) => Ok(Err(AuditFault::Cut(published.seq))),
        None => Ok(Ok(named)),
    }
}

/// Compares every table with what the log names. What is written meanwhile shows as newer than
/// the log, and is left out.
pub async fn compare(store: &Arc<dyn Store>, key: &AuditKey, named: NamedRows) -> StoreResult<Comparison> {
    let mut compared = Compared { key, named: named.rows, rows: 0, forgeries: Vec::new() };
    let mut query = PayoutQuery { limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
    loop {
        let payouts = store.list_payouts(&query).await?;
        let ids: Vec<PayoutId> = payouts.iter().map(|payout| payout.id).collect();
        let Some(last) = ids.last() else { break };
        query.after = Some(*last);
        let approvals = store.approvals(&ids).await?;
        payouts.iter().for_each(|payout| compared.take(payout));
        approvals.iter().for_each(|approval| compared.take(approval));
    }
    for row in store.unreadable_ids().await? {
        compared.forgeries.push(Forgery { row, kind: ForgeryKind::Unreadable });
    }
    forms::compare(store, &mut compared).await?;
    let mut after = None;
    loop {
        let intents = store.list_intents(after, MAX_PAYOUT_PAGE).await?;
        let Some(last) = intents.last() else { break };
        after = Some(last.id);
        intents.iter().for_each(|intent| compared.take(intent));
    }
    let mut after = None;
    loop {
        let budgets = store.list_budgets(after, MAX_PAYOUT_PAGE).await?;
        let Some(last) = budgets.last() else { break };
        after = Some(last.key);
        budgets.iter().for_each(|budget| compared.take(budget));
    }
    for vault in compared.vaults() {
        let key = ChainIdentity::state_key(vault).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let kept = readable_state(&**store, &key).await?;
        let kept: Option<ChainIdentity> = kept.and_then(|text| serde_json::from_str(&text).ok());
        kept.iter().for_each(|identity| compared.take(identity));
    }
    store.list_signers().await?.iter().for_each(|signer| compared.take(signer));
    store.list_api_keys().await?.iter().for_each(|key| compared.take(key));
    let removed = compared.named.into_keys().map(|row| Forgery { row, kind: ForgeryKind::Removed });
    compared.forgeries.extend(removed);
    Ok(Comparison { rows: compared.rows, forgeries: compared.forgeries })
}

struct Compared<'a> {
    key: &'a AuditKey,
    /// What was not met yet.
    named: BTreeMap<RowId, NamedVersion>,
    rows: u64,
    forgeries: Vec<Forgery>,
}

impl Compared<'_> {
    /// Vaults whose chain the log names known blocks of.
    fn vaults(&self) -> Vec<VaultRef> {
        let vault = |row: &RowId| match row {
            RowId::ChainIdentity(vault) => Some(*vault),
            _ => None,
        };
        self.named.keys().filter_map(vault).collect()
    }

    fn take<T: LedgerRow>(&mut self, row: &T) {
        self.rows += 1;
        let id = row.row_id();
        let named = self.named.remove(&id);
        let kind = match named {
            _ if !self.key.is_authentic(row) => kind_of_forged(row),
            Some(named) if (named.version, named.mac) == (row.version(), row.mac()) => return,
            // It was written after the log was followed.
            Some(named) if named.version < row.version() => return,
            Some(_) => ForgeryKind::Old,
            None => ForgeryKind::Unnamed,
        };
        self.forgeries.push(Forgery { row: id, kind });
    }
}
