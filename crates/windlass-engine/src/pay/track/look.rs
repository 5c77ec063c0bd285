//! What the chain tells of a transaction.

use windlass_core::chain::{B256, BlockHeader};
use windlass_core::payout::ledger::{
    Attempt, Inclusion, Intent, IntentId, IntentState, Payout, ReceiptSummary,
};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::{Call, NonceTag, TransactionReceipt};
use windlass_core::payout::vault::answer::{VaultRecord, VaultStatus};
use windlass_core::payout::vault::refusal::{RefusalKind, VaultRefusal};
use windlass_core::reader::{BlockTag, is_quorum};

use super::bump::Reception;
use super::decide::{Evidence, decide};
use super::step::Step;
use crate::pay::agreed::DISPUTED;
use crate::pay::agreement::{Told, counts};
use crate::pay::chain_trouble::SUBJECT;
use crate::pay::error::PayError;
use crate::pay::gas_limit::{is_out_of_gas, limit_of};
use crate::pay::payer::{Payer, Sight};

/// What the chain tells of a transaction, and what its payouts wait for.
struct Looked {
    evidence: Evidence,
    receipt: Option<ReceiptSummary>,
    hold: Option<String>,
}

/// A receipt whose block the chain has.
struct Seen {
    receipt: TransactionReceipt,
    header: BlockHeader,
    /// How many endpoints tell so alike, where they are enough for what cannot be undone; else 0.
    votes: usize,
    /// Whether something follows from it that takes enough endpoints.
    is_deciding: bool,
}

impl Seen {
    /// Why nothing follows from it yet, where endpoints are the reason.
    fn hold(&self, sight: &Sight) -> Option<String> {
        if self.is_deciding && self.votes == 0 {
            let hash = self.receipt.hash;
            return Some(format!(
                "{SUBJECT} do not agree about transaction {hash}, or too few of them answer"
            ));
        }
        sight.lasting_dispute.clone()
    }
}

/// Whether two receipts tell the same of a transaction.
fn is_alike(one: &TransactionReceipt, other: &TransactionReceipt) -> bool {
    let told = |receipt: &TransactionReceipt| (receipt.block, receipt.is_success, receipt.gas_used);
    told(one) == told(other)
}

impl Payer {
    /// Looks at a transaction and decides what follows.
    pub(super) async fn look(
        &self,
        sight: &Sight,
        id: IntentId,
        reception: Option<Reception>,
    ) -> Result<Step, PayError> {
        let intent = self.ledger.intent(id).await?;
        let intent =
            intent.ok_or_else(|| PayError::strange(id, "a job stands for it, and it is not there"))?;
        if intent.state != IntentState::Open {
            return Ok(Step::over());
        }
        let payouts = self.ledger.payouts(&intent.payouts).await?;
        if payouts.len() != intent.payouts.len() {
            return Err(PayError::strange(id, "it pays what is not there"));
        }
        let attempts = self.ledger.attempts_of(&intent).await?;
        let Looked { evidence, receipt, hold } = self.evidence(sight, &intent, &attempts, &payouts).await?;
        let decision = decide(sight.into(), &intent, &payouts, &evidence);
        let mut step = Step::of(intent, payouts, decision, receipt);
        let is_disputed = hold.is_none() && evidence.is_disputed(sight.into());
        step.hold = hold.or_else(|| is_disputed.then(|| DISPUTED.to_owned()));
        Ok(self.with_bump(sight, step, &attempts, reception).await)
    }

    async fn evidence(
        &self,
        sight: &Sight,
        intent: &Intent,
        attempts: &[Attempt],
        payouts: &[Payout],
    ) -> Result<Looked, PayError> {
        let used = self.used_nonces(sight, intent.id.signer).await?;
        if used.count <= intent.id.nonce {
            let is_next = used.count == intent.id.nonce;
            // A block that a receipt has named cannot hold it, where its nonce is free behind that block.
            let is_contradicted = intent.inclusion.is_some_and(|at| at.block.number <= sight.latest.number)
                && payouts.iter().all(|payout| payout.state == PayoutState::Submitted);
            let evidence = match is_contradicted {
                true => Evidence::Missing { is_gone: true, is_next },
                false => self.missing(sight, intent, is_next).await?,
            };
            return Ok(Looked { evidence, receipt: None, hold: used.dispute });
        }
        // Any form of it may be the one that was mined, the newest most likely.
        for attempt in attempts.iter().rev() {
            let Some(seen) = self.seen(sight, attempt, payouts).await? else { continue };
            let looked = match seen.receipt.is_success {
                true => Some(self.mined(sight, intent, attempt, payouts, seen).await?),
                false => self.reverted(sight, intent, attempt, payouts, seen).await?,
            };
            if let Some(looked) = looked {
                return Ok(looked);
            }
        }
        if self.is_used_up(sight, intent).await != Some(true) {
            let evidence = self.missing(sight, intent, false).await?;
            return Ok(Looked { evidence, receipt: None, hold: sight.lasting_dispute.clone() });
        }
        let records = self.agreed_of(sight, payouts).await?;
        let found = self.agreed_payments(sight.last_final, payouts, &records).await?;
        Ok(Looked { evidence: Evidence::NonceUsed { records, found }, receipt: None, hold: None })
    }

