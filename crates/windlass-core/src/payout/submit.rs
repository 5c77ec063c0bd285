//! The port through which transactions reach a chain and are followed there.
//!
//! Nothing here proves that something did *not* happen: an answer may be lost, come
//! from a node that lags, or be a lie. What is believed is decided by who asks.

use async_trait::async_trait;

use super::fees::GasFees;
use crate::chain::{Address, B256, BlockRef, Bytes, U256};
use crate::reader::{BlockTag, ChainError, ChainReader, EndpointAnswer};

/// A call, as a transaction would make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who calls.
    pub from: Address,
    /// Whom; nobody to make a contract.
    pub to: Option<Address>,
    /// With what.
    pub data: Bytes,
}

/// How a call would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// It returns this.
    Returned(Bytes),
    /// It reverts: the error's bytes, and what the node says of it.
    Reverted {
        /// Selector and arguments of the error; empty when there are none, and when the
        /// endpoint does not tell.
        data: Bytes,
        /// The node's words.
        message: String,
    },
}

/// How much gas a call takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GasEstimate {
    /// So much.
    Gas(u64),
    /// It reverts.
    Reverted {
        /// Selector and arguments of the error; empty when there are none.
        data: Bytes,
        /// The node's words.
        message: String,
    },
}

/// At which point an account's transactions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceTag {
    /// With those that wait to be mined, as far as the node knows.
    Pending,
    /// At a block.
    Block(BlockTag),
}

/// What an endpoint said to a transaction. Only [`SendAnswer::Accepted`] and
/// [`SendAnswer::Known`] say where it is; after every other it may be there or not. None of
/// them proves anything: an endpoint may take a transaction and forget it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendAnswer {
    /// It was taken.
    Accepted,
    /// It was there already.
    Known,
    /// Its nonce was used before: by itself, or by another transaction.
    NonceTooLow,
    /// Another transaction with its nonce waits there and offers more.
    Underpriced,
    /// It offers less than the endpoint takes.
    FeeTooLow,
    /// Its sender cannot pay for the gas.
    NoFunds,
    /// Refused, in other words.
    Refused(String),
    /// No answer that could be understood.
    Silent(String),
    /// It was not sent there: the endpoint serves another chain.
    Withheld(String),
}

/// A transaction's outcome, as an endpoint tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionReceipt {
    /// Which transaction.
    pub hash: B256,
    /// The block it is in.
    pub block: BlockRef,
    /// Whether it did what it was to do, or was reverted.
    pub is_success: bool,
    /// How much gas it took.
    pub gas_used: u64,
    /// What each unit of gas cost, in wei, where the node tells.
    pub effective_gas_price: Option<u128>,
    /// The contract it made.
    pub contract: Option<Address>,
}

/// Puts transactions on a chain and says what became of them.
#[async_trait]
pub trait TransactionChain: ChainReader {
    /// How a call would end at a block.
    async fn call(&self, call: &Call, at: BlockTag) -> Result<CallOutcome, ChainError>;

    /// How much gas a call would take now.
    async fn estimate_gas(&self, call: &Call) -> Result<GasEstimate, ChainError>;

    /// Hands signed bytes to every endpoint at once, each for a bounded time and not twice;
    /// what each of them said, in their order. Whoever stops waiting may have sent it.
    async fn send(&self, raw: &Bytes) -> Vec<SendAnswer>;

    /// A transaction's outcome; `None` where the endpoint knows of none.
    async fn receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, ChainError>;

    /// How many transactions an account has sent.
    async fn nonce(&self, account: Address, at: NonceTag) -> Result<u64, ChainError>;

    /// How a call would end as each endpoint tells it: one endpoint's word is not enough to end a
    /// payout without paying it.
    async fn call_from_each(&self, call: &Call, at: BlockTag) -> Vec<EndpointAnswer<CallOutcome>> {
        vec![EndpointAnswer::sole(self.call(call, at).await)]
    }

    /// How many transactions an account has sent as each endpoint tells it.
    async fn nonce_from_each(&self, account: Address, at: NonceTag) -> Vec<EndpointAnswer<u64>> {
        vec![EndpointAnswer::sole(self.nonce(account, at).await)]
    }

    /// How much gas a call would take as each endpoint tells it: what is signed with too much of it is
    /// never mined, and with too little it is reverted.
    async fn estimate_gas_from_each(&self, call: &Call) -> Vec<EndpointAnswer<GasEstimate>> {
        vec![EndpointAnswer::sole(self.estimate_gas(call).await)]
    }

    /// A transaction's outcome as each endpoint tells it.
    async fn receipt_from_each(&self, hash: B256) -> Vec<EndpointAnswer<Option<TransactionReceipt>>> {
        vec![EndpointAnswer::sole(self.receipt(hash).await)]
    }

    /// What gas costs now: enough for the base fee to double. One endpoint's word, to be
    /// held against a cap.
    async fn gas_fees(&self) -> Result<GasFees, ChainError>;

    /// What gas costs now as each endpoint tells it: whoever chooses what is offered for it chooses what
    /// is paid to those who make blocks.
    async fn gas_fees_from_each(&self) -> Vec<EndpointAnswer<GasFees>> {
        vec![EndpointAnswer::sole(self.gas_fees().await)]
    }

    /// What an account has of the chain's own coin as each endpoint tells it.
    async fn balance_from_each(&self, account: Address, at: BlockTag) -> Vec<EndpointAnswer<U256>> {
        vec![EndpointAnswer::sole(self.balance(account, at).await)]
    }

    /// What an account has of the chain's own coin.
    async fn balance(&self, account: Address, at: BlockTag) -> Result<U256, ChainError>;
}

impl SendAnswer {
    /// Whether the endpoint has the transaction.
    pub const fn is_there(&self) -> bool {
        matches!(self, Self::Accepted | Self::Known)
    }

    /// A word for metrics and the audit log.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Known => "known",
            Self::NonceTooLow => "nonce_too_low",
            Self::Underpriced => "underpriced",
            Self::FeeTooLow => "fee_too_low",
            Self::NoFunds => "no_funds",
            Self::Refused(_) => "refused",
            Self::Silent(_) => "silent",
            Self::Withheld(_) => "withheld",
        }
    }
}
