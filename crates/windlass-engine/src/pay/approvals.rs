//! Which approvals of a payout count.

use std::collections::BTreeSet;

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{Approval, DEVELOPMENT, Payout, RowId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::Payouts;

use super::ledger::Ledger;
use super::options::PayOptions;

/// Who has approved what.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// By payout.
    given: Vec<Approval>,
    /// Approvers whose key was revoked, or whose row cannot be trusted.
    void: BTreeSet<String>,
}

/// The approvals of one payout.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counted<'a> {
    /// They count.
    pub(super) valid: Vec<&'a str>,
    /// They do not, since the key was revoked.
    pub(super) void: Vec<&'a str>,
}

impl Approvals {
    /// Those of payouts.
    pub(super) async fn of(ledger: &Ledger, payouts: &[PayoutId]) -> StoreResult<Self> {
        if payouts.is_empty() {
            return Ok(Self::default());
        }
        let given = ledger.approvals(payouts).await?;
        let keys = ledger.check_api_keys().await?;
        let revoked = keys.rows.into_iter().filter(|key| key.revoked_at.is_some()).map(|key| key.name);
        let refused = keys.forgeries.into_iter().filter_map(|forgery| match forgery.row {
            RowId::ApiKey(name) => Some(name),
            _ => None,
        });
        Ok(Self { given, void: revoked.chain(refused).collect() })
    }

    /// Which of them count for a payout: nobody approves their own, and who was revoked before
    /// it is signed has approved nothing.
    pub(super) fn count(&self, payout: &Payout, options: &PayOptions) -> Counted<'_> {
        let first = self.given.partition_point(|approval| approval.payout < payout.id);
        let own = self.given[first..].iter().take_while(|approval| approval.payout == payout.id);
        let is_eligible = |approver: &&str| {
            (options.is_development || !approver.starts_with(DEVELOPMENT)) && *approver != payout.created_by
        };
        let names = own.map(|approval| approval.approver.as_str()).filter(is_eligible);
        let (void, valid) = names.partition(|name| self.void.contains(*name));
        Counted { valid, void }
    }

    /// Whether somebody has approved a payout, whether or not it counts.
    pub(super) fn is_by(&self, payout: PayoutId, approver: &str) -> bool {
        self.given.iter().any(|approval| approval.payout == payout && approval.approver == approver)
    }
}

impl Counted<'_> {
    /// How many count.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.valid.len()).unwrap_or(u32::MAX)
    }

    /// Why there are too few.
    pub(super) fn shortage(&self, needed: u32) -> Option<String> {
        if self.len() >= needed {
            return None;
        }
        let mut why = format!("{} valid approvals, and it takes {needed}", self.valid.len());
        if !self.void.is_empty() {
            why.push_str("; not counted, because the key was revoked since: ");
            why.push_str(&self.void.join(", "));
        }
        Some(why)
    }
}
