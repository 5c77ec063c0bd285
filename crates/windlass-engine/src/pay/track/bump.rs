//! Offering more for a transaction that nobody mines.

use windlass_core::payout::fees::OverCap;
use windlass_core::payout::gas::{GasBalance, GasLevel};
use windlass_core::payout::ledger::{Attempt, Intent, Payout};
use windlass_core::payout::submit::{Call, SendAnswer};
use windlass_core::payout::transaction::Transaction;
use windlass_core::payout::vault::calldata::{VaultPayout, pays_exactly};

use super::step::Step;
use crate::pay::error::PayError;
use crate::pay::gas_limit::{Estimated, limit_of};
use crate::pay::payer::{Payer, Sight};

/// What came of offering more.
enum Bumped {
    Signed(Attempt),
    OverCap(OverCap),
    /// The account cannot pay for it: a higher offer would be paid in full once it can.
    ShortOfGas {
        balance: GasBalance,
        gas_limit: u64,
    },
    /// Nothing: it is sent as it is.
    Unchanged,
}

/// Since which block endpoints have a signed form of a transaction, or want more for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reception {
    /// Which form.
    pub(super) number: u32,
    /// The newest block when that was first answered.
    pub(super) since: u64,
}

impl Reception {
    /// What the answers to a form say; `None` where no endpoint has it, so that its price is not
    /// what keeps it from being mined.
    pub(super) fn of(known: Option<Self>, number: u32, answers: &[SendAnswer], newest: u64) -> Option<Self> {
        let waits_for_price = |answer: &SendAnswer| {
            answer.is_there() || matches!(answer, SendAnswer::Underpriced | SendAnswer::FeeTooLow)
        };
        let same = known.filter(|known| known.number == number);
        answers.iter().any(waits_for_price).then(|| same.unwrap_or(Self { number, since: newest }))
    }

    /// Whether `blocks` blocks have passed over this form.
    fn is_passed_over(self, form: u32, newest: u64, blocks: u64) -> bool {
        self.number == form && newest >= self.since.saturating_add(blocks)
    }
}

impl Payer {
    /// The same step with a new form of the transaction, if it is time for one: the same
    /// nonce and the same call, at least an eighth more for gas, and never above the cap.
    ///
    /// Only for a form that an endpoint has, or wants more for, and that blocks have passed over; and for one
    /// with far more or less gas than its call takes, which no block takes at whatever price.
    pub(super) async fn with_bump(
        &self,
        sight: &Sight,
        mut step: Step,
        attempts: &[Attempt],
        reception: Option<Reception>,
    ) -> Step {
        // Those behind another one wait for that, whatever they offer.
        let Some(intent) = step.next().cloned() else { return step };
        let (newest, patience) = (sight.latest.number, self.options.bump_after_blocks);
        let is_patient = newest < intent.signed_at_block.saturating_add(patience);
        let is_passed_over = |last: &Attempt| {
            reception.is_some_and(|reception| reception.is_passed_over(last.number, newest, patience))
        };
        let done = match attempts.last() {
            // It was repaired, and no form of it was left: the same transaction is signed again.
            None => self.signed_again(&intent, step.payouts(), None, None).await,
            Some(_) if is_patient => return step,
            Some(last) if is_passed_over(last) => {
                let instead = self.limit_instead(&intent, last).await;
                self.signed_again(&intent, step.payouts(), Some(last), instead).await
            }
            Some(last) => self.unreceived(&intent, step.payouts(), last).await,
        };
        match done {
            Ok(Bumped::Signed(attempt)) => step.bump = Some(attempt),
            Ok(Bumped::OverCap(over)) => step.hold = Some(over.to_string()),
            Ok(Bumped::ShortOfGas { balance, gas_limit }) => {
                self.accounts.short_of_gas(intent.id.signer, gas_limit, balance);
                step.hold = Some(format!("account {} {balance}: send it more", intent.id.signer));
            }
            Ok(Bumped::Unchanged) => {}
            // What is stored is sent all the same.
            Err(error) => {
                tracing::warn!(intent = %intent.id, %error, "more could not be offered for a transaction");
            }
        }
        step
    }

