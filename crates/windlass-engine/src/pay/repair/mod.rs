//! Putting right rows that were refused, where no backup has them: an operator decides, row by row.
//!
//! A row that the audit log does not name is removed. One that it names is made anew from what cannot
//! be forged, and named in the log as the version that follows:
//!
//! | row | from what |
//! | --- | --- |
//! | payout | the entries about it, which say all of it |
//! | approval | the entry about it |
//! | sum of a day | the payouts that count against it |
//! | transaction, signed form | the forms of it that its account has signed; where none is left, its row |
//! | account | the nonces of its transactions; it is halted until an operator resumes it |
//! | API key | its name: it is revoked, for the log does not have its secret's hash |
//!
//! Nothing that is made anew can be paid twice: a payout keeps its key, and so the vault knows the
//! request. [`from_log`] reads the entries, [`rows`] makes the rows.

mod from_log;
mod rows;

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::name::{NameError, Partition};
use windlass_core::payout::audit::{AuditFault, AuditRow};
use windlass_core::payout::ledger::{Forgery, ForgeryKind, IllegalMove, PayWrite, ReplacedRow, RowId};

use super::audit_check::{self, NamedRows, NamedVersion};
use super::counted;
use super::ledger::Ledger;
use super::page::{Clerk, Page};

/// Why a row was not put right.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A step that no payout can take.
    #[error(transparent)]
    Move(#[from] IllegalMove),
    /// Nothing is made anew from a log that was tampered with.
    #[error("the audit log is broken: {0}")]
    Broken(AuditFault),
    /// The row was not refused.
    #[error("{0} is what the audit log says: there is nothing to put right")]
    Sound(RowId),
    /// Sums are of payouts, which have to be right before.
    #[error("{0} is a sum of payouts, and payouts were refused: put those right first")]
    PayoutsFirst(RowId),
    /// What it takes is not there.
    #[error("{row} cannot be made anew: {why}")]
    Unmendable {
        /// Which row.
        row: RowId,
        /// What is missing.
        why: String,
    },
}

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairAction {
    /// It is taken away.
    Removed,
    /// It is made anew.
    Rebuilt,
}

/// How a row is put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Which row, and what is wrong with it.
    pub forgery: Forgery,
    /// What becomes of it.
    pub action: RepairAction,
    /// What an operator has to do afterwards, if anything.
    pub next: Option<String>,
}

/// Puts rows right.
pub struct Repairer {
    ledger: Arc<Ledger>,
    clerk: Clerk,
}

/// What the log says, as far as a row is concerned.
struct Evidence {
    named: NamedRows,
    /// The entries about the row, oldest first.
    entries: Vec<AuditRow>,
    /// What was refused.
    refused: Vec<Forgery>,
}

impl Repairer {
    /// Whoever puts rows right stands in the log under this name.
    pub fn new(ledger: Arc<Ledger>, by: &str) -> Result<Self, NameError> {
        let key = ledger.key().clone();
        let clerk = Clerk { actor: by.into(), partition: Partition::new("pay/ledger")?, key };
        Ok(Self { ledger, clerk })
    }

    /// Every row that is refused, as the whole log and all tables say.
    pub async fn refused(&self) -> Result<Vec<Forgery>, RepairError> {
        Ok(self.evidence(None).await?.refused)
    }

    /// How a row would be put right.
    pub async fn preview(&self, row: &RowId) -> Result<Repair, RepairError> {
        Ok(self.plan(row).await?.0)
    }

    /// Puts a row right.
    pub async fn repair(&self, row: &RowId) -> Result<Repair, RepairError> {
        let (repair, replaced) = self.plan(row).await?;
        let mut page = Page::new(&self.clerk);
        page.write(Write::Pay(match replaced {
            Some(replaced) => PayWrite::Replace(Box::new(replaced)),
            None => PayWrite::Remove(row.clone()),
        }));
        let kind = repair.forgery.kind.as_str();
        let detail = json!({"row": row.key(), "was": kind, "action": repair.action});
        page.note("row.repaired", subject(row), detail);
        counted::commit(&self.ledger, page.into_commit()).await?;
        tracing::warn!(row = row.key(), kind, "a row that was refused was put right");
        Ok(repair)
    }

