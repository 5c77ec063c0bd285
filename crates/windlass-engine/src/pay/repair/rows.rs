//! Rows that are made anew from others: sums of payouts, transactions of their signed forms,
//! accounts of their transactions.

use serde::Deserialize;
use windlass_core::chain::{Address, B256, ChainId, U256};
use windlass_core::error::StoreError;
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::ledger::{
    ApiKey, Attempt, Budget, BudgetKey, Inclusion, Intent, IntentId, IntentState, Payout, Role, RowId,
    SignerRow,
};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};
use windlass_core::payout::transaction::ReadTransaction;
use windlass_core::payout::vault::calldata::{VaultPayout, pays_exactly};
use windlass_core::time::Timestamp;

use super::{Evidence, RepairError, Repairer};
use crate::pay::audit_check::NamedVersion;

/// Where an entry says that a transaction stands.
#[derive(Debug, Deserialize)]
struct Ended {
    state: IntentState,
    inclusion: Option<Inclusion>,
}

/// The nonce that an entry says an account was to give out next.
#[derive(Debug, Deserialize)]
struct Begun {
    next_nonce: u64,
}

impl Repairer {
    /// A day's sum: of all payouts that count against it.
    pub(super) async fn sum(&self, key: BudgetKey, named: NamedVersion) -> Result<Budget, StoreError> {
        let counts = |payout: &Payout| {
            let request = &payout.request;
            payout.budget_day == Some(key.day)
                && (request.vault, request.token) == (key.vault, key.token)
                && key.to.is_none_or(|to| to == request.to)
        };
        let query = PayoutQuery { token: Some(key.token), to: key.to, ..PayoutQuery::default() };
        let payouts = self.payouts(query, counts).await?;
        let total = payouts.iter().fold(U256::ZERO, |sum, one| sum.saturating_add(one.request.amount));
        Ok(Budget { key, version: named.version + 1, total, mac: B256::ZERO })
    }

    /// Every verified payout of a query that is wanted.
    async fn payouts(
        &self,
        query: PayoutQuery,
        is_wanted: impl Fn(&Payout) -> bool,
    ) -> Result<Vec<Payout>, StoreError> {
        let mut query = PayoutQuery { limit: MAX_PAYOUT_PAGE, ..query };
        let mut wanted = Vec::new();
        loop {
            let page = self.ledger.list_payouts(&query).await?;
            query.after = page.last().map(|payout| payout.id);
            let is_last = page.len() < MAX_PAYOUT_PAGE as usize;
            wanted.extend(page.into_iter().filter(&is_wanted));
            if is_last {
                return Ok(wanted);
            }
        }
    }

    /// A transaction with the forms of it that its account has signed: those that are left.
    pub(super) async fn transaction(
        &self,
        id: IntentId,
        named: NamedVersion,
        entries: &[AuditRow],
        now: Timestamp,
    ) -> Result<(Intent, Vec<Attempt>), RepairError> {
        let unmendable = |why: &str| RepairError::Unmendable { row: RowId::Intent(id), why: why.to_owned() };
        let mut forms: Vec<(Attempt, ReadTransaction)> = Vec::new();
        for form in self.ledger.store().attempts(id).await? {
            let Ok(read) = ReadTransaction::read(&form.raw) else { continue };
            let is_its = read.sender == id.signer
                && (read.transaction.chain, read.transaction.nonce) == (id.chain, id.nonce)
                && forms.first().is_none_or(|(_, first)| {
                    let call = |read: &ReadTransaction| (read.transaction.to, read.transaction.data.clone());
                    call(first) == call(&read)
                });
            if is_its {
                let number = u32::try_from(forms.len() + 1).unwrap_or(u32::MAX);
                let fees = read.transaction.fees;
                forms.push((Attempt { number, hash: read.hash, fees, ..form }, read));
            }
        }
        let Some((_, read)) = forms.first() else {
            return match self.ledger.intent(id).await {
                Ok(Some(sound)) => Ok((without_forms(sound, named), Vec::new())),
                Ok(None) | Err(StoreError::Forged(_)) => Err(unmendable(
                    "neither its row nor a form that its account has signed is left; put it back from a backup, \
                     or pay from another account",
                )),
                Err(error) => Err(error.into()),
            };
        };
        let call = read.transaction.clone();
        let to = call.to.ok_or_else(|| unmendable("it calls nobody"))?;
        let payouts = self.paid_by(id, to, &call.data).await?;
        let payouts = payouts
            .ok_or_else(|| unmendable("its payouts are not those that it pays; put them right first"))?;
        let ended = entries.iter().rev().find_map(ended).filter(|_| !named.is_open);
        let intent = Intent {
            id,
            version: named.version + 1,
            to,
            data: call.data,
            gas_limit: call.gas_limit,
            payouts,
            created_at: forms.first().map_or(now, |(form, _)| form.created_at),
            state: ended.as_ref().map_or(IntentState::Open, |ended| ended.state),
            updated_at: now,
            attempts: u32::try_from(forms.len()).unwrap_or(u32::MAX),
            signed_at_block: 0,
            inclusion: ended.and_then(|ended| ended.inclusion),
            // The log does not hold it: the export leaves the fee of a repaired transaction empty.
            receipt: None,
            mac: B256::ZERO,
        };
        Ok((intent, forms.into_iter().map(|(form, _)| form).collect()))
    }

