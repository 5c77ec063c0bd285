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
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};

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

    /// What the vault says of a payout, as of the newest block. Another chain's vault says nothing.
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
        match self.chain.call(&call, BlockTag::Latest).await? {
            CallOutcome::Returned(told) => Ok(answer::request_state(&told)?.status),
            CallOutcome::Reverted { message, .. } => {
                Err(VaultAnswerError::Unreadable { what: "requestState", reason: message }.into())
            }
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
