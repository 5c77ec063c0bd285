//! What the chain tells of a transaction.

use windlass_core::chain::B256;
use windlass_core::payout::ledger::{
    Attempt, Inclusion, Intent, IntentId, IntentState, Payout, ReceiptSummary,
};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::{Call, NonceTag, TransactionReceipt};
use windlass_core::payout::vault::answer::{VaultRecord, VaultStatus};
use windlass_core::payout::vault::refusal::{RefusalKind, VaultRefusal};
use windlass_core::reader::{BlockTag, EndpointAnswer, is_quorum};

use super::bump::Reception;
use super::decide::{Evidence, decide};
use super::step::Step;
use crate::pay::agreed::DISPUTED;
use crate::pay::error::PayError;
use crate::pay::payer::{Payer, Sight};

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
        let (evidence, receipt) = self.evidence(sight, &intent, &attempts, &payouts).await?;
        let decision = decide(sight.into(), &intent, &payouts, &evidence);
        let mut step = Step::of(intent, payouts, decision, receipt);
        if evidence.is_disputed(sight.into()) {
            step.hold = Some(DISPUTED.to_owned());
        }
        Ok(self.with_bump(sight, step, &attempts, reception).await)
    }

    async fn evidence(
        &self,
        sight: &Sight,
        intent: &Intent,
        attempts: &[Attempt],
        payouts: &[Payout],
    ) -> Result<(Evidence, Option<ReceiptSummary>), PayError> {
        let used = self.used_nonces(sight, intent.id.signer).await?;
        if used <= intent.id.nonce {
            let is_next = used == intent.id.nonce;
            // A block that a receipt has named cannot hold it, where its nonce is free behind that block.
            let is_contradicted = intent.inclusion.is_some_and(|at| at.block.number <= sight.latest.number)
                && payouts.iter().all(|payout| payout.state == PayoutState::Submitted);
            return Ok(match is_contradicted {
                true => (Evidence::Missing { is_gone: true, is_next }, None),
                false => (self.missing(sight, intent, is_next).await?, None),
            });
        }
        // Any form of it may be the one that was mined, the newest most likely.
        for attempt in attempts.iter().rev() {
            let Some(receipt) = self.chain.receipt(attempt.hash).await? else { continue };
            // A receipt of a block that the chain does not have is a lie, or history.
            let header = self.canonical_header(sight, receipt.block.number).await?;
            let Some(header) = header.filter(|header| header.hash == receipt.block.hash) else { continue };
            let summary = summary(intent, attempt, &receipt, header.timestamp_s);
            let inclusion = Inclusion { transaction: attempt.hash, block: receipt.block };
            let is_old = receipt.block.number <= sight.last_final;
            let is_deep = is_old || receipt.block.number <= sight.last_confirmed;
            // What is confirmed there already is asked for again once it is final.
            let is_news = is_old || !payouts.iter().all(|payout| is_confirmed_in(payout, inclusion));
            let records = if is_deep && is_news { self.agreed_of(sight, payouts).await? } else { Vec::new() };
            if let Some(paid) = self.paid_by(sight, attempts, payouts, &records, &receipt).await? {
                let summary = summary.filter(|_| paid == inclusion && receipt.is_success);
                return Ok((Evidence::Mined { inclusion: paid, records }, summary));
            }
            // Where enough endpoints have the vault know nothing of a payment that is said to be final, the
            // receipt is a lie, and its transaction is over without payment.
            let is_denied = is_old && records.iter().any(|record| record.status != VaultStatus::Paid);
            if receipt.is_success && !is_denied {
                // That it is final is told by enough endpoints, or it is only seen.
                let records = if is_old { Vec::new() } else { records };
                return Ok((Evidence::Mined { inclusion, records }, summary));
            }
            // That it was reverted is one node's word. Its nonce being used up, as all endpoints say
            // that answer, is what makes sure that no form of it can still be mined.
            let is_used_up = if is_old { self.is_used_up(sight, intent).await } else { None };
            if is_used_up == Some(false) {
                // One endpoint at least knows better: the receipt is a lie.
                continue;
            }
            let is_final = is_used_up == Some(true);
            let mut records = if is_final { records } else { Vec::new() };
            let why = if is_final { self.revert_of(intent, receipt.block.number).await } else { None };
            if why.as_ref().is_some_and(|why| why.kind == RefusalKind::AlreadyPaid)
                && records.iter().all(|record| record.status != VaultStatus::Paid)
            {
                // Who says so contradicts itself: without records nothing ends.
                records.clear();
            }
            let found = self.agreed_payments(sight.last_final, payouts, &records).await?;
            let why = why.map(|why| why.to_string());
            return Ok((Evidence::Reverted { inclusion, records, found, why }, summary));
        }
        if self.is_used_up(sight, intent).await != Some(true) {
            return Ok((self.missing(sight, intent, false).await?, None));
        }
        let records = self.agreed_of(sight, payouts).await?;
        let found = self.agreed_payments(sight.last_final, payouts, &records).await?;
        Ok((Evidence::NonceUsed { records, found }, None))
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

    /// Whether its nonce is used up in a final block: every endpoint that answers has to say so, and
    /// enough of them have to say the same of the newest block, whose state also those have that keep
    /// no older one. `None` where that cannot be told.
    async fn is_used_up(&self, sight: &Sight, intent: &Intent) -> Option<bool> {
        match self.is_used_at(sight.last_final, intent).await? {
            (false, _) => Some(false),
            (true, _) => match self.is_used_at(sight.latest.number, intent).await? {
                (true, false) => None,
                (is_used, _) => Some(is_used),
            },
        }
    }

    /// Whether every endpoint that answers says that its nonce is used at a block, and whether enough of
    /// them answer for what cannot be undone. `None` where none answers.
    async fn is_used_at(&self, block: u64, intent: &Intent) -> Option<(bool, bool)> {
        let at = NonceTag::Block(BlockTag::Number(block));
        let answers = self.chain.nonce_from_each(intent.id.signer, at).await;
        let asked = answers.len();
        let mut told = Vec::with_capacity(asked);
        for EndpointAnswer { endpoint, answer } in answers {
            match answer {
                Ok(used) => told.push(used > intent.id.nonce),
                Err(error) => {
                    tracing::debug!(intent = %intent.id, endpoint, %error, "whether its nonce is used cannot be told");
                }
            }
        }
        (!told.is_empty()).then(|| (told.iter().all(|is_used| *is_used), is_quorum(told.len(), asked)))
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

    /// Where a signed form of the transaction has paid all of its payouts for good, as enough endpoints tell
    /// it, whatever one of them says of its receipt. `None` where they do not.
    async fn paid_by(
        &self,
        sight: &Sight,
        attempts: &[Attempt],
        payouts: &[Payout],
        records: &[VaultRecord],
        receipt: &TransactionReceipt,
    ) -> Result<Option<Inclusion>, PayError> {
        let is_final =
            |record: &VaultRecord| record.status == VaultStatus::Paid && record.block <= sight.last_final;
        if records.is_empty() || !records.iter().all(is_final) {
            return Ok(None);
        }
        let mut paid = None;
        for (payout, record) in payouts.iter().zip(records) {
            // Contracts of some rollups see another chain's numbers: the receipt names the block then.
            let mut blocks = vec![record.block];
            if receipt.block.number != record.block && receipt.block.number <= sight.last_final {
                blocks.push(receipt.block.number);
            }
            match self.agreed_payment(payout, &blocks).await? {
                Some(at) if paid.is_none_or(|paid| paid == at) => paid = Some(at),
                _ => return Ok(None),
            }
        }
        Ok(paid.filter(|paid| attempts.iter().any(|attempt| attempt.hash == paid.transaction)))
    }
}

fn is_confirmed_in(payout: &Payout, inclusion: Inclusion) -> bool {
    payout.state == PayoutState::Confirmed && payout.inclusion == Some(inclusion)
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
    let is_within = receipt.gas_used <= intent.gas_limit && effective_gas_price <= attempt.fees.max_fee;
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
