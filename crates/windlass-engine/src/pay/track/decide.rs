//! What follows from what the chain tells: a pure decision, and its rows.

use serde_json::json;
use windlass_core::chain::B256;
use windlass_core::commit::Write;
use windlass_core::job::NewJob;
use windlass_core::payout::ledger::{Attempt, Inclusion, Intent, IntentState, PayWrite, Payout};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::answer::{VaultRecord, VaultStatus};
use windlass_core::time::Timestamp;

use crate::pay::desk::budgets;
use crate::pay::error::PayError;
use crate::pay::names::PayNames;
use crate::pay::page::Page;
use crate::pay::payer::{Payer, Sight};

/// What the chain tells of a transaction. Records and findings stand in the place of
/// each payout; there are none where nothing depends on them yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A form of it is in a block, and has done what it was to do.
    Mined { inclusion: Inclusion, records: Vec<VaultRecord> },
    /// A form of it is in a block, and was reverted.
    Reverted { inclusion: Inclusion, records: Vec<VaultRecord>, found: Vec<Option<Inclusion>> },
    /// No form of it is known, and its nonce is used up in a final block.
    NonceUsed { records: Vec<VaultRecord>, found: Vec<Option<Inclusion>> },
    /// No form of it is known, which by itself proves nothing.
    Missing {
        /// Another block stands where the one was that it was in.
        is_gone: bool,
        /// Its nonce is the account's next.
        is_next: bool,
    },
}

/// The heights that decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heights {
    pub(super) last_final: u64,
    pub(super) last_confirmed: u64,
}

impl From<&Sight> for Heights {
    fn from(sight: &Sight) -> Self {
        Self { last_final: sight.last_final, last_confirmed: sight.last_confirmed }
    }
}

/// What becomes of a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing new.
    Same,
    /// It is in a block that is not deep enough, or no longer in one.
    Seen(Option<Inclusion>),
    /// Its block is deep enough, and perhaps final.
    Confirmed { inclusion: Inclusion, is_final: bool },
    /// Its block is gone.
    Reorganised(Option<Inclusion>),
    /// The vault has paid it in another transaction, for good.
    Found(Inclusion),
    /// It was not paid, and will not be.
    Failed(String),
    /// Its transaction is over without payment; another one has to be made.
    Again,
}

/// What follows for a transaction.
#[derive(Debug, Clone)]
pub(super) struct Step {
    intent: Option<Intent>,
    state: IntentState,
    inclusion: Option<Inclusion>,
    payouts: Vec<(Payout, Next)>,
    /// Somebody else used its nonce.
    is_displaced: bool,
    is_to_be_sent: bool,
    /// Nothing of its account waits before it.
    is_next: bool,
    is_followed_on: bool,
    /// A new form of it.
    pub(super) bump: Option<Attempt>,
    /// Why it is not given more gas.
    pub(super) hold: Option<String>,
}

impl Step {
    fn blank(is_followed_on: bool) -> Self {
        Self {
            intent: None,
            state: IntentState::Open,
            inclusion: None,
            payouts: Vec::new(),
            is_displaced: false,
            is_to_be_sent: false,
            is_next: false,
            is_followed_on,
            bump: None,
            hold: None,
        }
    }

    /// Nothing is known: it is looked at again.
    pub(super) fn again() -> Self {
        Self::blank(true)
    }

    /// It is over already.
    pub(super) fn over() -> Self {
        Self::blank(false)
    }

    pub(super) fn intent(&self) -> Option<&Intent> {
        self.intent.as_ref()
    }

    pub(super) const fn is_to_be_sent(&self) -> bool {
        self.is_to_be_sent
    }

    pub(super) const fn is_next(&self) -> bool {
        self.is_next
    }

    pub(super) const fn is_followed_on(&self) -> bool {
        self.is_followed_on
    }

    /// Whether there is anything to write but the next look.
    pub(super) fn changes(&self) -> bool {
        let is_new = |intent: &Intent| intent.state != self.state || intent.inclusion != self.inclusion;
        self.bump.is_some()
            || self.intent.as_ref().is_some_and(is_new)
            || self.payouts.iter().any(|(_, next)| *next != Next::Same)
            || self.holds_anew()
    }

    fn holds_anew(&self) -> bool {
        let Some(why) = &self.hold else { return false };
        self.payouts.iter().any(|(payout, next)| *next == Next::Same && !payout.is_held_for(why))
    }

