//! The desk as others see it: with a way to ask the vault itself.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::payout::desk::{
    Approved, Created, DeskError, DeskInfo, NewPayout, PayoutDesk, Prospect, Reason,
};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::risk_report::RiskReport;
use windlass_core::payout::submit::{Call, CallOutcome, TransactionChain};
use windlass_core::payout::vault::answer::{self, VaultAnswerError, VaultStatus};
use windlass_core::payout::vault::calldata;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, is_quorum};

use super::Desk;
use crate::pay::identity::{Known, compare};

/// A desk, and the chain of its vault.
#[derive(Clone)]
pub struct VaultDesk {
    desk: Desk,
    chain: Arc<dyn TransactionChain>,
}

impl VaultDesk {
    /// A desk whose vault is on this chain.
    pub fn new(desk: Desk, chain: Arc<dyn TransactionChain>) -> Self {
        Self { desk, chain }
    }

    /// What the vault says of a payout, as of the newest block: what every endpoint says that answers, two
    /// of them or the only one that there is. One that says that it was paid is believed alone, for it is not
    /// paid again then. Another chain's vault says nothing.
    async fn vault_says(&self, payout: &Payout) -> Result<VaultStatus, DeskError> {
        if let Some(identity) = self.desk.ledger.chain_identity(payout.request.vault).await? {
            let newest = self.chain.header(BlockTag::Latest).await?.map_or(0, |header| header.block.number);
            if let Known::Other(why) = compare(&*self.chain, &identity, newest).await? {
                return Err(ChainError::new(ChainErrorKind::Malformed, why).into());
            }
        }
        let vault = payout.request.vault.address;
        let data = calldata::request_state(payout.request.request_id());
        let call = Call { from: vault, to: Some(vault), data };
        let answers = self.chain.call_from_each(&call, BlockTag::Latest).await;
        let asked = answers.len();
        let (mut told, mut refused): (Vec<VaultStatus>, Option<DeskError>) = (Vec::new(), None);
        for one in answers {
            match one.answer.map_err(DeskError::from).and_then(status_of) {
                Ok(status) => told.push(status),
                Err(error) => refused = Some(error),
            }
        }
        if told.contains(&VaultStatus::Paid) {
            return Ok(VaultStatus::Paid);
        }
        match (told.first(), refused) {
            (Some(first), _) if is_quorum(told.len(), asked) && told.iter().all(|other| other == first) => {
                Ok(*first)
            }
            (None, Some(error)) => Err(error),
            _ => {
                let why =
                    "the endpoints do not agree what the vault says of the payout, or too few of them answer";
                Err(ChainError::new(ChainErrorKind::Unreachable, why).into())
            }
        }
    }
}

fn status_of(outcome: CallOutcome) -> Result<VaultStatus, DeskError> {
    match outcome {
        CallOutcome::Returned(told) => Ok(answer::request_state(&told)?.status),
        CallOutcome::Reverted { message, .. } => {
            Err(VaultAnswerError::Unreadable { what: "requestState", reason: message }.into())
        }
    }
}

#[async_trait]
impl PayoutDesk for VaultDesk {
    fn info(&self) -> DeskInfo {
        let options = &self.desk.options;
        DeskInfo { vault: options.vault, tokens: options.tokens.clone(), rules: options.rules.clone() }
    }

    async fn create(&self, new: &[NewPayout], by: &str) -> Result<Vec<Created>, DeskError> {
        self.desk.create(new, by).await
    }

    async fn preview_all(&self, new: &[NewPayout], by: &str) -> Result<Vec<Created>, DeskError> {
        self.desk.preview_all(new, by).await
    }

    fn needed(&self, payout: &Payout) -> u32 {
        self.desk.options.approvals.needed(payout.request.token, payout.request.amount)
    }

    async fn report(&self, payout: &Payout) -> Result<RiskReport, DeskError> {
        self.desk.report(payout).await
    }

    async fn approve(&self, id: PayoutId, by: &str) -> Result<Approved, DeskError> {
        self.desk.approve(id, by).await
    }

    async fn preview_approve(&self, id: PayoutId, by: &str) -> Result<Prospect, DeskError> {
        self.desk.preview_approve(id, by).await
    }

    async fn reject(&self, id: PayoutId, by: &str, reason: &Reason) -> Result<Payout, DeskError> {
        self.desk.reject(id, by, reason.as_str()).await
    }

    async fn cancel(&self, id: PayoutId, by: &str, reason: &Reason) -> Result<Payout, DeskError> {
        self.desk.reject(id, by, &reason.cancelled()).await
    }

    async fn preview_reject(&self, id: PayoutId) -> Result<Payout, DeskError> {
        self.desk.rejectable(id).await
    }

    async fn preview_retry(&self, id: PayoutId, key: IdempotencyKey) -> Result<NewPayout, DeskError> {
        let old = self.desk.find(id).await?;
        let vault_says = self.vault_says(&old).await?;
        self.desk.retriable(id, key, vault_says).await
    }

    async fn retry(&self, id: PayoutId, key: IdempotencyKey, by: &str) -> Result<Created, DeskError> {
        let old = self.desk.find(id).await?;
        let vault_says = self.vault_says(&old).await?;
        self.desk.retry(id, key, vault_says, by).await
    }
}
