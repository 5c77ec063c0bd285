//! Which payouts go into which transaction: asked of the vault before anything is signed.
//!
//! Payouts of a token are tried together first, in one call that changes nothing, so that
//! their sum is held against the vault's balance and its day's limit.

use windlass_core::chain::{Address, Bytes, U256};
use windlass_core::payout::ledger::OpenTotalLimit;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::{Call, CallOutcome};
use windlass_core::payout::vault::approval::{Approval, digest};
use windlass_core::payout::vault::calldata::{self, BatchError, VaultPayout};
use windlass_core::payout::vault::refusal::VaultRefusal;
use windlass_core::reader::BlockTag;

use super::check::{Checked, Fate};
use super::{Submitter, Taken};
use crate::pay::error::PayError;
use crate::pay::means::Asked;
use crate::pay::vault::{ApprovalTerms, Payable};

/// Errors that are about one request and no other time: nothing else ends a payout that the
/// vault would not pay. A token that is paused, an account that is no operator and whatever
/// nobody knows may pass.
const ENDING: [&str; 4] = ["RecipientDenied", "InvalidRecipient", "AmountIsZero", "PayoutLimitExceeded"];

/// The vault's word that it pays nobody.
const PAUSED: &str = "EnforcedPause";

/// A payout with the approval that the vault asks for.
pub(super) struct Item {
    pub(super) taken: Taken,
    pub(super) approval: Option<Approval>,
}

/// Payouts of one token that the vault would pay together.
pub(super) struct Grouped {
    pub(super) checked: Checked,
    pub(super) groups: Vec<Vec<Item>>,
}

impl Grouped {
    /// How many wait, and how many are over.
    pub(super) fn counts(&self) -> (usize, usize) {
        let waits = |(_, fate): &&(Taken, Fate)| matches!(fate, Fate::Wait { .. });
        let held = self.checked.settled.iter().filter(waits).count();
        (held, self.checked.settled.len() - held)
    }
}

impl Submitter {
    pub(super) async fn group(&self, mut checked: Checked) -> Result<Grouped, PayError> {
        let ready = std::mem::take(&mut checked.ready);
        if ready.is_empty() {
            return Ok(Grouped { checked, groups: Vec::new() });
        }
        let terms = self.payer.approval_terms().await?;
        let mut by_token: Vec<(Address, Vec<Item>)> = Vec::new();
        for taken in ready {
            let approval = match terms {
                None => None,
                Some(terms) => match self.approve(&taken, terms, &checked).await? {
                    Ok(approval) => Some(approval),
                    Err(fate) => {
                        checked.settled.push((taken, fate));
                        continue;
                    }
                },
            };
            let token = taken.payout.request.token;
            let item = Item { taken, approval };
            match by_token.iter_mut().find(|(other, _)| *other == token) {
                Some((_, items)) => items.push(item),
                None => by_token.push((token, vec![item])),
            }
        }
        let mut groups = Vec::new();
        for (token, items) in by_token {
            let mut rest = self.within_means(token, items, &mut checked).await?;
            while !rest.is_empty() {
                let behind = rest.split_off(rest.len().min(calldata::MAX_BATCH));
                let payable = self.payable(rest, &mut checked).await?;
                if !payable.is_empty() {
                    groups.push(payable);
                }
                rest = behind;
            }
        }
        Ok(Grouped { checked, groups })
    }

    /// Those that the vault can pay besides what is on its way: of that a call that is tried
    /// out knows nothing yet.
    async fn within_means(
        &self,
        token: Address,
        items: Vec<Item>,
        checked: &mut Checked,
    ) -> Result<Vec<Item>, PayError> {
        let vault = self.payer.options.vault;
        let on_its_way = self.payer.ledger.open_total(vault, token).await?;
        let sum_of = |items: &mut dyn Iterator<Item = &Item>| {
            items.fold(U256::ZERO, |sum, item| sum.saturating_add(item.taken.payout.request.amount))
        };
        // What is to be signed anew counts as on its way already.
        let is_again = |item: &&Item| item.taken.payout.state == PayoutState::Submitted;
        let mut claimed = on_its_way.saturating_sub(sum_of(&mut items.iter().filter(is_again)));
        let wanted = claimed.saturating_add(sum_of(&mut items.iter()));
        let mut payable = self.payer.payable(token, Asked::One).await?;
        if payable.is_ok_and(|payable| payable.balance.min(payable.left_today) < wanted) || payable.is_err() {
            payable = self.payer.payable(token, Asked::Each).await?;
        }
        let payable = match payable {
            Ok(payable) => payable,
            Err(reason) => {
                let held = items.into_iter().map(|item| (item.taken, Fate::wait(reason)));
                checked.settled.extend(held);
                return Ok(Vec::new());
            }
        };
        let limit = payable.balance.min(payable.left_today);
        checked.limits.push(OpenTotalLimit { vault, token, limit });
        let mut within = Vec::with_capacity(items.len());
        for item in items {
            let amount = item.taken.payout.request.amount;
            match self.shortage(token, payable, claimed, amount) {
                Some(reason) => checked.settled.push((item.taken, Fate::wait(reason))),
                None => {
                    claimed = claimed.saturating_add(amount);
                    within.push(item);
                }
            }
        }
        Ok(within)
    }

