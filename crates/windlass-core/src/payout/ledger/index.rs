//! Which version of every open row the audit log names last.
//!
//! It is made by following the log from its first entry, or from a checkpoint that was made
//! on the way, and every entry is held against the one before. What is not in it has ended,
//! or was never written.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use hmac::Mac;
use serde::{Deserialize, Serialize};

use super::{LedgerRow, RowId, RowVersion};
use crate::chain::B256;
use crate::payout::audit::{AuditFault, AuditHead, AuditKey, AuditRow};
use crate::payout::request::PayoutId;

/// Under which key a checkpoint is kept.
pub const CHECKPOINT_KEY: &str = "pay/ledger/checkpoint";

/// The longest checkpoint. A ledger with more open rows does without.
pub const MAX_CHECKPOINT_BYTES: usize = 64 << 20;

/// For how many days behind the newest a day's sum is watched. Older ones decide nothing.
const WATCHED_DAYS: i64 = 1;

/// Of so many rows that have ended it is known at which version, so that none of them is written
/// again by a process that has read it before.
const MAX_ENDED: usize = 100_000;

/// So many versions that were named last are known by their codes.
const MAX_RECENT: usize = 200_000;

/// The newest version of every open row.
#[derive(Debug, Clone, Default)]
pub struct LedgerIndex {
    head: AuditHead,
    rows: BTreeMap<RowId, (i64, B256)>,
    newest_day: i64,
    ended: EndedRows,
    recent: RecentCodes,
}

/// The last versions of the rows that have ended last. Not part of a checkpoint: whoever begins
/// with one has read no row before.
#[derive(Debug, Clone, Default)]
struct EndedRows {
    versions: BTreeMap<RowId, i64>,
    order: VecDeque<RowId>,
}

impl EndedRows {
    fn insert(&mut self, row: RowId, version: i64) {
        if self.versions.insert(row.clone(), version).is_none() {
            self.order.push_back(row);
        }
        while self.order.len() > MAX_ENDED {
            if let Some(first) = self.order.pop_front() {
                self.versions.remove(&first);
            }
        }
    }
}

/// How a row stands to what the audit log names last of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowStanding {
    /// It is what the log names.
    Current,
    /// The log names a later version.
    Older,
    /// The log does not name this version yet.
    Newer,
    /// The log names another row under this version.
    Other,
    /// The log names no open version of it.
    Absent,
}

/// A row that Windlass did not write as it stands, and that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgery {
    /// Which row.
    pub row: RowId,
    /// What is wrong with it.
    pub kind: ForgeryKind,
}

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ForgeryKind {
    /// Its code is not its own: it was altered, or inserted.
    Altered,
    /// It is an older version than the audit log names.
    Old,
    /// Its code is its own, and the audit log does not name it.
    Unnamed,
    /// The audit log names it, and it is not there.
    Removed,
    /// A column of it holds a value that does not belong there.
    Unreadable,
}

impl ForgeryKind {
    /// The name under which it is counted.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Altered => "altered",
            Self::Old => "old",
            Self::Unnamed => "unnamed",
            Self::Removed => "removed",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Forgery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = &self.row;
        match self.kind {
            ForgeryKind::Altered => {
                write!(f, "{row} was altered or inserted in the database by somebody else")
            }
            ForgeryKind::Old => write!(f, "{row} was put back to an older version in the database"),
            ForgeryKind::Unnamed => {
                write!(f, "{row} stands in the database, and the audit log does not name it")
            }
            ForgeryKind::Removed => write!(f, "{row} was removed from the database"),
            ForgeryKind::Unreadable => {
                write!(
                    f,
                    "{row} holds a value that does not belong there: somebody else wrote it to the database"
                )
            }
        }
    }
}

impl RowId {
    /// The kind of row, as forgeries are counted by.
    pub const fn table(&self) -> &'static str {
        match self {
            Self::Payout(_) => "payout",
            Self::Approval { .. } => "approval",
            Self::Budget(_) => "budget",
            Self::Intent(_) => "intent",
            Self::Signer { .. } => "signer",
            Self::ApiKey(_) => "api_key",
            Self::ChainIdentity(_) => "chain",
            Self::Attempt { .. } => "attempt",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Payout(id) => write!(f, "payout {id}"),
            Self::Approval { payout, approver } => write!(f, "the approval of payout {payout} by {approver}"),
            Self::Budget(key) => match key.to {
                Some(to) => write!(f, "the sum of {} for {} of token {}", key.day, to, key.token),
                None => write!(f, "the sum of {} of token {}", key.day, key.token),
            },
            Self::Intent(id) => write!(f, "transaction {id}"),
            Self::Signer { chain, address } => write!(f, "account {address} on chain {chain}"),
            Self::ApiKey(name) => write!(f, "API key `{name}`"),
            Self::ChainIdentity(vault) => {
                write!(f, "the known blocks of chain {} for vault {:#x}", vault.chain, vault.address)
            }
            Self::Attempt { intent, number } => write!(f, "signed form {number} of transaction {intent}"),
            Self::Unreadable { table, key } => write!(f, "a row of table {table} with the id {key}"),
        }
    }
}

/// The codes of the versions that were named last. Not part of a checkpoint either.
#[derive(Debug, Clone, Default)]
struct RecentCodes {
    known: HashSet<B256>,
    order: VecDeque<B256>,
}

