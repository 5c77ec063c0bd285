//! The index of open rows: whatever the log names, and nothing that it does not.

use proptest::prelude::*;

use super::*;
use crate::chain::{Address, ChainId};
use crate::payout::audit::AuditEntry;
use crate::payout::day::UtcDay;
use crate::payout::ledger::BudgetKey;
use crate::payout::request::VaultRef;
use crate::time::Timestamp;

const KEY: AuditKey = AuditKey::new([7; 32]);

fn id(number: u8) -> PayoutId {
    PayoutId::new(Timestamp::from_ms(i64::from(number)), 1)
}

fn payout(number: u8, version: i64, is_open: bool) -> RowVersion {
    let mac = B256::repeat_byte(number.wrapping_mul(16).wrapping_add(version as u8));
    RowVersion { row: RowId::Payout(id(number)), version, mac, is_open }
}

fn approval(number: u8, approver: &str) -> RowVersion {
    let row = RowId::Approval { payout: id(number), approver: approver.to_owned() };
    RowVersion { row, version: 1, mac: B256::repeat_byte(9), is_open: true }
}

fn budget(day: i64) -> RowVersion {
    let vault = VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::ZERO };
    let key = BudgetKey { vault, token: Address::ZERO, day: UtcDay(day), to: None };
    RowVersion { row: RowId::Budget(key), version: 1, mac: B256::repeat_byte(3), is_open: true }
}

/// A log of entries, each of which names these rows.
fn log(entries: &[Vec<RowVersion>]) -> Vec<AuditRow> {
    let mut head = AuditHead::default();
    let row = |rows: &Vec<RowVersion>| {
        let entry = AuditEntry {
            actor: "worker".into(),
            action: "a".into(),
            subject: "s".into(),
            detail: "{}".into(),
            rows: serde_json::json!(rows).to_string(),
        };
        let row = KEY.row(head, Timestamp::from_ms(1), entry);
        head = AuditHead::of(&row);
        row
    };
    entries.iter().map(row).collect()
}

fn followed(rows: &[AuditRow]) -> LedgerIndex {
    let mut index = LedgerIndex::default();
    rows.iter().for_each(|row| index.follow(&KEY, row).expect("whole"));
    index
}

#[test]
fn the_version_that_is_named_last_is_the_one() {
    let index = followed(&log(&[vec![payout(1, 1, true)], vec![payout(1, 2, true), payout(2, 1, true)]]));
    assert_eq!(index.standing(&payout(1, 2, true)), RowStanding::Current);
    assert_eq!(index.standing(&payout(1, 1, true)), RowStanding::Older);
    assert_eq!(index.standing(&payout(1, 3, true)), RowStanding::Newer);
    assert_eq!(index.standing(&payout(3, 1, true)), RowStanding::Absent);
    let other = RowVersion { mac: B256::ZERO, ..payout(1, 2, true) };
    assert_eq!(index.standing(&other), RowStanding::Other);
}

#[test]
fn what_has_ended_goes_with_its_approvals() {
    let named = vec![payout(1, 1, true), approval(1, "ann"), approval(1, "zoe"), approval(2, "ann")];
    let index = followed(&log(std::slice::from_ref(&named)));
    assert_eq!(index.approvals(id(1)).count(), 2);
    let index = followed(&log(&[named, vec![payout(1, 2, false)]]));
    assert_eq!((index.approvals(id(1)).count(), index.approvals(id(2)).count()), (0, 1));
    assert_eq!(index.standing(&payout(1, 1, true)), RowStanding::Absent);
}

#[test]
fn sums_of_days_long_past_are_not_watched() {
    let index = followed(&log(&[vec![budget(1), budget(8)], vec![budget(9)]]));
    assert!(!index.contains(&budget(1).row));
    assert!(index.contains(&budget(8).row) && index.contains(&budget(9).row));
}

#[test]
fn a_log_that_was_tampered_with_is_not_followed() {
    let mut rows = log(&[vec![payout(1, 1, true)], vec![payout(1, 2, false)]]);
    rows[1].entry.rows = serde_json::json!([payout(1, 2, true)]).to_string();
    let mut index = LedgerIndex::default();
    assert_eq!(index.follow(&KEY, &rows[0]), Ok(()));
    assert_eq!(index.follow(&KEY, &rows[1]), Err(AuditFault::Altered(2)));
    assert_eq!(index.standing(&payout(1, 1, true)), RowStanding::Current, "as far as it was whole");
}

#[test]
fn what_has_ended_is_known_by_its_version_and_what_was_named_by_its_code() {
    let rows = log(&[vec![payout(1, 1, true), payout(2, 1, true)], vec![payout(1, 2, false)]]);
    let index = followed(&rows);
    let last = |number| index.last_version(&RowId::Payout(id(number)));
    assert_eq!((last(1), last(2), last(3)), (Some(2), Some(1), None));
    assert!(index.has_named(&payout(1, 1, true)) && index.has_named(&payout(1, 2, false)));
    let other = RowVersion { mac: B256::repeat_byte(0xee), ..payout(1, 2, false) };
    assert!(!index.has_named(&other), "another row under the same version");
}

#[test]
fn nobody_makes_a_checkpoint_without_the_key() {
    let index = followed(&log(&[vec![payout(1, 1, true)]]));
    let kept = index.checkpoint(&KEY);
    let read = LedgerIndex::read_checkpoint(&KEY, &kept).expect("read");
    assert_eq!(read.checkpoint(&KEY), kept);
    assert!(LedgerIndex::read_checkpoint(&AuditKey::new([8; 32]), &kept).is_none());
    let altered = kept.replace("\"newest_day\":0", "\"newest_day\":1");
    assert_ne!(altered, kept);
    assert!(LedgerIndex::read_checkpoint(&KEY, &altered).is_none());
    for text in ["", "x", "{}", " "] {
        assert!(LedgerIndex::read_checkpoint(&KEY, text).is_none());
    }
}

proptest! {
    /// From whichever checkpoint the log is followed, the end is the same.
    #[test]
    fn a_checkpoint_changes_nothing(
        steps in prop::collection::vec((0_u8..4, prop::bool::ANY, 0_i64..20), 1..40),
        at in 0_usize..40,
    ) {
        let mut versions = [0_i64; 4];
        let entries: Vec<Vec<RowVersion>> = steps.iter().map(|(number, is_open, day)| {
            versions[usize::from(*number)] += 1;
            vec![payout(*number, versions[usize::from(*number)], *is_open), budget(*day)]
        }).collect();
        let rows = log(&entries);
        let at = at.min(rows.len());
        let kept = followed(&rows[..at]).checkpoint(&KEY);
        let mut index = LedgerIndex::read_checkpoint(&KEY, &kept).expect("ours");
        rows[at..].iter().for_each(|row| index.follow(&KEY, row).expect("whole"));
        prop_assert_eq!(index.checkpoint(&KEY), followed(&rows).checkpoint(&KEY));
    }
}
