//! Sending what is stored, and nothing else.

use futures_util::{StreamExt, stream};
use serde_json::json;
use windlass_core::error::StoreError;
use windlass_core::payout::ledger::{Attempt, IntentId};
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::SendAnswer;

use super::Submitter;
use crate::pay::counted;
use crate::pay::error::PayError;
use crate::pay::payer::Payer;

/// How many transactions are sent at once.
const AT_ONCE: usize = 16;

impl Submitter {
    /// Sends the newest stored form of transactions. Whatever is answered means "perhaps":
    /// the tracker finds out. Nothing here is worth failing for: what was not sent, it sends.
    pub(super) async fn send_stored(&self, intents: &[IntentId]) -> Result<(), PayError> {
        if intents.is_empty() {
            return Ok(());
        }
        let payer = &self.payer;
        let sending = intents.iter().map(|intent| async move {
            let attempts = match payer.ledger.attempts(*intent).await {
                // It was refused, which is reported: this transaction waits, and holds up no other.
                Err(StoreError::Forged(_)) => return Ok(None),
                attempts => attempts?,
            };
            let Some(attempt) = attempts.last() else {
                return Err(PayError::strange(intent, "it was never signed"));
            };
            Ok::<_, PayError>(Some((*intent, attempt.number, payer.send(attempt).await)))
        });
        let answers: Vec<_> = stream::iter(sending.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await;
        let mut page = payer.page();
        for answer in answers {
            let Some((intent, number, answers)) = answer? else { continue };
            page.note("attempt.sent", intent, json!({"number": number, "answers": words(&answers)}));
        }
        counted::commit(&payer.ledger, page.into_commit().relaxed()).await?;
        Ok(())
    }
}

impl Payer {
    /// Hands stored bytes to every endpoint.
    pub(in crate::pay) async fn send(&self, attempt: &Attempt) -> Vec<SendAnswer> {
        self.chain.send(&attempt.raw).await
    }
}

/// What endpoints said, as the log tells it.
pub(in crate::pay) fn words(answers: &[SendAnswer]) -> Vec<String> {
    let words = |answer: &SendAnswer| match answer {
        SendAnswer::Refused(why) | SendAnswer::Silent(why) => format!("{}: {why}", answer.as_str()),
        answer => answer.as_str().to_owned(),
    };
    answers.iter().map(words).collect()
}
