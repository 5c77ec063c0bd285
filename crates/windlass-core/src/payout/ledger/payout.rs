//! A payout's row, and the steps it can take.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Inclusion, IntentId};
use crate::chain::B256;
use crate::payout::day::UtcDay;
use crate::payout::memo::{Memo, Reference};
use crate::payout::request::{PayoutId, PayoutRequest};
use crate::payout::state::PayoutState;
use crate::time::Timestamp;

/// A reason is cut to this many bytes before it is kept.
pub const MAX_REASON_BYTES: usize = 1_000;

/// A payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payout {
    /// Which.
    pub id: PayoutId,
    /// How often it was written.
    pub version: i64,
    /// What is asked for. Never changes.
    pub request: PayoutRequest,
    /// Who asked for it. Never changes.
    pub created_by: String,
    /// When. Never changes.
    pub created_at: Timestamp,
    /// The payout that ended without payment and is tried again by this one. Never changes.
    pub retry_of: Option<PayoutId>,
    /// What it is for, in the client's words. Never changes.
    pub memo: Option<Memo>,
    /// The client's identifier for it in another system. Never changes.
    pub reference: Option<Reference>,
    /// Where it stands.
    pub state: PayoutState,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// Why it was refused or has failed.
    pub reason: Option<String>,
    /// Why it waits, if it does.
    pub hold: Option<Hold>,
    /// The day whose budget holds room for it.
    pub budget_day: Option<UtcDay>,
    /// The transaction that is to pay it. None where the chain told of a payment that
    /// this database knows no transaction of.
    pub intent: Option<IntentId>,
    /// Where it was paid, as far as is known.
    pub inclusion: Option<Inclusion>,
    /// When it was first signed.
    pub submitted_at: Option<Timestamp>,
    /// When its block was deep enough.
    pub confirmed_at: Option<Timestamp>,
    /// When its block could no longer be reorganised.
    pub finalized_at: Option<Timestamp>,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow).
    #[serde(skip)]
    pub mac: B256,
}

/// Why a payout waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// In words.
    pub reason: String,
    /// Until when at least, where that is known.
    pub until: Option<Timestamp>,
}

/// A step that no payout can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("payout {id} is {from} and cannot become {to}")]
pub struct IllegalMove {
    /// Which payout.
    pub id: PayoutId,
    /// Where it stands.
    pub from: PayoutState,
    /// Where it was to go.
    pub to: PayoutState,
}

impl Payout {
    /// A payout that was just asked for.
    pub fn new(id: PayoutId, request: PayoutRequest, created_by: impl Into<String>, now: Timestamp) -> Self {
        Self {
            id,
            version: 1,
            request,
            created_by: created_by.into(),
            created_at: now,
            retry_of: None,
            memo: None,
            reference: None,
            state: PayoutState::PendingRisk,
            updated_at: now,
            reason: None,
            hold: None,
            budget_day: None,
            intent: None,
            inclusion: None,
            submitted_at: None,
            confirmed_at: None,
            finalized_at: None,
            mac: B256::ZERO,
        }
    }

    /// Every approval is there, and the day holds room for it.
    pub fn approved(&self, day: UtcDay, now: Timestamp) -> Result<Self, IllegalMove> {
        Ok(Self { budget_day: Some(day), hold: None, ..self.moved(PayoutState::Approved, now)? })
    }

    /// It will not be made.
    pub fn rejected(&self, reason: impl Into<String>, now: Timestamp) -> Result<Self, IllegalMove> {
        let moved = self.moved(PayoutState::Rejected, now)?;
        Ok(Self { reason: Some(cut(reason.into())), hold: None, budget_day: None, ..moved })
    }

    /// It stays where it is for the time being.
    #[must_use]
    pub fn held(&self, reason: impl Into<String>, until: Option<Timestamp>, now: Timestamp) -> Self {
        Self { hold: Some(Hold { reason: cut(reason.into()), until }), ..self.next(now) }
    }

    /// It stays where it is, and waits for nothing any more.
    #[must_use]
    pub fn released(&self, now: Timestamp) -> Self {
        Self { hold: None, ..self.next(now) }
    }

    /// Whether it waits for this already; figures in the words apart, which change with every look.
    pub fn is_held_for(&self, reason: &str) -> bool {
        let is_word = |letter: &char| !letter.is_ascii_digit() && *letter != '.';
        let words = |text: &str| text.chars().filter(is_word).collect::<String>();
        self.hold.as_ref().is_some_and(|hold| words(&hold.reason) == words(&cut(reason.to_owned())))
    }

