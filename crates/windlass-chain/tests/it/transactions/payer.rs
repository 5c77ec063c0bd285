//! Somebody who makes, signs and sends transactions through the port alone.

use alloy_primitives::{Address, B256, Bytes, Signature};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::payout::transaction::{SignedTransaction, Transaction};
use windlass_devnet::chain::dev_accounts;

use crate::served::chain_id;

/// How often a receipt is asked for.
const MAX_QUESTIONS: u32 = 10_000;

/// One of the well-known development accounts.
#[derive(Clone)]
pub(crate) struct Payer(PrivateKeySigner);

impl Payer {
    pub(crate) fn new(place: usize) -> Self {
        Self(PrivateKeySigner::from_bytes(&dev_accounts()[place].key()).expect("a key"))
    }

    pub(crate) fn address(&self) -> Address {
        self.0.address()
    }

    pub(crate) fn sign(&self, hash: B256) -> Signature {
        self.0.sign_hash_sync(&hash).expect("a signature")
    }

    pub(crate) fn signed(&self, transaction: &Transaction) -> SignedTransaction {
        transaction.signed(&self.sign(transaction.signing_hash()))
    }

    /// Something small, with a nonce and fees of one's choice.
    pub(crate) fn small(&self, nonce: u64, fees: GasFees) -> SignedTransaction {
        let to = Some(Address::repeat_byte(0x77));
        let chain = chain_id();
        self.signed(&Transaction { chain, nonce, to, data: Bytes::new(), gas_limit: 21_000, fees })
    }

    /// A transaction with everything found out through the port.
    pub(crate) async fn make(
        &self,
        chain: &dyn TransactionChain,
        to: Option<Address>,
        data: Bytes,
    ) -> SignedTransaction {
        let call = Call { from: self.address(), to, data };
        let estimate = chain.estimate_gas(&call).await.expect("an estimate");
        let GasEstimate::Gas(gas) = estimate else { panic!("{estimate:?}") };
        let transaction = Transaction {
            chain: chain.chain_id().await.expect("an id"),
            nonce: chain.nonce(self.address(), NonceTag::Pending).await.expect("a nonce"),
            to,
            data: call.data,
            gas_limit: gas + gas / 5,
            fees: chain.gas_fees().await.expect("fees"),
        };
        self.signed(&transaction)
    }

    /// Does it on a chain that mines by itself; the receipt, which must be of a success.
    pub(crate) async fn act(
        &self,
        chain: &dyn TransactionChain,
        to: Option<Address>,
        data: Bytes,
    ) -> TransactionReceipt {
        let SignedTransaction { hash, raw } = self.make(chain, to, data).await;
        assert_eq!(chain.send(&raw).await, [SendAnswer::Accepted]);
        let receipt = mined(chain, hash).await;
        assert!(receipt.is_success && receipt.hash == hash, "{receipt:?}");
        receipt
    }
}

/// Asks until it is in a block: a chain may take it first, and mine it then.
async fn mined(chain: &dyn TransactionChain, hash: B256) -> TransactionReceipt {
    for _ in 0..MAX_QUESTIONS {
        if let Some(receipt) = chain.receipt(hash).await.expect("an answer") {
            return receipt;
        }
    }
    panic!("{hash} is in no block");
}

/// What is enough on any chain of the tests.
pub(crate) fn plenty() -> GasFees {
    GasFees { max_fee: 100_000_000_000, priority_fee: 2_000_000_000 }
}
