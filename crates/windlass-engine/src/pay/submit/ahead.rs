//! Transactions of an account that are not stored here: once that is certain, the account is halted.
//!
//! A halt lasts until an operator resumes the account, so one endpoint's word is not enough for it.
//! Every endpoint that answers has to say so, two of them or the only one that there is, at a final block or
//! twice with a pause. Until then the account waits, and goes on by itself. What an endpoint counts is never signed with.

use std::time::Duration;

use windlass_core::lease::Lease;
use windlass_core::payout::ledger::SignerRow;
use windlass_core::payout::submit::NonceTag;
use windlass_core::reader::{BlockTag, ChainError, is_quorum};

use super::{Submitted, Submitter};
use crate::pay::accounts::Blocked;
use crate::pay::error::PayError;

/// Where the blocks are not final, the endpoints have to say so again after this.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);

/// What endpoints count.
struct Counts {
    /// How many transactions each endpoint that answers counts, with its name.
    told: Vec<(String, u64)>,
    /// How many endpoints were asked.
    asked: usize,
}

impl Counts {
    /// Whether every endpoint that answers counts more than are stored.
    fn are_all_ahead_of(&self, row: &SignerRow) -> bool {
        self.told.iter().all(|(_, used)| *used > row.next_nonce)
    }
}

impl Submitter {
    /// An endpoint counts more transactions of the account than are stored here.
    pub(super) async fn confirm_ahead(
        &mut self,
        lease: &Lease,
        row: &SignerRow,
    ) -> Result<Submitted, PayError> {
        // Another chain's count says nothing of this account.
        let sight = self.payer.sight().await?;
        let latest = self.counts(row, BlockTag::Latest).await?;
        if !latest.are_all_ahead_of(row) || !is_quorum(latest.told.len(), latest.asked) {
            self.ahead_since = None;
            let told: Vec<String> =
                latest.told.iter().map(|(name, used)| format!("{name}: {used}")).collect();
            let why = format!(
                "the endpoints do not agree how many transactions account {} has sent, or too few of them \
                 answer ({}), and {} are stored here: nothing is signed from it until they do",
                row.address,
                told.join(", "),
                row.next_nonce
            );
            self.wait_for_count(row, why);
            return self.show_blocked(lease, Submitted::NotYet).await;
        }
        let used = latest.told.iter().map(|(_, used)| *used).min().unwrap_or(row.next_nonce);
        // A node that keeps no state of that block cannot tell; then the second look decides.
        let at_final = self.counts(row, BlockTag::Number(sight.last_final)).await;
        let is_final = at_final.is_ok_and(|counts| counts.are_all_ahead_of(row));
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
        let answers = self.payer.chain.nonce_from_each(row.address, NonceTag::Block(at)).await;
        let (mut counts, mut refused) = (Counts { told: Vec::new(), asked: answers.len() }, None);
        for one in answers {
            match one.answer {
                Ok(used) => counts.told.push((one.endpoint, used)),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if counts.told.is_empty() => Err(error),
            _ => Ok(counts),
        }
    }
}