    /// Whether the row `next`, which holds it, says anything else than this one: another reason or
    /// another time, or other figures once this row is `refresh` old.
    pub fn is_held_otherwise(&self, next: &Self, refresh: Duration) -> bool {
        let (Some(now), Some(then)) = (&next.hold, &self.hold) else { return true };
        let is_old = next.updated_at > self.updated_at.after(refresh);
        now.until != then.until || !self.is_held_for(&now.reason) || (is_old && now.reason != then.reason)
    }

    /// Something that belongs to it is written with this row, and nobody else's at the same time.
    #[must_use]
    pub fn touched(&self, now: Timestamp) -> Self {
        self.next(now)
    }

    /// A signed transaction for it is stored with this row, on the budget of `day`.
    pub fn submitted(&self, intent: IntentId, day: UtcDay, now: Timestamp) -> Result<Self, IllegalMove> {
        let moved = self.moved(PayoutState::Submitted, now)?;
        let submitted_at = self.submitted_at.or(Some(now));
        Ok(Self { intent: Some(intent), budget_day: Some(day), hold: None, submitted_at, ..moved })
    }

    /// The transaction that was to pay it is over without having paid; another takes its place.
    #[must_use]
    pub fn taken_over(&self, intent: IntentId, day: UtcDay, now: Timestamp) -> Self {
        let (intent, budget_day) = (Some(intent), Some(day));
        Self { intent, budget_day, inclusion: None, hold: None, ..self.next(now) }
    }

    /// The chain tells of its payment, whoever sent it.
    pub fn found_paid(&self, inclusion: Inclusion, day: UtcDay, now: Timestamp) -> Result<Self, IllegalMove> {
        let moved = self.moved(PayoutState::Submitted, now)?;
        let submitted_at = self.submitted_at.or(Some(now));
        Ok(Self { inclusion: Some(inclusion), budget_day: Some(day), hold: None, submitted_at, ..moved })
    }

    /// It is in a block, or no longer in the one it was in.
    #[must_use]
    pub fn seen(&self, inclusion: Option<Inclusion>, now: Timestamp) -> Self {
        Self { inclusion, ..self.next(now) }
    }

    /// Its block is deep enough.
    pub fn confirmed(&self, inclusion: Inclusion, now: Timestamp) -> Result<Self, IllegalMove> {
        let moved = self.moved(PayoutState::Confirmed, now)?;
        Ok(Self { inclusion: Some(inclusion), confirmed_at: Some(now), hold: None, ..moved })
    }

    /// Its block is gone before it was final.
    pub fn reorganised(&self, now: Timestamp) -> Result<Self, IllegalMove> {
        let moved = self.moved(PayoutState::Submitted, now)?;
        Ok(Self { inclusion: None, confirmed_at: None, ..moved })
    }

    /// Its transaction was reverted for good, or the vault has cancelled it.
    pub fn failed(&self, reason: impl Into<String>, now: Timestamp) -> Result<Self, IllegalMove> {
        let moved = self.moved(PayoutState::Failed, now)?;
        Ok(Self { reason: Some(cut(reason.into())), hold: None, budget_day: None, ..moved })
    }

    /// Nothing can undo its payment any more.
    #[must_use]
    pub fn finalized(&self, now: Timestamp) -> Self {
        Self { finalized_at: Some(now), hold: None, ..self.next(now) }
    }

    /// Its payment was final, and the chain no longer has it: it stays CONFIRMED, and says so, until
    /// an operator decides.
    #[must_use]
    pub fn payment_lost(&self, reason: impl Into<String>, now: Timestamp) -> Self {
        self.held(reason, None, now)
    }

    /// Its payment was final, and is final in another block since a reorg below finality.
    #[must_use]
    pub fn payment_moved(&self, inclusion: Inclusion, now: Timestamp) -> Self {
        Self { hold: None, inclusion: Some(inclusion), ..self.next(now) }
    }

    /// Whether its payment was final and is no longer in the chain.
    pub const fn is_payment_lost(&self) -> bool {
        self.finalized_at.is_some() && self.hold.is_some()
    }

    /// An operator has its stored transaction sent again, since the chain lost a payment that was
    /// final. The only way on from a final payment.
    pub fn resent(&self, now: Timestamp) -> Result<Self, IllegalMove> {
        let to = PayoutState::Submitted;
        if !self.is_payment_lost() || self.state != PayoutState::Confirmed {
            return Err(IllegalMove { id: self.id, from: self.state, to });
        }
        let next = self.next(now);
        Ok(Self { state: to, hold: None, inclusion: None, confirmed_at: None, finalized_at: None, ..next })
    }

    fn moved(&self, to: PayoutState, now: Timestamp) -> Result<Self, IllegalMove> {
        // What is final has no way back, although an earlier CONFIRMED has.
        if !self.state.leads_to(to) || self.finalized_at.is_some() {
            return Err(IllegalMove { id: self.id, from: self.state, to });
        }
        Ok(Self { state: to, ..self.next(now) })
    }

