//! A chain with shorthand for sending, asking and assembling contracts.

use alloy_consensus::{TxEip1559, TxEnvelope};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use serde_json::Value;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount, PoolError};
use windlass_devnet::node::{Node, RpcError};

pub(crate) const GWEI: u128 = 1_000_000_000;

/// A fee cap that no base fee in these tests reaches.
pub(crate) const AMPLE_FEE: u128 = 100 * GWEI;

pub(crate) struct Rig {
    pub(crate) chain: Chain,
    pub(crate) accounts: Vec<DevAccount>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(ChainOptions::deterministic())
    }

    pub(crate) fn with(options: ChainOptions) -> Self {
        let chain = Chain::new(options);
        Self { accounts: chain.accounts(), chain }
    }

    pub(crate) fn address(&self, account: usize) -> Address {
        self.accounts[account].address()
    }

    /// A transfer of one wei to nobody in particular, with everything settable by the caller.
    pub(crate) fn plain(&self, nonce: u64) -> TxEip1559 {
        TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce,
            gas_limit: 21_000,
            max_fee_per_gas: AMPLE_FEE,
            max_priority_fee_per_gas: GWEI,
            to: TxKind::Call(Address::repeat_byte(0xee)),
            value: U256::ONE,
            ..TxEip1559::default()
        }
    }

    pub(crate) fn sign(&self, account: usize, tx: TxEip1559) -> TxEnvelope {
        self.accounts[account].sign(tx).unwrap()
    }

    pub(crate) fn try_send(&self, account: usize, tx: TxEip1559) -> Result<B256, PoolError> {
        self.chain.send(self.sign(account, tx))
    }

    pub(crate) fn send(&self, account: usize, tx: TxEip1559) -> B256 {
        self.try_send(account, tx).unwrap()
    }

    /// Sends a call with the account's next nonce.
    pub(crate) fn send_call(&self, account: usize, to: Address, input: Bytes) -> B256 {
        let nonce = self.chain.next_nonce(self.address(account));
        let tx = TxEip1559 {
            to: TxKind::Call(to),
            value: U256::ZERO,
            input,
            gas_limit: 200_000,
            ..self.plain(nonce)
        };
        self.send(account, tx)
    }

    /// Deploys runtime code from account 0 and mines it.
    pub(crate) fn install(&self, runtime: &[u8]) -> Address {
        let address = self.chain.deploy(&self.accounts[0], init_code(runtime)).unwrap();
        self.chain.mine();
        assert_eq!(self.chain.code(address).as_ref(), runtime, "the contract is there");
        address
    }

    pub(crate) fn rpc(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let raw = serde_json::value::to_raw_value(&params).unwrap();
        self.chain.call(method, Some(&raw)).map(|bytes| serde_json::from_slice(&bytes).unwrap())
    }

    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        self.rpc(method, params).unwrap()
    }

    /// The words of the error that a call must give.
    pub(crate) fn refusal(&self, method: &str, params: Value) -> (i64, String) {
        let error = self.rpc(method, params).unwrap_err();
        (error.code, error.message)
    }
}

/// Init code that installs `runtime`, which must be shorter than 256 bytes.
pub(crate) fn init_code(runtime: &[u8]) -> Bytes {
    let len = u8::try_from(runtime.len()).unwrap();
    // PUSH1 len, DUP1, PUSH1 9, PUSH0, CODECOPY, PUSH0, RETURN
    let mut code = vec![0x60, len, 0x80, 0x60, 9, 0x5f, 0x39, 0x5f, 0xf3];
    code.extend_from_slice(runtime);
    code.into()
}

/// A contract that counts its calls per caller in storage and emits a log with
/// `topics` topics from the front of the calldata and the rest as data.
pub(crate) fn emitter(topics: u8) -> Vec<u8> {
    // PUSH1 1, CALLER, SLOAD, ADD, CALLER, SSTORE
    let mut code = vec![0x60, 1, 0x33, 0x54, 0x01, 0x33, 0x55];
    for topic in (0..topics).rev() {
        // PUSH1 offset, CALLDATALOAD
        code.extend([0x60, 32 * topic, 0x35]);
    }
    let head = 32 * topics;
    // PUSH1 head, CALLDATASIZE, SUB, DUP1, PUSH1 head, PUSH0, CALLDATACOPY, PUSH0, LOGn, STOP
    code.extend([0x60, head, 0x36, 0x03, 0x80, 0x60, head, 0x5f, 0x37, 0x5f, 0xa0 + topics, 0x00]);
    code
}

/// A contract that reverts with its calldata.
pub(crate) fn reverter() -> Vec<u8> {
    // CALLDATASIZE, PUSH0, PUSH0, CALLDATACOPY, CALLDATASIZE, PUSH0, REVERT
    vec![0x36, 0x5f, 0x5f, 0x37, 0x36, 0x5f, 0xfd]
}

/// The calldata for an emitter: topics, then data.
pub(crate) fn emit(topics: &[B256], data: &[u8]) -> Bytes {
    let mut input: Vec<u8> = topics.iter().flat_map(|topic| topic.0).collect();
    input.extend_from_slice(data);
    input.into()
}

pub(crate) fn topic(byte: u8) -> B256 {
    B256::repeat_byte(byte)
}
