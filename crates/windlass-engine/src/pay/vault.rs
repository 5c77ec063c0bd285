//! Questions to the vault.

use windlass_core::chain::{Address, B256, Bytes, U256};
use windlass_core::event::LogEvent;
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::ledger::{Inclusion, Payout};
use windlass_core::payout::submit::{Call, CallOutcome};
use windlass_core::payout::vault::answer::{self, VaultAnswerError, VaultRecord};
use windlass_core::payout::vault::calldata::{self, MAX_BATCH, VaultPayout};
use windlass_core::reader::{BlockTag, EndpointAnswer};

use super::error::PayError;
use super::means::{Asked, most_told};
use super::payer::Payer;

/// What the vault asks of approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ApprovalTerms {
    /// Whose approval it takes; nobody's where the signer was revoked, and then it pays nothing.
    pub(super) signer: Option<Address>,
    /// The nonce that is good now.
    pub(super) nonce: u64,
}

/// Why a payout of the chain's coin waits where the vault was deployed before it could pay that.
const PAYS_NO_COIN: &str = "the vault cannot pay the chain's own coin: it was deployed before vaults could; \
    deploy another with `windlass vault deploy`";

/// Why payouts of a token wait that has no contract at its address, or one that is no token.
const TOKEN_WITHOUT_BALANCE: &str = "the token's contract does not tell what the vault holds: compare `address` \
    in `[pay.token]` with a block explorer";

/// How much of a token, or of the chain's coin, the vault could pay now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Payable {
    /// What it holds.
    pub(super) balance: U256,
    /// What its day's limit leaves.
    pub(super) left_today: U256,
}

impl Payer {
    /// What one endpoint has the vault say of requests at a block: enough for nothing that cannot be undone.
    pub(super) async fn records(&self, ids: &[B256], at: BlockTag) -> Result<Vec<VaultRecord>, PayError> {
        let mut records = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_BATCH) {
            let read = |told: &Bytes| answer::request_states(ids.len(), told);
            records.extend(self.ask(calldata::request_states(ids), at, read).await?);
        }
        Ok(records)
    }

    /// Whose approval the vault wants, if it wants any.
    pub(super) async fn approval_terms(&self) -> Result<Option<ApprovalTerms>, PayError> {
        let latest = BlockTag::Latest;
        let read = |told: &Bytes| answer::approval_required(told);
        if !self.ask(calldata::approval_required(), latest, read).await? {
            return Ok(None);
        }
        let signer = self.ask(calldata::risk_signer(), latest, |told| answer::risk_signer(told)).await?;
        let nonce = self.ask(calldata::approval_nonce(), latest, |told| answer::approval_nonce(told)).await?;
        Ok(Some(ApprovalTerms { signer, nonce }))
    }

    /// How much of a token, or of the chain's coin, the vault could pay now; or why it cannot pay it
    /// whatever it holds.
    pub(super) async fn payable(
        &self,
        token: Address,
        asked: Asked,
    ) -> Result<Result<Payable, &'static str>, PayError> {
        let vault = self.options.vault.address;
        let balance = if token == NATIVE_COIN {
            if !self.pays_native_coin(asked).await? {
                return Ok(Err(PAYS_NO_COIN));
            }
            let each = match asked {
                Asked::One => Vec::new(),
                Asked::Each => self.chain.balance_from_each(vault, BlockTag::Latest).await,
            };
            match most_told(each) {
                Some(balance) => balance,
                None => self.chain.balance(vault, BlockTag::Latest).await?,
            }
        } else {
            match self.token_balance(token, vault, asked).await? {
                Some(balance) => balance,
                None => return Ok(Err(TOKEN_WITHOUT_BALANCE)),
            }
        };
        let read = |told: &Bytes| answer::remaining_today(told);
        let data = calldata::remaining_today(token);
        let left_today = match asked {
            Asked::One => self.ask(data, BlockTag::Latest, read).await?,
            Asked::Each => read_outcome(self.call(&self.call_of(data), asked).await?, read)?,
        };
        Ok(Ok(Payable { balance, left_today }))
    }

    /// What the vault holds of a token; nothing where the token's contract does not tell.
    async fn token_balance(
        &self,
        token: Address,
        vault: Address,
        asked: Asked,
    ) -> Result<Option<U256>, PayError> {
        let call = Call { from: Address::ZERO, to: Some(token), data: calldata::balance_of(vault) };
        Ok(match self.call(&call, asked).await? {
            CallOutcome::Returned(told) => answer::balance_of(&told).ok(),
            CallOutcome::Reverted { .. } => None,
        })
    }

    /// Whether the vault has functions that pay the chain's own coin.
    async fn pays_native_coin(&self, asked: Asked) -> Result<bool, PayError> {
        let call =
            Call { from: Address::ZERO, to: Some(self.options.vault.address), data: calldata::native_coin() };
        match self.call(&call, asked).await? {
            CallOutcome::Returned(told) => Ok(answer::native_coin(&told)? == NATIVE_COIN),
            CallOutcome::Reverted { .. } => Ok(false),
        }
    }

    pub(super) fn call_of(&self, data: Bytes) -> Call {
        Call { from: Address::ZERO, to: Some(self.options.vault.address), data }
    }

    /// Asks the vault. Where an answer cannot be read the other endpoints are asked as well: a
    /// single one that tells nonsense holds nothing up.
    async fn ask<T>(
        &self,
        data: Bytes,
        at: BlockTag,
        read: impl Fn(&Bytes) -> Result<T, VaultAnswerError>,
    ) -> Result<T, PayError> {
        let call = self.call_of(data);
        let error = match read_outcome(self.chain.call(&call, at).await?, &read) {
            Err(error) => error,
            told => return told,
        };
        for EndpointAnswer { endpoint, answer } in self.chain.call_from_each(&call, at).await {
            if let Ok(told) = answer.map_err(PayError::from).and_then(|told| read_outcome(told, &read)) {
                tracing::warn!(%error, endpoint, "another endpoint's answer is used");
                return Ok(told);
            }
        }
        Err(error)
    }
}

/// Reads how a question to the vault ended.
pub(super) fn read_outcome<T>(
    outcome: CallOutcome,
    read: impl Fn(&Bytes) -> Result<T, VaultAnswerError>,
) -> Result<T, PayError> {
    match outcome {
        CallOutcome::Returned(told) => Ok(read(&told)?),
        CallOutcome::Reverted { message, .. } => {
            Err(VaultAnswerError::Unreadable { what: "answer", reason: message }.into())
        }
    }
}

/// Whether the vault paid what was asked for: the id is of the key alone.
pub(super) fn is_as_asked(payout: &Payout, paid: &VaultPayout) -> bool {
    let request = &payout.request;
    (request.token, request.to, request.amount) == (paid.token, paid.to, paid.amount)
}

/// Where a log is.
pub(super) fn inclusion(log: &LogEvent) -> Inclusion {
    Inclusion { transaction: log.transaction_hash, block: log.block }
}
