//! Transactions of an account that are not stored here: once that is certain, the account is halted.
//!
//! A halt lasts until an operator resumes the account, so one endpoint's word is not enough for it.
//! Every endpoint that answers has to say so, at a final block or twice with a pause. Until then the
//! account waits, and goes on by itself. What an endpoint counts is never signed with.

use std::time::Duration;

use windlass_core::lease::Lease;
use windlass_core::payout::ledger::SignerRow;
use windlass_core::payout::submit::NonceTag;
use windlass_core::reader::{BlockTag, ChainError};

use super::{Submitted, Submitter};
use crate::pay::accounts::Blocked;
use crate::pay::error::PayError;

/// Where the blocks are not final, the endpoints have to say so again after this.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);

/// How many transactions each endpoint that answers counts, with its name.
type Counts = Vec<(String, u64)>;

impl Submitter {
    /// An endpoint counts more transactions of the account than are stored here.
    pub(super) async fn confirm_ahead(
        &mut self,
        lease: &Lease,
        row: &SignerRow,
    ) -> Result<Submitted, PayError> {
        // Another chain's count says nothing of this account.
        let sight = self.payer.sight().await?;
        let is_ahead = |counts: &Counts| counts.iter().all(|(_, used)| *used > row.next_nonce);
        let latest = self.counts(row, BlockTag::Latest).await?;
        if !is_ahead(&latest) {
            self.ahead_since = None;
            let told: Vec<String> = latest.iter().map(|(name, used)| format!("{name}: {used}")).collect();
            let why = format!(
                "the endpoints do not agree how many transactions account {} has sent ({}), and {} are \
                 stored here: nothing is signed from it until they do",
                row.address,
                told.join(", "),
                row.next_nonce
            );
            self.wait_for_count(row, why);
            return self.show_blocked(lease, Submitted::NotYet).await;
        }
        let used = latest.iter().map(|(_, used)| *used).min().unwrap_or(row.next_nonce);
        // A node that keeps no state of that block cannot tell; then the second look decides.
        let at_final = self.counts(row, BlockTag::Number(sight.last_final)).await.unwrap_or_default();
        let is_final = !at_final.is_empty() && is_ahead(&at_final);
        let now = self.payer.store.now().await?;
        let since = *self.ahead_since.get_or_insert(now);
        if is_final || now >= since.after(CONFIRM_AFTER) {
            self.ahead_since = None;
            return self.halt(lease, row, used).await;
        }
        let unknown = used.saturating_sub(row.next_nonce);
        let why = format!(
            "the chain has {unknown} transactions of account {} that are not stored here: the endpoints are \
             asked again before it is halted",
            row.address
        );
        // Payouts are not held for it: the next step decides.
        self.wait_for_count(row, why);
        Ok(Submitted::NotYet)
    }

    fn wait_for_count(&self, row: &SignerRow, why: String) {
        let accounts = &self.payer.accounts;
        if !matches!(accounts.get(row.address).blocked, Some(Blocked::CountUnconfirmed(_))) {
            tracing::warn!(signer = %row.address, "{why}");
        }
        accounts.block(row.address, Blocked::CountUnconfirmed(why));
    }

    /// What the endpoints count at a block; an error where none answers.
    async fn counts(&self, row: &SignerRow, at: BlockTag) -> Result<Counts, ChainError> {
        let (mut counts, mut refused) = (Counts::new(), None);
        for one in self.payer.chain.nonce_from_each(row.address, NonceTag::Block(at)).await {
            match one.answer {
                Ok(used) => counts.push((one.endpoint, used)),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if counts.is_empty() => Err(error),
            _ => Ok(counts),
        }
    }
}