impl RecentCodes {
    fn insert(&mut self, code: B256) {
        if self.known.insert(code) {
            self.order.push_back(code);
        }
        if self.order.len() > MAX_RECENT
            && let Some(first) = self.order.pop_front()
        {
            self.known.remove(&first);
        }
    }
}

/// A checkpoint as it is kept.
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    head: AuditHead,
    rows: Vec<(RowId, i64, B256)>,
    newest_day: i64,
}

impl LedgerIndex {
    /// How far the log was followed.
    pub const fn head(&self) -> AuditHead {
        self.head
    }

    /// How many rows are open.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is open.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Every open row.
    pub fn rows(&self) -> impl Iterator<Item = &RowId> {
        self.rows.keys()
    }

    /// Whether a row is open.
    pub fn contains(&self, row: &RowId) -> bool {
        self.rows.contains_key(row)
    }

    /// Who has approved an open payout.
    pub fn approvals(&self, payout: PayoutId) -> impl Iterator<Item = &RowId> {
        let first = RowId::Approval { payout, approver: String::new() };
        let is_its = move |id: &&RowId| matches!(id, RowId::Approval { payout: of, .. } if *of == payout);
        self.rows.range(first..).map(|(id, _)| id).take_while(is_its)
    }

    /// How a row stands to what the log names last of it.
    pub fn standing(&self, row: &RowVersion) -> RowStanding {
        let Some((version, mac)) = self.rows.get(&row.row) else { return RowStanding::Absent };
        match row.version.cmp(version) {
            std::cmp::Ordering::Less => RowStanding::Older,
            std::cmp::Ordering::Greater => RowStanding::Newer,
            std::cmp::Ordering::Equal if row.mac == *mac => RowStanding::Current,
            std::cmp::Ordering::Equal => RowStanding::Other,
        }
    }

    /// The version of a row that the log names last: of an open one, and of one that has ended not
    /// long ago.
    pub fn last_version(&self, row: &RowId) -> Option<i64> {
        let open = self.rows.get(row).map(|(version, _)| *version);
        open.or_else(|| self.ended.versions.get(row).copied())
    }

    /// Whether the log has named this very version not long ago, as far as it was followed.
    pub fn has_named(&self, version: &RowVersion) -> bool {
        self.recent.known.contains(&version.mac)
    }

    /// Whether a row decides nothing any more, so that it need not be named.
    pub fn is_past(&self, row: &impl LedgerRow) -> bool {
        match row.row_id() {
            RowId::Budget(key) => key.day.0 < self.newest_day - WATCHED_DAYS,
            // They count as long as their payout is open.
            RowId::Approval { payout, .. } => !self.contains(&RowId::Payout(payout)),
            _ => !row.is_open(),
        }
    }

    /// Goes on by one entry of the log.
    pub fn follow(&mut self, key: &AuditKey, row: &AuditRow) -> Result<(), AuditFault> {
        let head = key.follow(self.head, row)?;
        let versions = row.entry.row_versions().map_err(|_| AuditFault::Unreadable(row.seq))?;
        versions.into_iter().for_each(|version| self.take(version));
        self.head = head;
        Ok(())
    }

    fn take(&mut self, RowVersion { row, version, mac, is_open }: RowVersion) {
        self.recent.insert(mac);
        match &row {
            RowId::Payout(id) if !is_open => {
                let approvals: Vec<RowId> = self.approvals(*id).cloned().collect();
                approvals.iter().for_each(|approval| {
                    self.rows.remove(approval);
                });
            }
            RowId::Budget(key) if key.day.0 > self.newest_day => {
                self.newest_day = key.day.0;
                let first = self.newest_day - WATCHED_DAYS;
                self.rows.retain(|id, _| !matches!(id, RowId::Budget(key) if key.day.0 < first));
            }
            _ => {}
        }
        if is_open {
            self.rows.insert(row, (version, mac));
        } else {
            self.rows.remove(&row);
            self.ended.insert(row, version);
        }
    }

    /// What is kept so that the log need not be followed from its first entry again. An old one
    /// is as good as the newest: the log is followed from where it was made.
    pub fn checkpoint(&self, key: &AuditKey) -> String {
        let rows = self.rows.iter().map(|(id, (version, mac))| (id.clone(), *version, *mac)).collect();
        let checkpoint = Checkpoint { head: self.head, rows, newest_day: self.newest_day };
        let text = serde_json::json!(checkpoint).to_string();
        let mac = B256::from_slice(&over_checkpoint(key, &text).finalize().into_bytes());
        format!("{mac} {text}")
    }

    /// Reads a checkpoint; nothing where it was not made with this key.
    pub fn read_checkpoint(key: &AuditKey, kept: &str) -> Option<Self> {
        let (mac, text) = kept.split_once(' ')?;
        let mac: B256 = mac.parse().ok()?;
        over_checkpoint(key, text).verify_slice(mac.as_slice()).ok()?;
        let Checkpoint { head, rows, newest_day } = serde_json::from_str(text).ok()?;
        let rows = rows.into_iter().map(|(id, version, mac)| (id, (version, mac))).collect();
        Some(Self { head, rows, newest_day, ..Self::default() })
    }
}

fn over_checkpoint(key: &AuditKey, text: &str) -> impl Mac<OutputSize = sha2::digest::consts::U32> {
    let mut mac = key.hmac();
    mac.update(b"windlass: a checkpoint of the ledger");
    mac.update(text.as_bytes());
    mac
}

#[cfg(test)]
mod tests;