    /// Why the vault cannot pay an amount besides what earlier payouts have claimed, if so.
    fn shortage(&self, token: Address, payable: Payable, claimed: U256, amount: U256) -> Option<String> {
        let Payable { balance, left_today } = payable;
        let shown = |units| self.payer.options.shown(token, units);
        let needed = claimed.saturating_add(amount);
        let (has, mend) = if needed > balance {
            let missing = shown(needed.saturating_sub(balance));
            (format!("the vault holds {}", shown(balance)), format!("send it {missing} more"))
        } else if needed > left_today {
            let has = format!("the vault's day limit leaves {} today", shown(left_today));
            (has, "it waits for the next UTC day, or for a higher limit".to_owned())
        } else {
            return None;
        };
        let (claimed, amount) = (shown(claimed), shown(amount));
        Some(format!("{has}, {claimed} are claimed by earlier payouts, and this one takes {amount}: {mend}"))
    }

    /// The approval that the vault asks for; or why it cannot be had.
    async fn approve(
        &self,
        taken: &Taken,
        terms: ApprovalTerms,
        checked: &Checked,
    ) -> Result<Result<Approval, Fate>, PayError> {
        let Some(wanted) = terms.signer else {
            return Ok(Err(Fate::wait(
                "the vault's risk signer was revoked: it pays nothing until another is set",
            )));
        };
        let signer = self.payer.risk_signer.as_ref().filter(|signer| signer.address() == wanted);
        let Some(signer) = signer else {
            return Ok(Err(Fate::wait(format!(
                "the vault wants approvals of {wanted}, whose key is not here"
            ))));
        };
        let deadline = checked.now.after(self.payer.options.approval_ttl);
        let deadline_s = u64::try_from(deadline.as_ms() / 1_000).unwrap_or(0);
        let digest = digest(self.payer.options.vault, &vault_payout(taken), terms.nonce, deadline_s);
        let signature = signer.sign_hash(digest).await?;
        Ok(Ok(Approval::new(terms.nonce, deadline_s, &signature)))
    }

    /// Those of a group that the vault would pay together; the others are settled.
    async fn payable(&self, mut items: Vec<Item>, checked: &mut Checked) -> Result<Vec<Item>, PayError> {
        while !items.is_empty() {
            let data = calldata_of(&items).map_err(|error| PayError::strange("a batch", error))?;
            let call = self.call(data);
            let tried = self.payer.chain.call(&call, BlockTag::Latest).await?;
            let CallOutcome::Reverted { data, message } = tried else {
                return Ok(items);
            };
            let mut refusal = VaultRefusal::read(&data, &message);
            let agreed = self.payer.agreed_refusal(&call, BlockTag::Latest).await;
            let is_agreed = agreed.is_some();
            match agreed {
                // It was one endpoint's word, and others would have the vault pay them.
                Some(None) => return Ok(items),
                Some(Some(agreed)) => refusal = agreed,
                None => {}
            }
            let named = refusal
                .request_id
                .and_then(|id| items.iter().position(|item| item.taken.payout.request.request_id() == id));
            let is_about_one = items.len() == 1 || named.is_some();
            if is_about_one {
                let item = items.remove(named.unwrap_or(0));
                Self::settle_refused(item.taken, is_agreed, &refusal, checked);
            } else if refusal.name == PAUSED {
                let all = items.drain(..);
                checked.settled.extend(all.map(|item| (item.taken, Fate::wait(held_by(&refusal)))));
            } else {
                // Together they are too many, or one of them is at fault without a name: half of
                // them is tried now, the other half next time.
                let later = items.split_off(items.len() / 2);
                checked.settled.extend(later.into_iter().map(|item| (item.taken, Fate::Later)));
            }
        }
        Ok(items)
    }

    /// The vault would refuse a payout. It ends only where enough endpoints say so of this very payout.
    fn settle_refused(taken: Taken, is_agreed: bool, refusal: &VaultRefusal, checked: &mut Checked) {
        let fate = if !ENDING.contains(&refusal.name.as_str()) {
            Fate::wait(held_by(refusal))
        } else if is_agreed {
            Self::free(checked, &taken.payout);
            Fate::End { reason: format!("the vault would refuse it: {refusal}") }
        } else {
            Fate::wait(format!(
                "the endpoints do not agree whether the vault refuses it, or too few of them answer: {refusal}"
            ))
        };
        checked.settled.push((taken, fate));
    }

    /// A call of the vault by this account.
    pub(super) fn call(&self, data: Bytes) -> Call {
        Call { from: self.signer.address(), to: Some(self.payer.options.vault.address), data }
    }
}

/// Why a payout waits for the vault.
pub(super) fn held_by(refusal: &VaultRefusal) -> String {
    format!("the vault refuses it now: {refusal}")
}

fn vault_payout(taken: &Taken) -> VaultPayout {
    let request = &taken.payout.request;
    VaultPayout {
        request_id: request.request_id(),
        token: request.token,
        to: request.to,
        amount: request.amount,
    }
}

/// The call that pays these, together if they are several.
pub(super) fn calldata_of(items: &[Item]) -> Result<Bytes, BatchError> {
    if let [item] = items {
        let payout = vault_payout(&item.taken);
        return Ok(match &item.approval {
            None => calldata::payout(&payout),
            Some(approval) => calldata::payout_with_approval(&payout, approval),
        });
    }
    let approved: Option<Vec<(VaultPayout, Approval)>> =
        items.iter().map(|item| Some((vault_payout(&item.taken), item.approval.clone()?))).collect();
    match approved {
        Some(approved) => calldata::payout_batch_with_approvals(&approved),
        None => {
            let payouts: Vec<VaultPayout> = items.iter().map(|item| vault_payout(&item.taken)).collect();
            calldata::payout_batch(&payouts)
        }
    }
}
