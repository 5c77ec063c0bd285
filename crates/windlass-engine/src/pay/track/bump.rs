//! Offering more for a transaction that nobody mines.

use windlass_core::payout::fees::OverCap;
use windlass_core::payout::ledger::{Attempt, Intent, Payout};
use windlass_core::payout::transaction::Transaction;
use windlass_core::payout::vault::calldata::{VaultPayout, pays_exactly};

use super::step::Step;
use crate::pay::error::PayError;
use crate::pay::payer::{Payer, Sight};

/// What came of offering more.
enum Bumped {
    Signed(Attempt),
    OverCap(OverCap),
    NoKey,
}

impl Payer {
    /// The same step with a new form of the transaction, if it is time for one: the same
    /// nonce and the same call, at least an eighth more for gas, and never above the cap.
    pub(super) async fn with_bump(&self, sight: &Sight, mut step: Step, attempts: &[Attempt]) -> Step {
        // Those behind another one wait for that, whatever they offer.
        let (Some(intent), Some(last)) = (step.next().cloned(), attempts.last()) else { return step };
        let patience_ends = intent.signed_at_block.saturating_add(self.options.bump_after_blocks);
        if sight.latest.number < patience_ends {
            return step;
        }
        match self.bumped(&intent, step.payouts(), last).await {
            Ok(Bumped::Signed(attempt)) => step.bump = Some(attempt),
            Ok(Bumped::OverCap(over)) => step.hold = Some(over.to_string()),
            Ok(Bumped::NoKey) => {}
            // What is stored is sent all the same.
            Err(error) => {
                tracing::warn!(intent = %intent.id, %error, "more could not be offered for a transaction");
            }
        }
        step
    }

    async fn bumped(&self, intent: &Intent, payouts: &[Payout], last: &Attempt) -> Result<Bumped, PayError> {
        derived(intent, payouts)?;
        // Without its key it can only be sent as it is.
        let Some(signer) = self.signer_of(intent.id.signer) else { return Ok(Bumped::NoKey) };
        let market = self.chain.gas_fees().await?;
        let fees = match last.fees.bumped(market, self.options.gas_cap) {
            Ok(fees) => fees,
            Err(over) => return Ok(Bumped::OverCap(over)),
        };
        let transaction = Transaction {
            chain: intent.id.chain,
            nonce: intent.id.nonce,
            to: Some(intent.to),
            data: intent.data.clone(),
            gas_limit: intent.gas_limit,
            fees,
        };
        let signature = signer.sign_hash(transaction.signing_hash()).await?;
        let signed = transaction.signed(&signature);
        Ok(Bumped::Signed(Attempt {
            intent: intent.id,
            number: last.number + 1,
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
