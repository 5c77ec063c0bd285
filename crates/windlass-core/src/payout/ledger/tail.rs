//! What was added to the audit log between the moment a writer last followed it and its commit.
//!
//! A writer verifies rows, asks the chain for seconds, and then commits. A row that another
//! process changed meanwhile could be put back by somebody who writes to the database: the
//! versions in the tables would fit again. So every commit says up to which entry its writer has
//! followed the log. The store reads the entries behind it while it holds the log's end, and
//! refuses the commit where one of them names a row that the commit writes.

use std::collections::BTreeMap;

use super::{RowId, RowVersion};
use crate::error::{StoreError, StoreResult};
use crate::payout::audit::{AuditEntry, AuditFault, AuditHead, AuditKey, AuditRow};

/// The most entries behind the one that a writer has followed last. With more it follows the log
/// and tries again.
pub const MAX_TAIL: u32 = 10_000;

/// Checks a commit against the entries behind the one that its writer has followed last.
///
/// `tail` begins with that entry itself, where there is one, and `end` is the log's end.
pub fn check_tail(
    key: &AuditKey,
    followed: AuditHead,
    end: AuditHead,
    tail: &[AuditRow],
    entries: &[AuditEntry],
) -> StoreResult<()> {
    let cut = || StoreError::AuditBroken(AuditFault::Cut(followed.seq));
    let (first, rest) =
        if followed.seq == 0 { (None, tail) } else { (tail.first(), tail.get(1..).unwrap_or_default()) };
    if end.seq < followed.seq || (followed.seq > 0 && first.map(AuditHead::of) != Some(followed)) {
        return Err(cut());
    }
    let written = written(entries)?;
    let mut head = followed;
    for row in rest {
        head = key.follow(head, row).map_err(StoreError::AuditBroken)?;
        let named = row.entry.row_versions().map_err(|_| AuditFault::Unreadable(row.seq));
        for named in named.map_err(StoreError::AuditBroken)? {
            if written.get(&named.row).is_some_and(|version| named.version >= *version) {
                return Err(StoreError::Stale(named.row.to_string()));
            }
        }
    }
    if head == end { Ok(()) } else { Err(StoreError::AuditBroken(AuditFault::Missing(head.seq + 1))) }
}

/// The lowest version of each row that the entries name: a commit may write a row several times.
fn written(entries: &[AuditEntry]) -> StoreResult<BTreeMap<RowId, i64>> {
    let mut lowest = BTreeMap::new();
    for entry in entries {
        let versions = entry.row_versions().map_err(|error| StoreError::Invalid(error.to_string()))?;
        for RowVersion { row, version, .. } in versions {
            lowest.entry(row).and_modify(|known: &mut i64| *known = version.min(*known)).or_insert(version);
        }
    }
    Ok(lowest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::B256;
    use crate::time::Timestamp;

    const KEY: AuditKey = AuditKey::new([7; 32]);

    fn entry(rows: &[(&str, i64)]) -> AuditEntry {
        let version = |(name, version): &(&str, i64)| RowVersion {
            row: RowId::ApiKey((*name).to_owned()),
            version: *version,
            mac: B256::ZERO,
            is_open: true,
        };
        AuditEntry {
            actor: "worker".into(),
            action: "a".into(),
            subject: "s".into(),
            detail: "{}".into(),
            rows: serde_json::json!(rows.iter().map(version).collect::<Vec<_>>()).to_string(),
        }
    }

    fn log(entries: &[AuditEntry]) -> Vec<AuditRow> {
        let mut head = AuditHead::default();
        let row = |entry: &AuditEntry| {
            let row = KEY.row(head, Timestamp::from_ms(1), entry.clone());
            head = AuditHead::of(&row);
            row
        };
        entries.iter().map(row).collect()
    }

    #[test]
    fn a_row_that_was_written_meanwhile_is_not_written() {
        let log = log(&[entry(&[("ann", 1)]), entry(&[("bob", 2)]), entry(&[])]);
        let (first, end) = (AuditHead::of(&log[0]), AuditHead::of(&log[2]));
        let check = |rows: &[(&str, i64)]| check_tail(&KEY, first, end, &log, &[entry(rows)]);
        assert!(check(&[("ann", 2)]).is_ok(), "known when it was followed");
        assert!(check(&[("bob", 3)]).is_ok(), "the next version");
        assert!(
            matches!(check(&[("eve", 1), ("bob", 2)]), Err(StoreError::Stale(row)) if row == "API key `bob`")
        );
        assert!(matches!(check(&[("bob", 3), ("bob", 2)]), Err(StoreError::Stale(_))));
        let none = AuditHead::default();
        assert!(matches!(
            check_tail(&KEY, none, end, &log, &[entry(&[("ann", 1)])]),
            Err(StoreError::Stale(_))
        ));
    }

    #[test]
    fn a_log_that_does_not_go_on_from_what_was_followed_is_broken() {
        let log = log(&[entry(&[]), entry(&[]), entry(&[])]);
        let (first, second, end) = (AuditHead::of(&log[0]), AuditHead::of(&log[1]), AuditHead::of(&log[2]));
        let check = |followed, end, tail: &[AuditRow]| check_tail(&KEY, followed, end, tail, &[]);
        assert!(check(first, end, &log).is_ok() && check(end, end, &log[2..]).is_ok());
        let cut = |seq| Err(StoreError::AuditBroken(AuditFault::Cut(seq)));
        let is = |found: StoreResult<()>, wanted: StoreResult<()>| {
            assert_eq!(format!("{found:?}"), format!("{wanted:?}"))
        };
        is(check(end, second, &[]), cut(3));
        is(check(AuditHead { mac: B256::ZERO, ..second }, end, &log[1..]), cut(2));
        is(check(second, end, &[]), cut(2));
        is(check(first, end, &log[..2]), Err(StoreError::AuditBroken(AuditFault::Missing(3))));
        is(
            check(first, end, &[log[0].clone(), log[2].clone()]),
            Err(StoreError::AuditBroken(AuditFault::Missing(2))),
        );
    }
}
