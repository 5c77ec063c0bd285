//! What a transaction of the script does.

use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_sol_types::{SolCall, SolEvent};
use rand::Rng;
use rand::rngs::StdRng;

use super::stage::Stage;
use crate::chain::support::{emit, emitter, init_code, topic};
use crate::clients::contracts::DemoToken::{approveCall, mintCall, transferCall};
use crate::clients::contracts::FeeCollector::{
    FeesCollected, batchWithdrawIntegratorFeesCall, batchWithdrawLifiFeesCall, collectNativeFeesCall,
    collectTokenFeesCall, withdrawIntegratorFeesCall, withdrawLifiFeesCall,
};

/// Enough for anything here but creating the demo's contracts.
const CALL_GAS: u64 = 300_000;
const CREATE_GAS: u64 = 2_500_000;
/// More than half of a block's gas, so that the base fee rises when it is burnt.
const BURN_GAS: u64 = 16_000_000;

/// A transaction without its sender, type and nonce.
#[derive(Debug, Clone)]
pub(super) struct Action {
    pub(super) kind: &'static str,
    pub(super) to: TxKind,
    pub(super) value: U256,
    pub(super) input: Bytes,
    pub(super) gas: u64,
}

impl Action {
    fn call(kind: &'static str, to: Address, input: impl Into<Bytes>) -> Self {
        Self { kind, to: TxKind::Call(to), value: U256::ZERO, input: input.into(), gas: CALL_GAS }
    }

    pub(super) fn create(kind: &'static str, init_code: Bytes) -> Self {
        Self { kind, to: TxKind::Create, value: U256::ZERO, input: init_code, gas: CREATE_GAS }
    }

    fn value(self, wei: u64) -> Self {
        Self { value: U256::from(wei), ..self }
    }

    fn gas(self, gas: u64) -> Self {
        Self { gas, ..self }
    }
}

/// Who takes part, and chance.
pub(super) struct Cast<'a> {
    pub(super) stage: &'a Stage,
    pub(super) senders: &'a [Address],
    /// The account that takes on an emitter's code.
    pub(super) delegate: Address,
    pub(super) random: &'a mut StdRng,
}

/// What can happen, by name.
pub(super) const KINDS: &[&str] = &[
    "pay",
    "pay nothing",
    "pay a newcomer",
    "log 0",
    "log 1",
    "log 2",
    "log 3",
    "log 4",
    "revert",
    "out of gas",
    "out of gas at once",
    "burn",
    "create",
    "create in vain",
    "mint",
    "transfer",
    "transfer too much",
    "collect token",
    "collect native",
    "collect too little",
    "withdraw",
    "withdraw protocol's",
    "withdraw all",
    "withdraw all protocol's",
    "delegate",
    "call delegate",
];

impl Cast<'_> {
    pub(super) fn action(&mut self, kind: &'static str) -> Action {
        if let Some(topics) = kind.strip_prefix("log ") {
            return self.log(kind, topics.parse().unwrap());
        }
        let stage = self.stage;
        match kind {
            "pay" => Action::call(kind, self.someone(), []).value(self.wei()).gas(21_000),
            "pay nothing" => Action::call(kind, self.someone(), []),
            "pay a newcomer" => {
                Action::call(kind, Address::from(self.random.random::<[u8; 20]>()), []).value(1)
            }
            "revert" => Action::call(kind, stage.reverter, self.bytes(80)),
            "out of gas" => Action::call(kind, stage.looper, []).gas(60_000),
            "out of gas at once" => Action::call(kind, stage.emitters[0], []).gas(21_064),
            "burn" => Action::call(kind, stage.broken, []).gas(BURN_GAS),
            "create" => Action::create(kind, init_code(&emitter(self.random.random_range(0..5)))),
            // PUSH0, PUSH0, REVERT
            "create in vain" => Action::create(kind, Bytes::from_static(&[0x5f, 0x5f, 0xfd])).value(5),
            "delegate" => Action::call(kind, self.delegate, self.bytes(40)),
            "call delegate" => Action::call(kind, self.delegate, self.bytes(40)),
            _ => self.money(kind),
        }
    }

    fn money(&mut self, kind: &'static str) -> Action {
        let (token, collector) = (self.stage.token, self.stage.collector);
        let (fee, share, integrator) = (self.amount(), self.amount(), self.someone());
        let call = match kind {
            "mint" => return self.mint(integrator),
            "transfer" => {
                return Action::call(kind, token, transferCall { to: integrator, value: fee }.abi_encode());
            }
            "transfer too much" => {
                return Action::call(
                    kind,
                    token,
                    transferCall { to: integrator, value: U256::MAX }.abi_encode(),
                );
            }
            "collect token" => {
                collectTokenFeesCall { token, integratorFee: fee, lifiFee: share, integrator }.abi_encode()
            }
            "collect native" | "collect too little" => {
                let call =
                    collectNativeFeesCall { integratorFee: fee, lifiFee: share, integrator }.abi_encode();
                let wei = (fee + share).to::<u64>();
                let wei =
                    if kind == "collect native" { wei + self.random.random_range(0..2) } else { wei - 1 };
                return Action::call(kind, collector, call).value(wei);
            }
            "withdraw" => withdrawIntegratorFeesCall { token }.abi_encode(),
            "withdraw protocol's" => withdrawLifiFeesCall { token }.abi_encode(),
            "withdraw all" => batchWithdrawIntegratorFeesCall { tokens: self.tokens() }.abi_encode(),
            "withdraw all protocol's" => batchWithdrawLifiFeesCall { tokens: self.tokens() }.abi_encode(),
            other => panic!("no kind {other}"),
        };
        Action::call(kind, collector, call)
    }

    pub(super) fn mint(&self, to: Address) -> Action {
        Action::call(
            "mint",
            self.stage.token,
            mintCall { to, amount: U256::from(1_000_000_000) }.abi_encode(),
        )
    }

    pub(super) fn approve(&self) -> Action {
        let call = approveCall { spender: self.stage.collector, value: U256::MAX };
        Action::call("approve", self.stage.token, call.abi_encode())
    }

    fn log(&mut self, kind: &'static str, topics: usize) -> Action {
        let words: Vec<B256> = (0..topics).map(|_| topic(self.random.random_range(0..4))).collect();
        let data = self.bytes(300);
        Action::call(kind, self.stage.emitters[topics], emit(&words, &data))
    }

    fn tokens(&self) -> Vec<Address> {
        vec![self.stage.token, Address::ZERO]
    }

    fn someone(&mut self) -> Address {
        self.senders[self.random.random_range(0..self.senders.len())]
    }

    fn wei(&mut self) -> u64 {
        self.random.random_range(1..1_000_000_000)
    }

    fn amount(&mut self) -> U256 {
        U256::from(self.random.random_range(1..10_000_u64))
    }

    /// Up to `most` bytes, at times none.
    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.random.random_range(0..=most);
        (0..len).map(|_| self.random.random()).collect()
    }
}

/// The events of the collector that the script must have brought about.
pub(super) fn collector_events() -> [B256; 3] {
    use crate::clients::contracts::FeeCollector::{FeesWithdrawn, LiFiFeesWithdrawn};
    [FeesCollected::SIGNATURE_HASH, FeesWithdrawn::SIGNATURE_HASH, LiFiFeesWithdrawn::SIGNATURE_HASH]
}
