//! Transactions of an account that are not stored here: once that is certain, the account is halted.
//!
//! A halt lasts until an operator resumes the account, so one endpoint's word is not enough for it.
//! Every endpoint that answers has to say so, two of them or the only one that there is, at a final block or
//! twice with a pause. Until then the account waits, and goes on by itself. What an endpoint counts is never signed with.

use std::time::Duration;

use windlass_core::chain::Address;
use windlass_core::lease::Lease;
use windlass_core::payout::ledger::SignerRow;
use windlass_core::payout::submit::NonceTag;
use windlass_core::reader::{BlockTag, ChainError, is_quorum};

use super::{Submitted, Submitter};
use crate::pay::accounts::Blocked;
use crate::pay::agreement::{Told, counts, disputed_count};
use crate::pay::error::PayError;

/// Where the blocks are not final, the endpoints have to say so again after this.
const CONFIRM_AFTER: Duration = Duration::from_secs(1);

/// Whether every endpoint that answers counts more than are stored.
fn are_all_ahead_of(told: &Told<u64>, row: &SignerRow) -> bool {
    told.answers.iter().all(|(_, used)| *used > row.next_nonce)
}

/// How many of its stored transactions an account has used; none where it may be more than are stored,
/// which one endpoint of three does not decide.
fn used_of(told: &Told<u64>, next_nonce: u64) -> Option<u64> {
    let stored: Vec<u64> =
        told.answers.iter().map(|(_, used)| *used).filter(|used| *used <= next_nonce).collect();
    match told.answers.len() - stored.len() {
        0 => told.reached(),
        _ if stored.len() >= 2 => stored.into_iter().max(),
        _ => None,
    }
}

impl Submitter {
    /// How many of the account's stored transactions are in blocks; none where it may be more than are stored.
    pub(super) async fn used(&self, row: &SignerRow) -> Result<Option<u64>, PayError> {
        let told = self.counts(row.address, NonceTag::Block(BlockTag::Latest)).await?;
        Ok(used_of(&told, row.next_nonce))
    }

    /// The nonce that an account starts from, which is never asked for again: two endpoints have to agree
    /// about it, or the only one tells it. Else why the account waits.
    pub(super) async fn first_nonce(&self) -> Result<Result<u64, Blocked>, PayError> {
        let (sight, address) = (self.payer.sight().await?, self.signer.address());
        if let Some(why) = sight.dispute.filter(|_| !sight.is_final_known) {
            return Ok(Err(Blocked::CountUnconfirmed(why)));
        }
        let at_final = self.counts(address, NonceTag::Block(BlockTag::Number(sight.last_final))).await?;
        let Some(used) = at_final.agreed() else {
            let why = disputed_count(address, &at_final);
            tracing::warn!(signer = %address, "{why}");
            return Ok(Err(Blocked::CountUnconfirmed(why)));
        };
        let latest = self.counts(address, NonceTag::Block(BlockTag::Latest)).await?.most();
        let pending = self.counts(address, NonceTag::Pending).await?.most().max(latest).unwrap_or(used);
        if pending > used {
            // They may be mined, or go with their block, and then come back or never: with
            // nonces behind theirs ours would wait for ever, with theirs they would be replaced.
            tracing::warn!(signer = %address, waiting = pending - used,
                "transactions that were not sent from here are not final yet; nothing is signed until they are");
            return Ok(Err(Blocked::ForeignTransactions(pending - used)));
        }
        Ok(Ok(used))
    }

    /// An endpoint counts more transactions of the account than are stored here.
    pub(super) async fn confirm_ahead(
        &mut self,
        lease: &Lease,
        row: &SignerRow,
    ) -> Result<Submitted, PayError> {
        // Another chain's count says nothing of this account.
        let sight = self.payer.sight().await?;
        let latest = self.counts(row.address, NonceTag::Block(BlockTag::Latest)).await?;
        if !are_all_ahead_of(&latest, row) || !is_quorum(latest.answers.len(), latest.asked) {
            self.ahead_since = None;
            let why = format!(
                "the endpoints do not agree how many transactions account {} has sent, or too few of them \
                 answer ({}), and {} are stored here: nothing is signed from it until they do",
                row.address,
                latest.words(u64::to_string),
                row.next_nonce
            );
            self.wait_for_count(row, why);
            return self.show_blocked(lease, Submitted::NotYet).await;
        }
        let used = latest.answers.iter().map(|(_, used)| *used).min().unwrap_or(row.next_nonce);
        // A node that keeps no state of that block cannot tell; then the second look decides.
        let last_final = NonceTag::Block(BlockTag::Number(sight.last_final));
        let at_final = self.counts(row.address, last_final).await;
        let is_final = at_final.is_ok_and(|told| are_all_ahead_of(&told, row));
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

    /// What the endpoints count; an error where none answers.
    async fn counts(&self, account: Address, at: NonceTag) -> Result<Told<u64>, ChainError> {
        counts(&*self.payer.chain, account, at).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_endpoint_of_three_neither_holds_an_account_up_nor_lets_it_go_on() {
        let used = |counts: &[u64]| {
            let answers = counts.iter().map(|count| ("it".to_owned(), *count)).collect();
            used_of(&Told { answers, asked: 3 }, 5)
        };
        assert_eq!((used(&[0, 4, 4]), used(&[900, 4, 5])), (Some(4), Some(5)));
        assert_eq!((used(&[0, 6, 6]), used(&[5, 6, 6]), used(&[6, 6, 6])), (None, None, None));
        assert_eq!((used(&[900, 4]), used(&[900]), used(&[4])), (None, None, Some(4)));
    }
}
