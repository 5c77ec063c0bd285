//! What payouts ask: calls, accounts, receipts and fees, put to one endpoint after another;
//! transactions, and what ends a payout or halts an account, put to all.

use async_trait::async_trait;
use futures_util::future::join_all;
use windlass_core::chain::{Address, B256, BlockRef, Bytes, U256};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::reader::{BlockTag, ChainError, EndpointAnswer};

use super::EvmPool;
use super::member::Source;
use super::question::{Asked, Kind, Question};

#[async_trait]
impl TransactionChain for EvmPool {
    async fn call(&self, call: &Call, at: BlockTag) -> Result<CallOutcome, ChainError> {
        self.inner.ask(&AskCall { call, at }).await
    }

    async fn estimate_gas(&self, call: &Call) -> Result<GasEstimate, ChainError> {
        self.inner.ask(&AskGas { call }).await
    }

    async fn send(&self, raw: &Bytes) -> Vec<SendAnswer> {
        join_all((0..self.inner.members.len()).map(|place| self.inner.send_to(place, raw))).await
    }

    async fn receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, ChainError> {
        self.inner.ask(&AskReceipt { hash }).await
    }

    async fn nonce(&self, account: Address, at: NonceTag) -> Result<u64, ChainError> {
        self.inner.ask(&AskNonce { account, at }).await
    }

    async fn call_from_each(&self, call: &Call, at: BlockTag) -> Vec<EndpointAnswer<CallOutcome>> {
        self.inner.ask_each(&AskCall { call, at }).await
    }

    async fn nonce_from_each(&self, account: Address, at: NonceTag) -> Vec<EndpointAnswer<u64>> {
        self.inner.ask_each(&AskNonce { account, at }).await
    }

    async fn estimate_gas_from_each(&self, call: &Call) -> Vec<EndpointAnswer<GasEstimate>> {
        self.inner.ask_each(&AskGas { call }).await
    }

    async fn receipt_from_each(&self, hash: B256) -> Vec<EndpointAnswer<Option<TransactionReceipt>>> {
        self.inner.ask_each(&AskReceipt { hash }).await
    }

    async fn gas_fees_from_each(&self) -> Vec<EndpointAnswer<GasFees>> {
        self.inner.ask_each(&AskFees).await
    }

    async fn gas_fees(&self) -> Result<GasFees, ChainError> {
        self.inner.ask(&AskFees).await
    }

    async fn balance_from_each(&self, account: Address, at: BlockTag) -> Vec<EndpointAnswer<U256>> {
        self.inner.ask_each(&AskBalance { account, at }).await
    }

    async fn balance(&self, account: Address, at: BlockTag) -> Result<U256, ChainError> {
        self.inner.ask(&AskBalance { account, at }).await
    }
}

/// The height that it takes to answer about a block.
const fn height(at: BlockTag) -> Option<u64> {
    match at {
        BlockTag::Number(number) => Some(number),
        _ => None,
    }
}

/// The block's hash, where it is known.
const fn hash(at: BlockTag) -> Option<B256> {
    match at {
        BlockTag::Hash(hash) => Some(hash),
        _ => None,
    }
}

struct AskCall<'a> {
    call: &'a Call,
    at: BlockTag,
}

impl Question for AskCall<'_> {
    type Answer = CallOutcome;

    fn kind(&self) -> Kind {
        Kind::Call
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, CallOutcome> {
        source.call(self.call, self.at)
    }

    /// A revert without a word: some endpoints do not tell what others do.
    fn is_unknown(&self, answer: &CallOutcome) -> bool {
        matches!(answer, CallOutcome::Reverted { data, .. } if data.is_empty())
    }

    fn needs(&self) -> Option<u64> {
        height(self.at)
    }

    fn about(&self) -> Option<B256> {
        hash(self.at)
    }
}

struct AskGas<'a> {
    call: &'a Call,
}

impl Question for AskGas<'_> {
    type Answer = GasEstimate;

    fn kind(&self) -> Kind {
        Kind::Call
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, GasEstimate> {
        source.estimate_gas(self.call)
    }

    fn is_unknown(&self, answer: &GasEstimate) -> bool {
        matches!(answer, GasEstimate::Reverted { data, .. } if data.is_empty())
    }
}

struct AskReceipt {
    hash: B256,
}

impl Question for AskReceipt {
    type Answer = Option<TransactionReceipt>;

    fn kind(&self) -> Kind {
        Kind::State
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Self::Answer> {
        source.receipt(self.hash)
    }

    fn is_unknown(&self, answer: &Self::Answer) -> bool {
        answer.is_none()
    }

    fn shows(&self, answer: &Self::Answer) -> Option<BlockRef> {
        answer.as_ref().map(|receipt| receipt.block)
    }
}

struct AskNonce {
    account: Address,
    at: NonceTag,
}

impl AskNonce {
    const fn block(&self) -> BlockTag {
        match self.at {
            NonceTag::Pending => BlockTag::Latest,
            NonceTag::Block(block) => block,
        }
    }
}

impl Question for AskNonce {
    type Answer = u64;

    fn kind(&self) -> Kind {
        Kind::State
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, u64> {
        source.nonce(self.account, self.at)
    }

    fn needs(&self) -> Option<u64> {
        height(self.block())
    }

    fn about(&self) -> Option<B256> {
        hash(self.block())
    }
}

struct AskFees;

impl Question for AskFees {
    type Answer = GasFees;

    fn kind(&self) -> Kind {
        Kind::State
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, GasFees> {
        source.gas_fees()
    }
}

struct AskBalance {
    account: Address,
    at: BlockTag,
}

impl Question for AskBalance {
    type Answer = U256;

    fn kind(&self) -> Kind {
        Kind::State
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, U256> {
        source.balance(self.account, self.at)
    }

    fn needs(&self) -> Option<u64> {
        height(self.at)
    }

    fn about(&self) -> Option<B256> {
        hash(self.at)
    }
}