    /// Writes it.
    pub(super) async fn write(
        &self,
        payer: &Payer,
        page: &mut Page,
        sight: &Sight,
        now: Timestamp,
    ) -> Result<(), PayError> {
        let Some(intent) = &self.intent else { return Ok(()) };
        let mut row = intent.clone();
        if let Some(attempt) = &self.bump {
            row = row.signed_again(sight.latest.number, now);
            page.write(Write::Pay(PayWrite::Intents(vec![row.clone()])));
            page.write(Write::Pay(PayWrite::Attempts(vec![attempt.clone()])));
            let detail = json!({"number": attempt.number, "hash": attempt.hash, "fees": attempt.fees});
            page.note("attempt.signed", intent.id, detail);
        }
        if self.state != row.state {
            row = row.ended(self.state, self.inclusion, now);
            page.note("transaction.ended", row.id, json!({"state": self.state, "inclusion": self.inclusion}));
            page.write(Write::Pay(PayWrite::Intents(vec![row])));
        } else if self.inclusion != row.inclusion {
            page.note("transaction.seen", row.id, json!({"inclusion": self.inclusion}));
            page.write(Write::Pay(PayWrite::Intents(vec![row.seen(self.inclusion, now)])));
        }
        if self.is_displaced {
            halt(payer, page, intent, now).await?;
        }
        for (payout, next) in &self.payouts {
            self.write_payout(payer, page, payout, next, now).await?;
        }
        Ok(())
    }

    async fn write_payout(
        &self,
        payer: &Payer,
        page: &mut Page,
        payout: &Payout,
        next: &Next,
        now: Timestamp,
    ) -> Result<(), PayError> {
        match next {
            Next::Same => {
                if let Some(why) = &self.hold
                    && !payout.is_held_for(why)
                {
                    page.payout(Some(payout), payout.held(why.clone(), None, now));
                }
            }
            Next::Seen(inclusion) => page.payout(Some(payout), payout.seen(*inclusion, now)),
            Next::Confirmed { inclusion, is_final } => {
                let mut row = payout.clone();
                if row.state == PayoutState::Submitted {
                    let confirmed = row.confirmed(*inclusion, now)?;
                    page.payout(Some(&row), confirmed.clone());
                    row = confirmed;
                } else if row.inclusion != Some(*inclusion) {
                    let seen = row.seen(Some(*inclusion), now);
                    page.payout(Some(&row), seen.clone());
                    row = seen;
                }
                if *is_final {
                    page.payout(Some(&row), row.finalized(now));
                }
            }
            Next::Reorganised(inclusion) => {
                let back = payout.reorganised(now)?;
                page.note("payout.reorganised", payout.id, json!({"was": payout.inclusion}));
                page.payout(Some(payout), back.clone());
                if inclusion.is_some() {
                    page.payout(Some(&back), back.seen(*inclusion, now));
                }
            }
            Next::Found(inclusion) => page.found_paid(payout, *inclusion, now)?,
            Next::Failed(reason) => {
                let mut row = payout.clone();
                if row.state == PayoutState::Confirmed {
                    row = row.reorganised(now)?;
                    page.payout(Some(payout), row.clone());
                }
                if let Some(day) = row.budget_day {
                    for budget in budgets(&*payer.store, &row.request, day).await? {
                        let budget = page.planned(budget);
                        page.budget(budget.without(row.request.amount));
                    }
                }
                page.payout(Some(&row), row.failed(reason.clone(), now)?);
            }
            Next::Again => {
                let mut row = payout.clone();
                if row.state == PayoutState::Confirmed {
                    row = row.reorganised(now)?;
                    page.payout(Some(payout), row.clone());
                }
                if row.inclusion.is_some() {
                    page.payout(Some(&row), row.seen(None, now));
                }
                let lane = PayNames::payout_lane(payout.id)?;
                page.note("payout.again", payout.id, json!({"after": payout.intent}));
                page.job(NewJob::new(payer.names.submit.clone(), lane, "{}"));
            }
        }
        Ok(())
    }
}

/// Somebody else has sent with this key: nothing is signed any more until a person decides.
async fn halt(payer: &Payer, page: &mut Page, intent: &Intent, now: Timestamp) -> Result<(), PayError> {
    let id = intent.id;
    let Some(signer) = payer.store.signer(id.chain, id.signer).await? else { return Ok(()) };
    if signer.halted.is_some() {
        return Ok(());
    }
    let why = format!(
        "nonce {} was used by a transaction that is not stored here: the key is used elsewhere",
        id.nonce
    );
    tracing::error!(signer = %id.signer, nonce = id.nonce, "{why}");
    page.note("signer.halted", id.signer, json!({"nonce": id.nonce}));
    page.write(Write::Pay(PayWrite::Signer(signer.halted(Some(why), now))));
    Ok(())
}

