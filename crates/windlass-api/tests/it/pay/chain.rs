//! A chain that answers one question: what its vault says of a request.

use std::sync::Mutex;

use async_trait::async_trait;
use windlass_core::chain::{Address, B256, BlockHeader, Bytes, ChainId, U256};
use windlass_core::event::LogEvent;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan, Receipts,
};

/// What the vault says of every request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Says {
    #[default]
    Unknown,
    Paid,
    /// The chain does not answer.
    Nothing,
}

#[derive(Debug, Default)]
pub(crate) struct FakeChain(Mutex<Says>);

impl FakeChain {
    pub(crate) fn say(&self, says: Says) {
        *self.0.lock().unwrap() = says;
    }
}

fn away<T>() -> Result<T, ChainError> {
    Err(ChainError::new(ChainErrorKind::Unreachable, "no endpoint answers"))
}

#[async_trait]
impl TransactionChain for FakeChain {
    async fn call(&self, _: &Call, _: BlockTag) -> Result<CallOutcome, ChainError> {
        // State, time, block and recipient, a word each.
        let mut answer = [0_u8; 128];
        answer[31] = match *self.0.lock().unwrap() {
            Says::Unknown => 0,
            Says::Paid => 1,
            Says::Nothing => return away(),
        };
        Ok(CallOutcome::Returned(answer.to_vec().into()))
    }

    async fn estimate_gas(&self, _: &Call) -> Result<GasEstimate, ChainError> {
        away()
    }

    async fn send(&self, _: &Bytes) -> Vec<SendAnswer> {
        panic!("the API sends nothing")
    }

    async fn receipt(&self, _: B256) -> Result<Option<TransactionReceipt>, ChainError> {
        away()
    }

    async fn nonce(&self, _: Address, _: NonceTag) -> Result<u64, ChainError> {
        away()
    }

    async fn gas_fees(&self) -> Result<GasFees, ChainError> {
        away()
    }

    async fn balance(&self, _: Address, _: BlockTag) -> Result<U256, ChainError> {
        away()
    }
}

#[async_trait]
impl ChainReader for FakeChain {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        away()
    }

    async fn header(&self, _: BlockTag) -> Result<Option<Header>, ChainError> {
        away()
    }

    async fn logs(&self, _: LogSpan, _: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        away()
    }

    async fn receipts(&self, _: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        away()
    }

    async fn code(&self, _: Address, _: BlockTag) -> Result<Bytes, ChainError> {
        away()
    }

    fn range_size(&self, _: &LogFilter) -> u64 {
        1
    }
}
