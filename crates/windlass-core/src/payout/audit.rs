//! A log of everything that was done with payouts, in which nothing can be changed unseen.
//!
//! Every entry carries a code over itself and the entry before, made with a key that
//! is not in the database. Whoever can write to the database but has no key can
//! neither alter, remove nor insert an entry without breaking the chain at that
//! place. Only cutting off the end leaves a chain that is whole: that shows against a
//! head that was published elsewhere.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::day::UtcDay;
use super::ledger::RowVersion;
use crate::chain::B256;
use crate::time::Timestamp;

/// The key of a log.
#[derive(Clone)]
pub struct AuditKey([u8; 32]);

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(…)")
    }
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Who did it: an API key's name, a worker.
    pub actor: String,
    /// What, such as `payout.approved`.
    pub action: String,
    /// To what: a payout's id, a signer.
    pub subject: String,
    /// The rest, as JSON.
    pub detail: String,
    /// The versions of rows that were written with it, as JSON; empty where there are none.
    #[serde(default)]
    pub rows: String,
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Its number, from 1 on without a gap.
    pub seq: i64,
    /// When it was written.
    pub at: Timestamp,
    /// What was done.
    pub entry: AuditEntry,
    /// The code over this entry and the one before.
    pub mac: B256,
}

/// The end of a log: what is published, and what the next entry stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the last entry; 0 before the first.
    pub seq: i64,
    /// Its code.
    pub mac: B256,
}

/// Where a log was tampered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditFault {
    /// Entries are not there.
    #[error("entry {0} is missing")]
    Missing(i64),
    /// An entry is not what was written, or was not written by us.
    #[error("entry {0} was altered, or inserted")]
    Altered(i64),
    /// An entry was written by somebody with the key, and cannot be read.
    #[error("what entry {0} says of rows cannot be read: a later version of Windlass has written it")]
    Unreadable(i64),
    /// The log is shorter than what was published of it, or another.
    #[error("the log does not hold the published head at entry {0}: its end was cut off or rewritten")]
    Cut(i64),
}

impl AuditKey {
    /// A key of 32 secret bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub(super) fn hmac(&self) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(&self.0).expect("a code takes a key of any length")
    }

    /// What tells this key from others, and nothing of what is secret in it.
    pub fn fingerprint(&self) -> String {
        let mut mac = self.hmac();
        mac.update(b"windlass: the fingerprint of a key");
        mac.finalize().into_bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    /// What says that the log's end of a day was published: nobody else can write it, so that nobody else
    /// keeps a day's end from being published.
    pub fn published_mark(&self, day: UtcDay) -> String {
        let mut mac = self.hmac();
        mac.update(b"windlass: the log's end was published on day ");
        mac.update(&day.0.to_be_bytes());
        format!("{day} {}", B256::from_slice(&mac.finalize().into_bytes()))
    }

    /// The row that follows a head.
    pub fn row(&self, head: AuditHead, at: Timestamp, entry: AuditEntry) -> AuditRow {
        let seq = head.seq.saturating_add(1);
        let mac = self.mac(head.mac, seq, at, &entry);
        AuditRow { seq, at, entry, mac }
    }

    /// The code over an entry and the one before. Every field comes behind its length, so
    /// no two entries read alike.
    fn mac(&self, previous: B256, seq: i64, at: Timestamp, entry: &AuditEntry) -> B256 {
        let mut mac = self.hmac();
        mac.update(previous.as_slice());
        mac.update(&seq.to_be_bytes());
        mac.update(&at.as_ms().to_be_bytes());
        for field in [&entry.actor, &entry.action, &entry.subject, &entry.detail] {
            mac.update(&(field.len() as u64).to_be_bytes());
            mac.update(field.as_bytes());
        }
        // Entries of before rows were named have none, and stay as they are.
        if !entry.rows.is_empty() {
            mac.update(&(entry.rows.len() as u64).to_be_bytes());
            mac.update(entry.rows.as_bytes());
        }
        B256::from_slice(&mac.finalize().into_bytes())
    }

    /// Whether a row follows on a head; the new head if so.
    pub fn follow(&self, head: AuditHead, row: &AuditRow) -> Result<AuditHead, AuditFault> {
        if row.seq != head.seq + 1 {
            return Err(AuditFault::Missing(head.seq + 1));
        }
        if self.mac(head.mac, row.seq, row.at, &row.entry) != row.mac {
            return Err(AuditFault::Altered(row.seq));
        }
        Ok(AuditHead { seq: row.seq, mac: row.mac })
    }
}

