//! Signed forms of transactions: each has to be its transaction, signed by its account. They carry
//! no code, for nobody else can sign them.

use std::collections::HashMap;
use std::sync::PoisonError;

use windlass_core::chain::B256;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::ledger::{Attempt, Forgery, ForgeryKind, Intent, IntentId, PayWrite, RowId};
use windlass_core::payout::store::Payouts;
use windlass_core::payout::transaction::{ReadTransaction, Transaction};

use super::Ledger;

/// Of so many signed forms it is remembered who has signed them.
const MAX_SIGNED: usize = 100_000;

impl Ledger {
    /// Every signed form of a transaction, in order: as many as it says, and each the same
    /// transaction, signed by its account.
    pub async fn attempts_of(&self, intent: &Intent) -> StoreResult<Vec<Attempt>> {
        let attempts = self.store.attempts(intent.id).await?;
        // Somebody may have signed another one since the transaction was read.
        let known = attempts.get(..intent.attempts as usize).unwrap_or(&attempts);
        let is_its = |intent: &Intent, attempt: &Attempt| self.is_signed_form(intent, attempt);
        let forgery = match wrong_form(intent, known, is_its) {
            None => self.surplus_form(intent, &attempts).await?,
            found => found,
        };
        match forgery {
            None => {
                self.mended_where(|row| is_form_of(row, intent.id));
                Ok(known.to_vec())
            }
            Some(forgery) => {
                self.refuse(&forgery);
                Err(StoreError::Forged(forgery.to_string()))
            }
        }
    }

    /// A form beyond those that the transaction says it has, and that nobody has signed since it was
    /// read: it would keep another one from being signed.
    async fn surplus_form(&self, intent: &Intent, attempts: &[Attempt]) -> StoreResult<Option<Forgery>> {
        let Some(surplus) = attempts.get(intent.attempts as usize) else { return Ok(None) };
        let is_changed = self.intent(intent.id).await?.is_none_or(|now| now.version != intent.version);
        let row = RowId::Attempt { intent: intent.id, number: surplus.number };
        Ok((!is_changed).then_some(Forgery { row, kind: ForgeryKind::Unnamed }))
    }

    /// Refuses signed forms of a transaction that is not there: they would keep it from being signed.
    pub(super) async fn refuse_forms_of_none(&self, id: IntentId) -> StoreResult<()> {
        let attempts = self.store.attempts(id).await?;
        // A transaction is written together with its first form.
        match attempts.first() {
            Some(form) if self.store.intent(id).await?.is_none() => {
                let row = RowId::Attempt { intent: id, number: form.number };
                self.refuse(&Forgery { row, kind: ForgeryKind::Unnamed });
            }
            Some(_) => {}
            None => self.mended_where(|row| is_form_of(row, id)),
        }
        Ok(())
    }

    /// Whether signed bytes are this transaction, by its account. Who has signed is found out once.
    fn is_signed_form(&self, intent: &Intent, attempt: &Attempt) -> bool {
        is_form(intent, attempt) && self.is_signed_by_its_account(intent.id, attempt)
    }

    fn is_signed_by_its_account(&self, id: IntentId, attempt: &Attempt) -> bool {
        let known = |signed: &HashMap<B256, IntentId>| signed.get(&attempt.hash) == Some(&id);
        if known(&self.signed.lock().unwrap_or_else(PoisonError::into_inner)) {
            return true;
        }
        let is_signed = is_signed_by(id, attempt);
        if is_signed {
            self.remember_signed(attempt.hash, id);
        }
        is_signed
    }

    /// What this process has signed itself need not be found out again.
    pub(super) fn know_signed(&self, commit: &Commit) {
        for write in &commit.writes {
            if let Write::Pay(PayWrite::Attempts(attempts)) = write {
                attempts.iter().for_each(|attempt| self.remember_signed(attempt.hash, attempt.intent));
            }
        }
    }

    fn remember_signed(&self, hash: B256, id: IntentId) {
        let mut signed = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        if signed.len() >= MAX_SIGNED {
            signed.clear();
        }
        signed.insert(hash, id);
    }
}

fn is_form_of(row: &RowId, id: IntentId) -> bool {
    matches!(row, RowId::Attempt { intent, .. } if *intent == id)
}

/// The first signed form of a transaction that is not what it should be: there are as many as the
/// transaction says, numbered from 1 on.
pub(in crate::pay) fn wrong_form(
    intent: &Intent,
    attempts: &[Attempt],
    is_its: impl Fn(&Intent, &Attempt) -> bool,
) -> Option<Forgery> {
    (1..=intent.attempts).find_map(|number| {
        let kind = match attempts.get(number as usize - 1).filter(|attempt| attempt.number == number) {
            None => ForgeryKind::Removed,
            Some(attempt) if attempt.is_unreadable() => ForgeryKind::Unreadable,
            Some(attempt) if !is_its(intent, attempt) => ForgeryKind::Altered,
            Some(_) => return None,
        };
        Some(Forgery { row: RowId::Attempt { intent: intent.id, number }, kind })
    })
}

/// Whether signed bytes are a form of a transaction, whoever has signed them. A form may allow another
/// amount of gas than the first one.
fn is_form(intent: &Intent, attempt: &Attempt) -> bool {
    let Ok((hash, transaction)) = Transaction::read(&attempt.raw) else { return false };
    hash == attempt.hash
        && (transaction.chain, transaction.nonce) == (intent.id.chain, intent.id.nonce)
        && transaction.to == Some(intent.to)
        && transaction.data == intent.data
        && transaction.fees == attempt.fees
}

fn is_signed_by(id: IntentId, attempt: &Attempt) -> bool {
    ReadTransaction::read(&attempt.raw).is_ok_and(|read| read.sender == id.signer)
}

/// Whether signed bytes are a form of a transaction that its account has signed.
pub(in crate::pay) fn is_signed_form(intent: &Intent, attempt: &Attempt) -> bool {
    is_form(intent, attempt) && is_signed_by(intent.id, attempt)
}
