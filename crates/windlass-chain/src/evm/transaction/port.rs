//! An endpoint behind the core's port.

use async_trait::async_trait;
use windlass_core::chain::{Address, B256, Bytes, U256};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::reader::{BlockTag, ChainError};

use crate::evm::reader::EvmReader;

#[async_trait]
impl TransactionChain for EvmReader {
    async fn call(&self, call: &Call, at: BlockTag) -> Result<CallOutcome, ChainError> {
        Ok(self.rpc().call_contract(call, at).await?)
    }

    async fn estimate_gas(&self, call: &Call) -> Result<GasEstimate, ChainError> {
        Ok(self.rpc().estimate_gas(call).await?)
    }

    async fn send(&self, raw: &Bytes) -> Vec<SendAnswer> {
        let answer = self.rpc().send_transaction(raw).await;
        vec![answer.unwrap_or_else(|error| SendAnswer::Silent(error.to_string()))]
    }

    async fn receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, ChainError> {
        Ok(self.rpc().transaction_receipt(hash).await?)
    }

    async fn nonce(&self, account: Address, at: NonceTag) -> Result<u64, ChainError> {
        Ok(self.rpc().nonce(account, at).await?)
    }

    async fn gas_fees(&self) -> Result<GasFees, ChainError> {
        Ok(self.rpc().gas_fees().await?)
    }

    async fn balance(&self, account: Address, at: BlockTag) -> Result<U256, ChainError> {
        Ok(self.rpc().balance(account, at).await?)
    }
}