    async fn plan(&self, row: &RowId) -> Result<(Repair, Option<ReplacedRow>), RepairError> {
        let evidence = self.evidence(Some(row)).await?;
        let is_form = |forgery: &&Forgery| is_form_of(&forgery.row, row);
        let refused = || evidence.refused.iter();
        let forgery = refused().find(|forgery| forgery.row == *row).or_else(|| refused().find(is_form));
        let forgery = forgery.cloned();
        let forgery = forgery.ok_or_else(|| RepairError::Sound(row.clone()))?;
        // Signed forms are put right with their transaction, unless they are of none, or one too many.
        let row = match (row, forgery.kind) {
            (RowId::Attempt { .. }, ForgeryKind::Unnamed) => row,
            (RowId::Attempt { intent, .. }, _) => &RowId::Intent(*intent),
            _ => row,
        };
        let Some(named) = evidence.named.get(row) else {
            return Ok((Repair { forgery, action: RepairAction::Removed, next: None }, None));
        };
        let replaced = self.rebuilt(row, named, &evidence).await?;
        let next = next_step(row, &replaced);
        Ok((Repair { forgery, action: RepairAction::Rebuilt, next }, Some(replaced)))
    }

    async fn evidence(&self, row: Option<&RowId>) -> Result<Evidence, RepairError> {
        let (store, key) = (self.ledger.store(), self.ledger.key());
        let subject = row.map(subject);
        let mut entries = Vec::new();
        let look = |entry: &AuditRow| {
            if subject.as_ref() == Some(&entry.entry.subject) {
                entries.push(entry.clone());
            }
        };
        let kept = self.ledger.check_log().await?;
        let named = audit_check::follow_with(store, key, Some(kept), look).await?;
        let named = named.map_err(RepairError::Broken)?;
        let refused = audit_check::compare(store, key, named.clone()).await?.forgeries;
        Ok(Evidence { named, entries, refused })
    }

    async fn rebuilt(
        &self,
        row: &RowId,
        named: NamedVersion,
        evidence: &Evidence,
    ) -> Result<ReplacedRow, RepairError> {
        let unmendable = |why: &str| RepairError::Unmendable { row: row.clone(), why: why.to_owned() };
        let now = self.ledger.store().now().await?;
        let entries = &evidence.entries;
        Ok(match row {
            RowId::Payout(id) => {
                let rebuilt = from_log::payout(*id, entries, named, now);
                ReplacedRow::Payout(rebuilt.ok_or_else(|| unmendable("the log does not say all of it"))?)
            }
            RowId::Approval { payout, approver } => {
                let rebuilt = from_log::approval(*payout, approver, entries);
                ReplacedRow::Approval(rebuilt.ok_or_else(|| unmendable("the log does not say when"))?)
            }
            RowId::Budget(key) => {
                let is_payout = |forgery: &Forgery| matches!(forgery.row, RowId::Payout(_));
                if evidence.refused.iter().any(is_payout) {
                    return Err(RepairError::PayoutsFirst(row.clone()));
                }
                ReplacedRow::Budget(self.sum(*key, named).await?)
            }
            RowId::Intent(id) => {
                let (intent, forms) = self.transaction(*id, named, entries, now).await?;
                ReplacedRow::Intent(intent, forms)
            }
            RowId::Signer { chain, address } => {
                ReplacedRow::Signer(self.account(*chain, *address, named, evidence, now).await?)
            }
            RowId::ApiKey(name) => ReplacedRow::ApiKey(self.revoked_key(name, named, entries, now)),
            RowId::ChainIdentity(_) => {
                return Err(unmendable("`windlass pay accept-chain` learns the blocks anew"));
            }
            // The log names neither.
            RowId::Attempt { .. } | RowId::Unreadable { .. } => {
                return Err(RepairError::Sound(row.clone()));
            }
        })
    }
}

/// Whether a row is a signed form of a transaction.
fn is_form_of(form: &RowId, transaction: &RowId) -> bool {
    matches!((form, transaction), (RowId::Attempt { intent, .. }, RowId::Intent(id)) if intent == id)
}

/// What is left to do once a row was made anew.
fn next_step(row: &RowId, replaced: &ReplacedRow) -> Option<String> {
    match (row, replaced) {
        (RowId::Signer { address, .. }, _) => Some(format!(
            "look at the transactions of {address}, then `windlass signer resume`: it signs nothing before"
        )),
        (RowId::ApiKey(name), _) => {
            Some(format!("key `{name}` is revoked: make another one with `windlass key create`"))
        }
        (RowId::Intent(_), ReplacedRow::Intent(intent, _)) if intent.attempts == 0 => Some(
            "no signed form of it was left: the same call is signed again with the same nonce, unless the chain \
             has used that nonce by then; if that transaction was reverted, its account is halted, and \
             `windlass signer resume` lets it go on"
                .to_owned(),
        ),
        (RowId::Payout(_), ReplacedRow::Payout(payout)) if !payout.state.is_end() => {
            Some("what waits for it is looked at again within a minute".to_owned())
        }
        _ => None,
    }
}

/// What entries about a row have for a subject.
fn subject(row: &RowId) -> String {
    super::ledger::subject_of(row)
}