    /// The payouts whose rows name a transaction, if a call is their payment.
    async fn paid_by(
        &self,
        id: IntentId,
        vault: Address,
        data: &[u8],
    ) -> Result<Option<Vec<PayoutId>>, StoreError> {
        let names_it = |payout: &Payout| payout.intent == Some(id) && payout.request.vault.address == vault;
        let mut payouts = Vec::new();
        for state in [PayoutState::Submitted, PayoutState::Confirmed, PayoutState::Failed] {
            let query = PayoutQuery { state: Some(state), ..PayoutQuery::default() };
            payouts.extend(self.payouts(query, names_it).await?);
        }
        // A batch is put together in the order of ids.
        payouts.sort_unstable_by_key(|payout| payout.id);
        let items: Vec<VaultPayout> =
            payouts.iter().map(|payout| VaultPayout::from(&payout.request)).collect();
        let is_paid = !items.is_empty() && pays_exactly(data, &items);
        Ok(is_paid.then(|| payouts.iter().map(|payout| payout.id).collect()))
    }

    /// An account at the first nonce that none of its transactions has, halted.
    pub(super) async fn account(
        &self,
        chain: ChainId,
        address: Address,
        named: NamedVersion,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<SignerRow, StoreError> {
        let used = evidence.named.rows().filter_map(|row| match row {
            RowId::Intent(id) if (id.chain, id.signer) == (chain, address) => Some(id.nonce + 1),
            _ => None,
        });
        let begun = evidence.entries.iter().filter_map(|row| {
            let is_nonce = matches!(&*row.entry.action, "signer.begun" | "signer.resumed");
            let told = serde_json::from_str::<Begun>(&row.entry.detail).ok().filter(|_| is_nonce)?;
            Some(told.next_nonce)
        });
        let next_nonce = used.chain(begun).max().unwrap_or(0);
        let why = "its row was put right from the audit log: look at its transactions, then \
                   `windlass signer resume`";
        let row = SignerRow::new(chain, address, next_nonce, now);
        Ok(SignerRow { version: named.version + 1, halted: Some(why.to_owned()), ..row })
    }

    /// A key of that name which is worth nothing: the name is given to nobody else, and approvals
    /// under it do not count.
    pub(super) fn revoked_key(
        &self,
        name: &str,
        named: NamedVersion,
        entries: &[AuditRow],
        now: Timestamp,
    ) -> ApiKey {
        #[derive(Deserialize)]
        struct Made {
            role: Role,
        }
        let made = entries.iter().find(|row| row.entry.action == "key.created");
        let role = made.and_then(|row| serde_json::from_str::<Made>(&row.entry.detail).ok());
        let mut key = ApiKey {
            name: name.to_owned(),
            version: named.version + 1,
            role: role.map_or(Role::Viewer, |made| made.role),
            hash: B256::ZERO,
            created_at: made.map_or(now, |row| row.at),
            revoked_at: Some(now),
            mac: B256::ZERO,
        };
        // Some hash that no secret has, and no other key.
        key.hash = self.ledger.key().row_mac(&key);
        key
    }
}

/// A transaction whose row is right, and of which no signed form is left. The tracker signs the same call
/// with the same nonce again, unless the nonce is used up by then: the vault says what was paid.
fn without_forms(intent: Intent, named: NamedVersion) -> Intent {
    Intent { version: named.version + 1, attempts: 0, mac: B256::ZERO, ..intent }
}

fn ended(row: &AuditRow) -> Option<Ended> {
    let is_end = row.entry.action == "transaction.ended";
    serde_json::from_str(&row.entry.detail).ok().filter(|_| is_end)
}