/// Decides what follows.
pub(super) fn decide(heights: Heights, intent: Intent, payouts: Vec<Payout>, evidence: Evidence) -> Step {
    let mut step = Step { inclusion: intent.inclusion, intent: Some(intent), ..Step::again() };
    match evidence {
        Evidence::Mined { inclusion, records } => {
            let number = inclusion.block.number;
            let is_paid =
                !records.is_empty() && records.iter().all(|record| record.status == VaultStatus::Paid);
            // A node that shows a receipt, and a vault that knows nothing of it, is not believed.
            let is_confirmed = is_paid && number <= heights.last_confirmed.max(heights.last_final);
            let is_final = is_paid && number <= heights.last_final;
            step.inclusion = Some(inclusion);
            if is_final {
                step.state = IntentState::Mined;
                step.is_followed_on = false;
            }
            step.payouts =
                payouts.into_iter().map(|payout| mined(payout, inclusion, is_confirmed, is_final)).collect();
        }
        Evidence::Reverted { inclusion, records, found } => {
            step.inclusion = Some(inclusion);
            if inclusion.block.number <= heights.last_final && !records.is_empty() {
                step.state = IntentState::Reverted;
                step.is_followed_on = false;
                let is_alone = payouts.len() == 1;
                let told = |transaction: B256| format!("transaction {transaction} was reverted");
                step.payouts = unpaid(payouts, &records, &found, |_| match is_alone {
                    true => Next::Failed(told(inclusion.transaction)),
                    false => Next::Again,
                });
            } else {
                step.payouts = payouts.into_iter().map(|payout| gone(payout, Some(inclusion))).collect();
            }
        }
        Evidence::NonceUsed { records, found } => {
            step.state = IntentState::Displaced;
            step.inclusion = None;
            step.is_followed_on = false;
            step.is_displaced = !records.iter().all(|record| record.status == VaultStatus::Paid);
            step.payouts = unpaid(payouts, &records, &found, |_| Next::Again);
        }
        Evidence::Missing { is_gone, is_next } => {
            let was_included = step.inclusion.is_some();
            if is_gone || !was_included {
                step.inclusion = None;
                step.is_to_be_sent = true;
                step.is_next = is_next;
                step.payouts = payouts.into_iter().map(|payout| gone(payout, None)).collect();
            } else {
                // Its block is there, or cannot be seen now: it stays where it was.
                step.payouts = payouts.into_iter().map(|payout| (payout, Next::Same)).collect();
            }
        }
    }
    step
}

fn mined(payout: Payout, inclusion: Inclusion, is_confirmed: bool, is_final: bool) -> (Payout, Next) {
    let is_known = payout.inclusion == Some(inclusion);
    let next = match payout.state {
        _ if payout.finalized_at.is_some() => Next::Same,
        PayoutState::Submitted | PayoutState::Confirmed if is_final => {
            Next::Confirmed { inclusion, is_final }
        }
        PayoutState::Submitted if is_confirmed => Next::Confirmed { inclusion, is_final },
        PayoutState::Confirmed if is_confirmed && is_known => Next::Same,
        PayoutState::Confirmed if is_confirmed => Next::Confirmed { inclusion, is_final },
        // In another block than the one it was confirmed in, and that one is not deep enough.
        PayoutState::Confirmed if !is_known => Next::Reorganised(Some(inclusion)),
        PayoutState::Submitted if !is_known => Next::Seen(Some(inclusion)),
        _ => Next::Same,
    };
    (payout, next)
}

/// It is not paid in a block that the chain has.
fn gone(payout: Payout, inclusion: Option<Inclusion>) -> (Payout, Next) {
    let next = match payout.state {
        PayoutState::Confirmed if payout.finalized_at.is_none() => Next::Reorganised(inclusion),
        PayoutState::Submitted if payout.inclusion != inclusion => Next::Seen(inclusion),
        _ => Next::Same,
    };
    (payout, next)
}

/// The transaction is over without having paid: what the vault says decides for each payout.
fn unpaid(
    payouts: Vec<Payout>,
    records: &[VaultRecord],
    found: &[Option<Inclusion>],
    otherwise: impl Fn(&Payout) -> Next,
) -> Vec<(Payout, Next)> {
    let told = records.iter().zip(found);
    let next = |payout: &Payout, record: &VaultRecord, found: &Option<Inclusion>| match (record.status, found)
    {
        _ if payout.finalized_at.is_some() || payout.state.is_end() => Next::Same,
        (VaultStatus::Paid, Some(inclusion)) => Next::Found(*inclusion),
        // Its event is not to be had now; the submitter asks again.
        (VaultStatus::Paid, None) => Next::Again,
        (VaultStatus::Cancelled, _) => Next::Failed("the request was cancelled on the vault".to_owned()),
        (VaultStatus::Unknown, _) => otherwise(payout),
    };
    payouts
        .into_iter()
        .zip(told)
        .map(|(payout, (record, found))| {
            let next = next(&payout, record, found);
            (payout, next)
        })
        .collect()
}
