//! Payouts that cannot be found by their request ids: somebody has written another one into the row, or the
//! row cannot be read. An event of such a payout is not a payment that nobody knows.

use std::collections::BTreeSet;

use serde::Deserialize;
use windlass_core::chain::{Address, B256, ChainId, U256};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::RowId;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE, PayoutQuery, Payouts};

use crate::pay::ledger::Ledger;

/// The request ids of payouts whose rows were refused. All payouts are read for it, once at most, and only
/// when the vault tells of a request that is not stored.
#[derive(Debug, Default)]
pub(super) struct Misfiled {
    found: Option<BTreeSet<B256>>,
}

impl Misfiled {
    /// Whether a request is one of a payout whose row was refused.
    pub(super) async fn hides(&mut self, ledger: &Ledger, request: B256) -> StoreResult<bool> {
        let found = match self.found.take() {
            Some(found) => found,
            None => look(ledger).await?,
        };
        let hides = found.contains(&request);
        self.found = Some(found);
        Ok(hides)
    }
}

async fn look(ledger: &Ledger) -> StoreResult<BTreeSet<B256>> {
    let mut refused = BTreeSet::new();
    let mut query = PayoutQuery { limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
    loop {
        let page = ledger.check_page(&query).await?;
        refused.extend(page.refused.iter().map(|payout| (payout.id, payout.request.request_id())));
        match page.last(query.newest_first) {
            Some(last) => query.after = Some(last),
            None => break,
        }
    }
    let mut found: BTreeSet<B256> = refused.iter().map(|(_, request)| *request).collect();
    let removed = ledger.forgeries().into_iter().filter_map(|forgery| match forgery.row {
        RowId::Payout(id) => Some(id),
        _ => None,
    });
    let ids: BTreeSet<PayoutId> = removed.chain(refused.into_iter().map(|(id, _)| id)).collect();
    for id in ids {
        found.extend(asked_for(ledger, id).await?);
    }
    Ok(found)
}

/// The request of a payout, as the log tells it: its row may be gone, or cannot be read.
async fn asked_for(ledger: &Ledger, id: PayoutId) -> StoreResult<Option<B256>> {
    #[derive(Deserialize)]
    struct Asked {
        chain: ChainId,
        vault: Address,
        key: IdempotencyKey,
    }
    let query = AuditQuery { subject: Some(id.to_string()), after: 0, limit: MAX_PAYOUT_PAGE };
    let entries = ledger.audit_rows(&query).await?;
    let asked = entries.iter().find_map(|row| serde_json::from_str::<Asked>(&row.entry.detail).ok());
    Ok(asked.map(|Asked { chain, vault, key }| {
        let vault = VaultRef { chain, address: vault };
        let (token, to, amount) = (Address::ZERO, Address::ZERO, U256::ZERO);
        PayoutRequest { vault, token, to, amount, key }.request_id()
    }))
}
