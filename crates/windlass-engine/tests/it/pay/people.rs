//! What others do on the chain, and what can be seen there: no part of who pays.

use std::sync::atomic::Ordering;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, keccak256};
use alloy_sol_types::SolCall;
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::ledger::Intent;
use windlass_devnet::chain::PoolError;
use windlass_devnet::node::Node;

use super::world::{World, balanceOfCall, mintCall, pausedCall};

impl World {
    /// A transaction of an account, mined at once.
    pub(crate) fn act(&self, account: usize, to: Address, call: &impl SolCall) {
        self.send_as(account, to, call);
        self.chain.mine();
    }

    /// A transaction of an account, which waits to be mined.
    pub(crate) fn send_as(&self, account: usize, to: Address, call: &impl SolCall) -> B256 {
        let nonce = self.chain.next_nonce(self.chain.accounts()[account].address());
        self.send_with(account, nonce, to, call).expect("taken")
    }

    /// Sends an account's coin to another, mined at once.
    pub(crate) fn send_coin(&self, from: usize, to: Address, wei: U256) {
        let sender = self.chain.accounts().swap_remove(from);
        let transaction = TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce: self.chain.next_nonce(sender.address()),
            // A vault runs code when it takes coins.
            gas_limit: 50_000,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 0,
            to: TxKind::Call(to),
            value: wei,
            ..TxEip1559::default()
        };
        self.chain.send(sender.sign(transaction).expect("signed")).expect("taken");
        self.chain.mine();
    }

    /// The same with a nonce of its own; it pays well enough to take the place of one that was
    /// not offered more for a few times.
    pub(crate) fn send_with(
        &self,
        account: usize,
        nonce: u64,
        to: Address,
        call: &impl SolCall,
    ) -> Result<B256, PoolError> {
        let sender = self.chain.accounts().swap_remove(account);
        let transaction = TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce,
            gas_limit: 500_000,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 2_000_000_000,
            to: TxKind::Call(to),
            input: call.abi_encode().into(),
            ..TxEip1559::default()
        };
        self.chain.send(sender.sign(transaction).expect("signed"))
    }

    /// Signs what a transaction calls once more, for a better price, with nobody's knowledge.
    pub(crate) fn send_again_dearer(&self, account: usize, intent: &Intent) {
        let sender = self.chain.accounts().swap_remove(account);
        let transaction = TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce: intent.id.nonce,
            gas_limit: intent.gas_limit,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 2_000_000_000,
            to: TxKind::Call(intent.to),
            input: intent.data.clone(),
            ..TxEip1559::default()
        };
        self.chain.send(sender.sign(transaction).expect("signed")).expect("taken");
    }

    /// Gives the vault more.
    pub(crate) fn add(&self, amount: u64) {
        let (to, sum) = (self.vault.address, U256::from(amount));
        match self.token {
            NATIVE_COIN => self.send_coin(0, to, sum),
            token => self.act(0, token, &mintCall { to, amount: sum }),
        }
        self.given.fetch_add(amount, Ordering::SeqCst);
    }

    /// What the vault was given later.
    pub(crate) fn added(&self) -> U256 {
        U256::from(self.given.load(Ordering::SeqCst))
    }

    pub(crate) fn balance(&self, of: Address) -> U256 {
        match self.token {
            NATIVE_COIN => self.chain.balance(of),
            token => self.ask(token, &balanceOfCall { owner: of }),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        !self.ask(self.vault.address, &pausedCall {}).is_zero()
    }

    /// What a contract answers, as a number.
    fn ask(&self, contract: Address, call: &impl SolCall) -> U256 {
        let data = Bytes::from(call.abi_encode());
        let params = serde_json::json!([{"to": contract, "data": data}, "latest"]);
        let raw = serde_json::value::to_raw_value(&params).expect("json");
        let answer = self.chain.call("eth_call", Some(&raw)).expect("called");
        let bytes: Bytes = serde_json::from_slice(&answer).expect("bytes");
        U256::from_be_slice(&bytes)
    }

    /// When the newest block says that it is.
    pub(crate) fn chain_now_ms(&self) -> i64 {
        i64::try_from(self.chain.head().header.timestamp * 1_000).expect("a time")
    }

    /// A block and a while.
    pub(crate) fn pass_time(&self) {
        self.chain.mine();
        self.clock.advance_ms(3_000);
    }

    /// Nobody knows any more of what was sent and is not in a block.
    pub(crate) fn drop_all(&self) {
        for raw in self.sent.lock().expect("whole").iter() {
            self.chain.drop_transaction(keccak256(raw));
        }
    }
}
