//! Every signed form against its transaction: as many as the transaction says, each the same call and
//! signed by its account. A form carries no code, for nobody else can sign it.
//!
//! Who has signed is found out for each form, which is most of what a comparison costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{Attempt, Forgery, ForgeryKind, Intent, IntentId, RowId};
use windlass_core::payout::store::MAX_PAYOUT_PAGE;
use windlass_core::store::Store;

use super::Compared;
use crate::pay::ledger::{is_signed_form, wrong_form};

/// Compares the signed forms of every transaction, and names those of none.
pub(super) async fn compare(store: &Arc<dyn Store>, compared: &mut Compared<'_>) -> StoreResult<()> {
    let mut forms = FormReader { store, after: None, read: BTreeMap::new(), is_read: false };
    let mut after = None;
    loop {
        let intents = store.list_intents(after, MAX_PAYOUT_PAGE).await?;
        let Some(last) = intents.last() else { break };
        after = Some(last.id);
        forms.read_through(last.id).await?;
        for intent in &intents {
            // A transaction of before is behind: its forms are not those of this one.
            compared.orphans(store, forms.before(intent.id)).await?;
            let attempts = forms.read.remove(&intent.id).unwrap_or_default();
            compared.rows += attempts.len() as u64;
            if compared.key.is_authentic(intent) && wrong(intent, &attempts).is_some() {
                // Somebody may have signed another form between the two looks.
                compared.recheck(store, intent.id).await?;
            }
        }
    }
    forms.read_all().await?;
    compared.orphans(store, forms.read).await
}

/// What is wrong with the signed forms of a transaction: one that is not what it should be, or one too many.
fn wrong(intent: &Intent, attempts: &[Attempt]) -> Option<Forgery> {
    let too_many = || {
        let extra = attempts.get(intent.attempts as usize)?;
        let row = RowId::Attempt { intent: intent.id, number: extra.number };
        Some(Forgery { row, kind: ForgeryKind::Unnamed })
    };
    wrong_form(intent, attempts, is_signed_form).or_else(too_many)
}

impl Compared<'_> {
    /// Forms of transactions that were not there, and may have been signed since.
    async fn orphans(
        &mut self,
        store: &Arc<dyn Store>,
        forms: BTreeMap<IntentId, Vec<Attempt>>,
    ) -> StoreResult<()> {
        for (id, attempts) in forms {
            self.rows += attempts.len() as u64;
            if store.intent(id).await?.is_some() {
                self.recheck(store, id).await?;
                continue;
            }
            let number = attempts.first().map_or(1, |attempt| attempt.number);
            let row = RowId::Attempt { intent: id, number };
            self.forgeries.push(Forgery { row, kind: ForgeryKind::Unnamed });
        }
        Ok(())
    }

    /// Forms first, then their transaction: there are at least as many as it says, and one that was signed
    /// in between is looked for again.
    async fn recheck(&mut self, store: &Arc<dyn Store>, id: IntentId) -> StoreResult<()> {
        const LOOKS: u32 = 3;
        for look in 1..=LOOKS {
            let attempts = store.attempts(id).await?;
            let Some(intent) = store.intent(id).await? else { return Ok(()) };
            match wrong(&intent, &attempts) {
                Some(forgery) if look == LOOKS => self.forgeries.push(forgery),
                Some(_) => {}
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Reads signed forms page by page, along with their transactions.
struct FormReader<'a> {
    store: &'a Arc<dyn Store>,
    after: Option<(IntentId, u32)>,
    read: BTreeMap<IntentId, Vec<Attempt>>,
    is_read: bool,
}

impl FormReader<'_> {
    /// Reads on until every form of a transaction was read.
    async fn read_through(&mut self, id: IntentId) -> StoreResult<()> {
        while !self.is_read && self.after.is_none_or(|(last, _)| last <= id) {
            self.read_page().await?;
        }
        Ok(())
    }

    async fn read_all(&mut self) -> StoreResult<()> {
        while !self.is_read {
            self.read_page().await?;
        }
        Ok(())
    }

    async fn read_page(&mut self) -> StoreResult<()> {
        let page = self.store.list_attempts(self.after, MAX_PAYOUT_PAGE).await?;
        self.after = page.last().map(|attempt| (attempt.intent, attempt.number));
        self.is_read = page.is_empty();
        for attempt in page {
            self.read.entry(attempt.intent).or_default().push(attempt);
        }
        Ok(())
    }

    /// What was read of transactions before this one.
    fn before(&mut self, id: IntentId) -> BTreeMap<IntentId, Vec<Attempt>> {
        let rest = self.read.split_off(&id);
        std::mem::replace(&mut self.read, rest)
    }
}
