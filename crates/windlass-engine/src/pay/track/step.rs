//! One step of a transaction: what was decided, as rows.

use serde_json::json;
use windlass_core::commit::Write;
use windlass_core::payout::ledger::{Attempt, Intent, IntentState, PayWrite, Payout, ReceiptSummary};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::time::Timestamp;

use super::decide::Decision;
use super::next::Next;
use crate::pay::chain_trouble;
use crate::pay::error::PayError;
use crate::pay::page::Page;
use crate::pay::payer::{Payer, Sight};

/// What is to be written of a transaction.
#[derive(Debug, Clone)]
pub(super) struct Step {
    decided: Option<Decided>,
    is_followed_on: bool,
    /// A new form of it.
    pub(super) bump: Option<Attempt>,
    /// Why it is not given more gas, or what it waits for in its block.
    pub(super) hold: Option<String>,
}

/// What was decided, and about what.
#[derive(Debug, Clone)]
struct Decided {
    intent: Intent,
    payouts: Vec<Payout>,
    decision: Decision,
    /// What the receipt says, where the transaction is in a block.
    receipt: Option<ReceiptSummary>,
}

impl Step {
    /// What was decided about a transaction.
    pub(super) fn of(
        intent: Intent,
        payouts: Vec<Payout>,
        decision: Decision,
        receipt: Option<ReceiptSummary>,
    ) -> Self {
        let is_followed_on = decision.state == IntentState::Open;
        let decided = Some(Decided { intent, payouts, decision, receipt });
        Self { decided, is_followed_on, bump: None, hold: None }
    }

    /// Nothing is known: it is looked at again.
    pub(super) const fn again() -> Self {
        Self { decided: None, is_followed_on: true, bump: None, hold: None }
    }

    /// It is over already.
    pub(super) const fn over() -> Self {
        Self { decided: None, is_followed_on: false, bump: None, hold: None }
    }

    /// The transaction, if it waits to be mined, whether anything else waits before it or not.
    pub(super) fn waiting(&self) -> Option<&Intent> {
        self.decided.as_ref().filter(|decided| decided.decision.is_to_be_sent).map(|decided| &decided.intent)
    }

    /// The transaction, if it waits and nothing of its account waits before it.
    pub(super) fn next(&self) -> Option<&Intent> {
        let is_next = self.decided.as_ref().is_some_and(|decided| decided.decision.is_next);
        self.waiting().filter(|_| is_next)
    }

    /// What the transaction pays.
    pub(super) fn payouts(&self) -> &[Payout] {
        self.decided.as_ref().map_or(&[], |decided| &decided.payouts)
    }

    pub(super) const fn is_followed_on(&self) -> bool {
        self.is_followed_on
    }

    /// Whether there is anything to write but the next look.
    pub(super) fn changes(&self) -> bool {
        let Some(Decided { intent, payouts, decision, .. }) = &self.decided else { return false };
        let holds_anew = |(payout, next): (&Payout, &Next)| *next == Next::Same && self.changes_hold(payout);
        self.bump.is_some()
            || intent.state != decision.state
            || intent.inclusion != decision.inclusion
            || decision.nexts.iter().any(|next| *next != Next::Same)
            || payouts.iter().zip(&decision.nexts).any(holds_anew)
    }

    /// Whether a payout of which nothing else is new waits for something else now. The endpoints have
    /// answered: what waited for that does not any more.
    fn changes_hold(&self, payout: &Payout) -> bool {
        match &self.hold {
            // What is confirmed waits for nothing but time: a hold beside a final payment says that it is lost.
            Some(why) => payout.state == PayoutState::Submitted && !payout.is_held_for(why),
            None => chain_trouble::is_waited_out_by(payout),
        }
    }

    /// Writes it.
    pub(super) async fn write(
        &self,
        payer: &Payer,
        page: &mut Page,
        sight: &Sight,
        now: Timestamp,
    ) -> Result<(), PayError> {
        let Some(Decided { intent, payouts, decision, receipt }) = &self.decided else { return Ok(()) };
        let mut row = intent.clone();
        if let Some(attempt) = &self.bump {
            row = row.signed_again(sight.latest.number, now);
            page.write(Write::Pay(PayWrite::Intents(vec![row.clone()])));
            page.write(Write::Pay(PayWrite::Attempts(vec![attempt.clone()])));
            let detail = json!({"number": attempt.number, "hash": attempt.hash, "fees": attempt.fees});
            page.note("attempt.signed", intent.id, detail);
        }
        write_intent(page, row, decision, *receipt, now);
        if decision.is_displaced {
            halt(payer, page, intent, now).await?;
        }
        for (payout, next) in payouts.iter().zip(&decision.nexts) {
            if *next != Next::Same || !self.changes_hold(payout) {
                next.write(payer, page, payout, now).await?;
                continue;
            }
            let row = match &self.hold {
                Some(why) => payout.held(why.clone(), None, now),
                None => payout.released(now),
            };
            page.payout(Some(payout), row);
        }
        Ok(())
    }
}

fn write_intent(
    page: &mut Page,
    row: Intent,
    decision: &Decision,
    receipt: Option<ReceiptSummary>,
    now: Timestamp,
) {
    let Decision { state, inclusion, .. } = *decision;
    if state != row.state {
        page.note("transaction.ended", row.id, json!({"state": state, "inclusion": inclusion}));
        let ended = row.ended(state, inclusion, now).with_receipt(receipt);
        page.write(Write::Pay(PayWrite::Intents(vec![ended])));
    } else if inclusion != row.inclusion {
        page.note("transaction.seen", row.id, json!({"inclusion": inclusion}));
        let seen = row.seen(inclusion, now).with_receipt(receipt);
        page.write(Write::Pay(PayWrite::Intents(vec![seen])));
    }
}

/// Somebody else has sent with this key: nothing is signed any more until a person decides.
async fn halt(payer: &Payer, page: &mut Page, intent: &Intent, now: Timestamp) -> Result<(), PayError> {
    let id = intent.id;
    let Some(signer) = payer.ledger.signer(id.chain, id.signer).await? else { return Ok(()) };
    if signer.halted.is_some() {
        return Ok(());
    }
    let why = format!(
        "nonce {} was used by a transaction that is not stored here: the key is used elsewhere, \
         or the database is an old copy",
        id.nonce
    );
    tracing::error!(signer = %id.signer, nonce = id.nonce, "{why}");
    page.halted(signer.halted(Some(why), now), json!({"nonce": id.nonce}));
    Ok(())
}