    /// Why no endpoint has it: it may have more gas than a block, or the account cannot pay for it.
    async fn unreceived(
        &self,
        intent: &Intent,
        payouts: &[Payout],
        last: &Attempt,
    ) -> Result<Bumped, PayError> {
        if let Some(instead) = self.limit_instead(intent, last).await {
            return self.signed_again(intent, payouts, Some(last), Some(instead)).await;
        }
        let gas_limit = limit_of(intent, last);
        let balance = self.gas_balance(intent.id.signer, gas_limit, last.fees.max_fee).await?;
        Ok(if balance.level() == GasLevel::Short {
            Bumped::ShortOfGas { balance, gas_limit }
        } else {
            Bumped::Unchanged
        })
    }

    /// With how much gas it is signed again, where its last form has far more or less than its call takes, by
    /// what endpoints tell now. Where they do not tell, it keeps what it has.
    async fn limit_instead(&self, intent: &Intent, last: &Attempt) -> Option<u64> {
        let call = Call { from: intent.id.signer, to: Some(intent.to), data: intent.data.clone() };
        let instead = async {
            let Estimated::Gas(gas) = self.estimate(&call).await? else { return Ok(None) };
            let reverts = self.reverts_of(&intent.payouts).await?;
            Ok::<_, PayError>(reverts.limit_instead_of(limit_of(intent, last), gas))
        };
        match instead.await {
            Ok(instead) => instead,
            Err(error) => {
                tracing::debug!(intent = %intent.id, %error, "how much gas it takes is not known");
                None
            }
        }
    }

    /// A new form of a transaction: for more gas than the last one, or the first that is kept.
    async fn signed_again(
        &self,
        intent: &Intent,
        payouts: &[Payout],
        last: Option<&Attempt>,
        instead: Option<u64>,
    ) -> Result<Bumped, PayError> {
        derived(intent, payouts)?;
        // Without its key it can only be sent as it is.
        let Some(signer) = self.signer_of(intent.id.signer) else { return Ok(Bumped::Unchanged) };
        // Where endpoints do not agree, it is sent as it is.
        let Ok(market) = self.gas_fees().await? else { return Ok(Bumped::Unchanged) };
        let cap = self.options.gas_cap;
        let fees = last.map_or_else(|| market.within(cap), |last| last.fees.bumped(market, cap));
        let fees = match (fees, last) {
            (Ok(fees), _) => fees,
            // It is not its price that keeps it from being mined.
            (Err(_), Some(last)) if instead.is_some() && last.fees.within(cap).is_ok() => last.fees,
            (Err(over), _) => return Ok(Bumped::OverCap(over)),
        };
        let signed_with = last.map_or(intent.gas_limit, |last| limit_of(intent, last));
        let gas_limit = instead.unwrap_or(signed_with);
        let balance = self.gas_balance(intent.id.signer, gas_limit, fees.max_fee).await?;
        if balance.level() == GasLevel::Short {
            return Ok(Bumped::ShortOfGas { balance, gas_limit });
        }
        let transaction = Transaction {
            chain: intent.id.chain,
            nonce: intent.id.nonce,
            to: Some(intent.to),
            data: intent.data.clone(),
            gas_limit,
            fees,
        };
        let signature = signer.sign_hash(transaction.signing_hash()).await?;
        let signed = transaction.signed(&signature);
        Ok(Bumped::Signed(Attempt {
            intent: intent.id,
            number: last.map_or(1, |last| last.number + 1),
            hash: signed.hash,
            fees,
            raw: signed.raw,
            created_at: self.store.now().await?,
        }))
    }
}

/// Refuses to sign a transaction that is not the payment of its payouts, as they stand: what is
/// stored of it is not enough.
fn derived(intent: &Intent, payouts: &[Payout]) -> Result<(), PayError> {
    let mut items = Vec::with_capacity(payouts.len());
    for id in &intent.payouts {
        let payout = payouts.iter().find(|payout| payout.id == *id);
        let payout = payout.ok_or_else(|| PayError::strange(intent.id, "it pays what is not there"))?;
        let (vault, is_its) = (payout.request.vault, payout.intent == Some(intent.id));
        if (vault.chain, vault.address) != (intent.id.chain, intent.to) || !is_its {
            return Err(PayError::strange(intent.id, format!("it does not pay payout {id}")));
        }
        items.push(VaultPayout::from(&payout.request));
    }
    if !pays_exactly(&intent.data, &items) {
        return Err(PayError::strange(intent.id, "its call is not the payment of its payouts"));
    }
    Ok(())
}
