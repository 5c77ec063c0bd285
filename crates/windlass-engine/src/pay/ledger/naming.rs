//! What is written: every row gets its code, and is named in the audit log in the same commit.

use std::collections::BTreeMap;

use windlass_core::commit::Write;
use windlass_core::payout::audit::{AuditEntry, AuditKey};
use windlass_core::payout::ledger::{PayWrite, ReplacedRow, RowId, RowVersion};

/// Gives every row of a commit its code, and names it in the audit log: with the entry that is
/// about it, or else with the last one.
/// Returns the versions of the rows.
pub(super) fn authenticate(key: &AuditKey, writes: &mut Vec<Write>) -> Vec<RowVersion> {
    let mut versions: Vec<RowVersion> = Vec::new();
    for write in writes.iter_mut() {
        let Write::Pay(write) = write else { continue };
        let mut take = |version: RowVersion| versions.push(version);
        match write {
            PayWrite::Payouts(rows) => rows.iter_mut().for_each(|row| take(key.authenticate(row))),
            PayWrite::Approvals(rows) => rows.iter_mut().for_each(|row| take(key.authenticate(row))),
            PayWrite::Budgets(rows) => rows.iter_mut().for_each(|row| take(key.authenticate(row))),
            PayWrite::Intents(rows) => rows.iter_mut().for_each(|row| take(key.authenticate(row))),
            PayWrite::Signer(row) => take(key.authenticate(row)),
            PayWrite::ApiKey(row) => take(key.authenticate(row)),
            PayWrite::Replace(row) => take(match &mut **row {
                ReplacedRow::Payout(row) => key.authenticate(row),
                ReplacedRow::Approval(row) => key.authenticate(row),
                ReplacedRow::Budget(row) => key.authenticate(row),
                ReplacedRow::Intent(row, _) => key.authenticate(row),
                ReplacedRow::Signer(row) => key.authenticate(row),
                ReplacedRow::ApiKey(row) => key.authenticate(row),
            }),
            PayWrite::Remove(_)
            | PayWrite::Attempts(_)
            | PayWrite::Audit { .. }
            | PayWrite::OpenTotalLimit(_) => {}
        }
    }
    if versions.is_empty() {
        return versions;
    }
    let is_log = |write: &Write| matches!(write, Write::Pay(PayWrite::Audit { .. }));
    if !writes.iter().any(is_log) {
        writes.push(Write::Pay(PayWrite::audit(key.clone(), Vec::new())));
    }
    let entries = writes.iter_mut().rev().find_map(|write| match write {
        Write::Pay(PayWrite::Audit { entries, .. }) => Some(entries),
        _ => None,
    });
    let Some(entries) = entries else { return versions };
    if entries.is_empty() {
        entries.push(AuditEntry {
            actor: "windlass".to_owned(),
            action: "rows.written".to_owned(),
            subject: subject_of(&versions[0].row),
            detail: "{}".to_owned(),
            rows: String::new(),
        });
    }
    name_rows(entries, &versions);
    versions
}

fn name_rows(entries: &mut [AuditEntry], versions: &[RowVersion]) {
    let last = entries.len() - 1;
    // The last entry about a subject: all before it stand in the same commit.
    let places: BTreeMap<String, usize> =
        entries.iter().enumerate().map(|(place, entry)| (entry.subject.clone(), place)).collect();
    let mut named: BTreeMap<usize, Vec<RowVersion>> = BTreeMap::new();
    for version in versions {
        let place = places.get(&subject_of(&version.row)).copied().unwrap_or(last);
        named.entry(place).or_default().push(version.clone());
    }
    for (place, versions) in named {
        let entry = &mut entries[place];
        // What an entry names already comes first: it was there before.
        let mut rows = entry.row_versions().unwrap_or_default();
        rows.extend(versions);
        entry.rows = serde_json::json!(rows).to_string();
    }
}

/// What entries about a row have for a subject.
pub(in crate::pay) fn subject_of(row: &RowId) -> String {
    match row {
        RowId::Payout(id) | RowId::Approval { payout: id, .. } => id.to_string(),
        RowId::Budget(key) => key.token.to_string(),
        RowId::Intent(id) | RowId::Attempt { intent: id, .. } => id.to_string(),
        RowId::Unreadable { table, .. } => table.clone(),
        RowId::Signer { address, .. } => address.to_string(),
        RowId::ApiKey(name) => name.clone(),
        RowId::ChainIdentity(vault) => vault.address.to_string(),
    }
}