impl AuditEntry {
    /// The versions of rows that were written with it.
    pub fn row_versions(&self) -> Result<Vec<RowVersion>, serde_json::Error> {
        if self.rows.is_empty() { Ok(Vec::new()) } else { serde_json::from_str(&self.rows) }
    }
}

impl AuditRow {
    /// The entry of this number, whose row a store cannot read: it fits behind no entry.
    pub const fn unreadable(seq: i64) -> Self {
        let entry = AuditEntry {
            actor: String::new(),
            action: String::new(),
            subject: String::new(),
            detail: String::new(),
            rows: String::new(),
        };
        Self { seq, at: Timestamp::from_ms(0), entry, mac: B256::ZERO }
    }
}

impl AuditHead {
    /// A row.
    pub const fn of(row: &AuditRow) -> Self {
        Self { seq: row.seq, mac: row.mac }
    }

    /// Refuses a row that stands where another was published.
    pub fn check(&self, row: &AuditRow) -> Result<(), AuditFault> {
        if row.seq == self.seq && row.mac != self.mac { Err(AuditFault::Cut(self.seq)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: AuditKey = AuditKey::new([7; 32]);

    fn log(length: i64) -> Vec<AuditRow> {
        let mut head = AuditHead::default();
        let mut rows = Vec::new();
        for number in 0..length {
            let entry = AuditEntry {
                actor: "worker".into(),
                action: "payout.submitted".into(),
                subject: format!("p{}", number % 3),
                detail: format!("{{\"n\":{number}}}"),
                rows: if number % 2 == 0 { String::new() } else { "[]".into() },
            };
            rows.push(KEY.row(head, Timestamp::from_ms(number), entry));
            head = AuditHead::of(rows.last().expect("just pushed"));
        }
        rows
    }

    /// Goes through a log as a reader would; the end it came to.
    fn verify(key: &AuditKey, rows: &[AuditRow]) -> Result<AuditHead, AuditFault> {
        rows.iter().try_fold(AuditHead::default(), |head, row| key.follow(head, row))
    }

    #[test]
    fn a_log_as_it_was_written_is_whole() {
        let rows = log(9);
        assert_eq!(verify(&KEY, &rows), Ok(AuditHead::of(&rows[8])));
        assert_eq!(verify(&KEY, &[]), Ok(AuditHead::default()));
        assert_eq!(verify(&AuditKey::new([8; 32]), &rows), Err(AuditFault::Altered(1)));
        assert_eq!(format!("{KEY:?}"), "AuditKey(…)");
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let entry = |actor: &str, action: &str| AuditEntry {
            actor: actor.into(),
            action: action.into(),
            subject: String::new(),
            detail: String::new(),
            rows: String::new(),
        };
        let row = |entry| KEY.row(AuditHead::default(), Timestamp::from_ms(0), entry);
        assert_ne!(row(entry("ab", "c")).mac, row(entry("a", "bc")).mac);
    }

    #[test]
    fn a_cut_end_shows_against_a_published_head() {
        let rows = log(5);
        let published = AuditHead::of(&rows[4]);
        assert!(rows.iter().all(|row| published.check(row).is_ok()));
        let rewritten = KEY.row(AuditHead::of(&rows[3]), Timestamp::from_ms(99), rows[0].entry.clone());
        assert_eq!(published.check(&rewritten), Err(AuditFault::Cut(5)));
    }

    proptest! {
        /// Whatever is done to a log by somebody without the key, the first place is named.
        #[test]
        fn tampering_is_named_where_it_begins(at in 0_usize..9, what in 0..6, renumber: bool) {
            let mut rows = log(9);
            let place = rows[at].seq;
            match what {
                0 => rows[at].entry.detail.push(' '),
                1 => rows[at].at = Timestamp::from_ms(12_345),
                2 => rows[at].entry.actor = "somebody else".into(),
                3 => { rows.remove(at); }
                5 => rows[at].entry.rows = r#"[1]"#.into(),
                _ => { let copy = rows[at].clone(); rows.insert(at, copy); }
            }
            if renumber {
                rows.iter_mut().zip(1..).for_each(|(row, seq)| row.seq = seq);
            }
            let is_removed_at_the_end = what == 3 && at == 8;
            match verify(&KEY, &rows) {
                Ok(head) => prop_assert!(is_removed_at_the_end && head.seq == 8),
                Err(AuditFault::Missing(seq) | AuditFault::Altered(seq)) => {
                    // A copy is the entry itself at first; what follows it is out of place.
                    prop_assert!(seq == place || (what == 4 && seq == place + 1), "{seq} for {place}");
                }
                Err(fault) => prop_assert!(false, "{fault}"),
            }
        }
    }
}