    async fn mined(
        &self,
        sight: &Sight,
        intent: &Intent,
        attempt: &Attempt,
        payouts: &[Payout],
        seen: Seen,
    ) -> Result<Looked, PayError> {
        let Seen { receipt, header, votes, is_deciding } = &seen;
        let inclusion = Inclusion { transaction: attempt.hash, block: receipt.block };
        let records = match *is_deciding && *votes > 0 {
            true => self.agreed_of(sight, payouts).await?,
            false => Vec::new(),
        };
        Ok(Looked {
            evidence: Evidence::Mined { inclusion, records },
            receipt: summary(intent, attempt, receipt, header.timestamp_s),
            hold: seen.hold(sight),
        })
    }

    /// Nothing where one endpoint at least knows better: then the receipt is a lie.
    async fn reverted(
        &self,
        sight: &Sight,
        intent: &Intent,
        attempt: &Attempt,
        payouts: &[Payout],
        seen: Seen,
    ) -> Result<Option<Looked>, PayError> {
        let Seen { receipt, header, votes, .. } = &seen;
        let inclusion = Inclusion { transaction: attempt.hash, block: receipt.block };
        let is_old = receipt.block.number <= sight.last_final;
        // That it was reverted is one node's word, unless two say so. Its nonce being used up, as endpoints
        // agree, is what makes sure that no form of it can still be mined.
        let is_used_up = match votes {
            _ if !is_old => None,
            0 | 1 => self.is_used_up(sight, intent).await,
            _ => Some(true),
        };
        if is_used_up == Some(false) {
            return Ok(None);
        }
        let is_final = is_used_up == Some(true) && *votes > 0;
        let mut records = if is_final { self.agreed_of(sight, payouts).await? } else { Vec::new() };
        let why = if is_final { self.revert_of(intent, receipt.block.number).await } else { None };
        if why.as_ref().is_some_and(|why| why.kind == RefusalKind::AlreadyPaid)
            && records.iter().all(|record| record.status != VaultStatus::Paid)
        {
            // Who says so contradicts itself: without records nothing ends.
            records.clear();
        }
        let found = self.agreed_payments(sight.last_final, payouts, &records).await?;
        let has_run_out = is_out_of_gas(receipt.gas_used, limit_of(intent, attempt));
        let is_short_of_gas =
            is_final && has_run_out && self.reverts_of(&intent.payouts).await?.may_try_again();
        let why = match has_run_out {
            true => Some("it ran out of gas".to_owned()),
            false => why.map(|why| why.to_string()),
        };
        Ok(Some(Looked {
            evidence: Evidence::Reverted { inclusion, records, found, why, is_short_of_gas },
            receipt: summary(intent, attempt, receipt, header.timestamp_s),
            hold: seen.hold(sight),
        }))
    }

    /// The receipt of a form, if its block is one that the chain has. One endpoint's word is enough to show
    /// where it is; each endpoint is asked where something follows that cannot be undone, or is told to others.
    async fn seen(
        &self,
        sight: &Sight,
        attempt: &Attempt,
        payouts: &[Payout],
    ) -> Result<Option<Seen>, PayError> {
        let Some(first) = self.chain.receipt(attempt.hash).await? else { return Ok(None) };
        let is_deciding = |number: u64| {
            let is_known = |payout: &Payout| {
                payout.state == PayoutState::Confirmed
                    && payout.inclusion.is_some_and(|at| at.block.number == number)
            };
            number <= sight.last_final || (number <= sight.last_confirmed && !payouts.iter().all(is_known))
        };
        let number = first.block.number;
        if !is_deciding(number)
            && let Some(there) = self.canonical_header(sight, number).await?
            && there.header.hash == first.block.hash
        {
            return Ok(Some(Seen { receipt: first, header: there.header, votes: 0, is_deciding: false }));
        }
        let told = Told::of(self.chain.receipt_from_each(attempt.hash).await)?;
        let receipts: Vec<TransactionReceipt> =
            told.answers.into_iter().filter_map(|(_, receipt)| receipt).collect();
        let mut found: Option<Seen> = None;
        for receipt in &receipts {
            // A receipt of a block that the chain does not have is a lie, or history.
            let there = self.canonical_header(sight, receipt.block.number).await?;
            let Some(there) = there.filter(|there| there.header.hash == receipt.block.hash) else { continue };
            let alike = receipts.iter().filter(|other| is_alike(receipt, other)).count();
            let votes = if there.is_agreed && is_quorum(alike, told.asked) { alike } else { 0 };
            if found.as_ref().is_none_or(|found| found.votes < votes) {
                let is_deciding = is_deciding(receipt.block.number);
                found = Some(Seen { receipt: receipt.clone(), header: there.header, votes, is_deciding });
            }
        }
        Ok(found)
    }