    fn next(&self, now: Timestamp) -> Self {
        Self { version: self.version + 1, updated_at: now, ..self.clone() }
    }
}

fn cut(mut text: String) -> String {
    // PostgreSQL cannot keep NUL.
    text.retain(|letter| letter != '\0');
    let end = (0..=MAX_REASON_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Address, BlockRef, ChainId, U256};
    use crate::payout::request::{IdempotencyKey, VaultRef};

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn payout() -> Payout {
        let request = PayoutRequest {
            vault: VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::repeat_byte(1) },
            token: Address::repeat_byte(2),
            to: Address::repeat_byte(3),
            amount: U256::from(5),
            key: IdempotencyKey::new("k").expect("a key"),
        };
        Payout::new(PayoutId::new(at(1), 7), request, "somebody", at(1))
    }

    fn intent() -> IntentId {
        IntentId { chain: ChainId::new(1).expect("an id"), signer: Address::repeat_byte(9), nonce: 4 }
    }

    fn inclusion() -> Inclusion {
        Inclusion { transaction: B256::repeat_byte(1), block: BlockRef { number: 8, hash: B256::ZERO } }
    }

    #[test]
    fn a_whole_life_counts_its_versions() {
        let day = UtcDay(3);
        let approved = payout().approved(day, at(2)).expect("approved");
        let held = approved.held("the vault is paused", None, at(3));
        let submitted = held.submitted(intent(), day.next(), at(4)).expect("submitted");
        assert_eq!((submitted.hold.clone(), submitted.budget_day), (None, Some(UtcDay(4))));
        let confirmed = submitted.confirmed(inclusion(), at(5)).expect("confirmed");
        let back = confirmed.reorganised(at(6)).expect("back");
        assert_eq!((back.inclusion, back.confirmed_at, back.submitted_at), (None, None, Some(at(4))));
        let again = back.confirmed(inclusion(), at(7)).expect("again").finalized(at(8));
        assert_eq!((again.version, again.updated_at), (8, at(8)));
        assert!(again.reorganised(at(9)).is_err(), "what is final stays");
        assert!(again.resent(at(9)).is_err(), "nothing was lost");
        let lost = again.payment_lost("its block is gone", at(9));
        assert!(lost.is_payment_lost() && lost.state == PayoutState::Confirmed);
        assert!(!lost.payment_moved(inclusion(), at(10)).is_payment_lost());
        let resent = lost.resent(at(10)).expect("sent again");
        assert_eq!((resent.state, resent.version), (PayoutState::Submitted, 10));
        assert_eq!((resent.inclusion, resent.confirmed_at, resent.finalized_at), (None, None, None));
    }

    #[test]
    fn ends_are_ends_and_give_their_budget_back() {
        let rejected = payout().rejected("no", at(2)).expect("rejected");
        assert_eq!(rejected.reason.as_deref(), Some("no"));
        assert_eq!(
            rejected.approved(UtcDay(1), at(3)).expect_err("an end").to_string(),
            format!("payout {} is REJECTED and cannot become APPROVED", rejected.id)
        );
        let submitted = payout().approved(UtcDay(1), at(2)).expect("approved");
        let submitted = submitted.submitted(intent(), UtcDay(1), at(3)).expect("submitted");
        let failed = submitted.failed("reverted", at(4)).expect("failed");
        assert_eq!(failed.budget_day, None);
        assert!(failed.confirmed(inclusion(), at(5)).is_err());
        assert!(payout().submitted(intent(), UtcDay(1), at(2)).is_err(), "nobody has said yes");
    }

    #[test]
    fn a_hold_is_written_again_for_other_words_times_and_old_figures() {
        let refresh = Duration::from_millis(100);
        let held = payout().held("1.5 of 2 USDC are left", None, at(10));
        let differs = |reason: &str, until: Option<i64>, now: i64| {
            held.is_held_otherwise(&held.held(reason, until.map(at), at(now)), refresh)
        };
        assert!(payout().is_held_otherwise(&held, refresh), "it was not held");
        assert!(!differs("1.5 of 2 USDC are left", None, 500));
        assert!(!differs("1 of 2 USDC are left", None, 110), "figures alone, and soon");
        assert!(differs("1 of 2 USDC are left", None, 111));
        assert!(differs("1.5 of 2 DAI are left", None, 11));
        assert!(differs("1.5 of 2 USDC are left", Some(7), 11));
    }

    #[test]
    fn reasons_are_cut_between_letters() {
        let long = "é".repeat(MAX_REASON_BYTES);
        let rejected = payout().rejected(format!("\0{long}"), at(2)).expect("rejected");
        assert_eq!(rejected.reason.expect("a reason").len(), MAX_REASON_BYTES);
    }
}