    /// Which error a transaction of a block was reverted with: its call made again in the state
    /// before the block, and in the state after it. `None` where too few endpoints have them, or they do not
    /// say the same.
    async fn revert_of(&self, intent: &Intent, block: u64) -> Option<VaultRefusal> {
        let call = Call { from: intent.id.signer, to: Some(intent.to), data: intent.data.clone() };
        for block in [block.saturating_sub(1), block] {
            if let Some(Some(refusal)) = self.agreed_refusal(&call, BlockTag::Number(block)).await {
                return Some(refusal);
            }
        }
        None
    }

    /// No form of it is in a block, as far as can be told.
    async fn missing(&self, sight: &Sight, intent: &Intent, is_next: bool) -> Result<Evidence, PayError> {
        let is_gone = match intent.inclusion {
            None => false,
            // Only another block in the place of its own proves that it is gone.
            Some(at) => {
                let hash = self.canonical(sight, at.block.number).await?;
                hash.is_some_and(|hash| hash != at.block.hash)
            }
        };
        Ok(Evidence::Missing { is_gone, is_next })
    }

    /// Whether its nonce is used up in a final block: more endpoints have to say so than say otherwise, and
    /// enough of them, of that block and of the newest one. `None` where that cannot be told.
    async fn is_used_up(&self, sight: &Sight, intent: &Intent) -> Option<bool> {
        let mut is_certain = true;
        for block in [sight.last_final, sight.latest.number] {
            let at = NonceTag::Block(BlockTag::Number(block));
            let told = match counts(&*self.chain, intent.id.signer, at).await {
                Ok(told) => told,
                Err(error) => {
                    tracing::debug!(intent = %intent.id, %error, "whether its nonce is used cannot be told");
                    return None;
                }
            };
            let used = told.answers.iter().filter(|(_, used)| *used > intent.id.nonce).count();
            if used <= told.answers.len() - used {
                return Some(false);
            }
            is_certain &= is_quorum(used, told.asked);
        }
        is_certain.then_some(true)
    }

    /// The vault's word on payouts, at the newest block by its number: a node that has not got it yet says
    /// so, where it would answer "latest" with what it was. Nothing where too few endpoints say the same of
    /// one of them, and then nothing ends, by payment or without.
    async fn agreed_of(&self, sight: &Sight, payouts: &[Payout]) -> Result<Vec<VaultRecord>, PayError> {
        let ids: Vec<B256> = payouts.iter().map(|payout| payout.request.request_id()).collect();
        let below = sight.last_confirmed.max(sight.last_final);
        let agreed = self.agreed_records_behind(&ids, sight.latest.number, below).await?;
        let agreed: Option<Vec<VaultRecord>> = agreed.into_iter().collect();
        if agreed.is_none() {
            tracing::warn!(payouts = ids.len(), "{DISPUTED}; nothing ends until they do");
        }
        Ok(agreed.unwrap_or_default())
    }
}

/// What is kept of a receipt. An endpoint that claims more gas or a higher price than was signed
/// is not believed.
fn summary(
    intent: &Intent,
    attempt: &Attempt,
    receipt: &TransactionReceipt,
    block_timestamp_s: u64,
) -> Option<ReceiptSummary> {
    let effective_gas_price = receipt.effective_gas_price?;
    let is_within =
        receipt.gas_used <= limit_of(intent, attempt) && effective_gas_price <= attempt.fees.max_fee;
    if !is_within {
        tracing::warn!(
            transaction = %receipt.hash, receipt.gas_used, effective_gas_price,
            "an endpoint's receipt takes more gas or costs more than was signed; the fee is not kept"
        );
        return None;
    }
    Some(ReceiptSummary { gas_used: receipt.gas_used, effective_gas_price, block_timestamp_s })
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{Address, BlockRef};
    use windlass_testkit::make;

    use super::*;

    #[test]
    fn a_receipt_beyond_what_was_signed_is_not_believed() {
        let (intent, attempt) = (make::intent(1, &[]), make::attempt(1, 1));
        let attempt = Attempt {
            fees: windlass_core::payout::fees::GasFees { max_fee: 50, priority_fee: 1 },
            ..attempt
        };
        let told = |gas_used, effective_gas_price| {
            let block = BlockRef { number: 8, hash: B256::ZERO };
            let contract: Option<Address> = None;
            let receipt = TransactionReceipt {
                hash: attempt.hash,
                block,
                is_success: true,
                gas_used,
                effective_gas_price,
                contract,
            };
            summary(&intent, &attempt, &receipt, 7)
        };
        let limit = intent.gas_limit;
        let known = ReceiptSummary { gas_used: limit, effective_gas_price: 50, block_timestamp_s: 7 };
        assert_eq!(told(limit, Some(50)), Some(known));
        assert_eq!(told(limit + 1, Some(50)), None);
        assert_eq!(told(limit, Some(51)), None);
        assert_eq!(told(limit, None), None, "the endpoint does not tell the price");
    }
}
