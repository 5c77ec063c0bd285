//! Whatever happens to a chain, it stays one: random histories of sends, blocks,
//! losses and reorgs, held against recomputation, a replay from genesis, and a
//! subscriber that saw nothing but the announcements.

use std::sync::atomic::{AtomicUsize, Ordering};

use alloy_consensus::TxEip1559;
use alloy_consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy_eips::eip1559::BaseFeeParams;
use alloy_primitives::{Address, Bloom, TxKind, U64, U256};
use alloy_rpc_types_eth::Log;
use proptest::prelude::*;
use serde_json::json;
use windlass_devnet::chain::{Chain, LogFilter, ReorgOptions, raw_bytes};
use windlass_devnet::node::Node;

use super::support::{GWEI, Rig, emit, emitter, topic};

const SENDERS: usize = 4;

#[derive(Debug, Clone)]
enum Step {
    Transfer { from: usize, to: usize, tip: u128 },
    Emit { from: usize, topics: u8, byte: u8 },
    Replace { from: usize },
    Gap { from: usize },
    Mine,
    Lose { newest: bool },
    Reorg { depth: u64, back: bool, fill: bool, new_blocks: Option<u64> },
}

fn step() -> impl Strategy<Value = Step> {
    let sender = 0..SENDERS;
    prop_oneof![
        4 => (sender.clone(), 0..SENDERS, 0u128..4).prop_map(|(from, to, tip)| Step::Transfer { from, to, tip }),
        6 => (sender.clone(), 0u8..=4, 0u8..3).prop_map(|(from, topics, byte)| Step::Emit { from, topics, byte }),
        1 => sender.clone().prop_map(|from| Step::Replace { from }),
        1 => sender.prop_map(|from| Step::Gap { from }),
        5 => Just(Step::Mine),
        1 => any::<bool>().prop_map(|newest| Step::Lose { newest }),
        2 => (1u64..8, any::<bool>(), any::<bool>(), proptest::option::of(0u64..5))
            .prop_map(|(depth, back, fill, new_blocks)| Step::Reorg { depth, back, fill, new_blocks }),
    ]
}

struct World {
    rig: Rig,
    contracts: Vec<Address>,
    sent: Vec<alloy_primitives::B256>,
}

impl World {
    fn new() -> Self {
        let rig = Rig::new();
        let contracts = (0..=4).map(|topics| rig.install(&emitter(topics))).collect();
        Self { rig, contracts, sent: Vec::new() }
    }

    fn send(&mut self, from: usize, tx: TxEip1559) {
        // A refusal is a valid answer; the model is about what was taken.
        self.sent.extend(self.rig.try_send(from, tx));
    }

    fn take(&mut self, step: &Step) {
        let rig = &self.rig;
        let next = |from: usize| rig.chain.next_nonce(rig.address(from));
        match *step {
            Step::Transfer { from, to, tip } => {
                let tx = TxEip1559 {
                    to: TxKind::Call(rig.address(to)),
                    value: U256::from(1_000_000),
                    max_priority_fee_per_gas: tip * GWEI,
                    ..rig.plain(next(from))
                };
                self.send(from, tx);
            }
            Step::Emit { from, topics, byte } => {
                let topics: Vec<_> = (0..topics).map(|at| topic(byte + at)).collect();
                let tx = TxEip1559 {
                    to: TxKind::Call(self.contracts[topics.len()]),
                    value: U256::ZERO,
                    input: emit(&topics, &[byte; 40]),
                    gas_limit: 200_000,
                    ..rig.plain(next(from))
                };
                self.send(from, tx);
            }
            Step::Replace { from } => {
                let nonce = next(from).saturating_sub(1);
                let tx = TxEip1559 {
                    max_fee_per_gas: 900 * GWEI,
                    max_priority_fee_per_gas: 9 * GWEI,
                    ..rig.plain(nonce)
                };
                self.send(from, tx);
            }
            Step::Gap { from } => {
                let tx = rig.plain(next(from) + 2);
                self.send(from, tx);
            }
            Step::Mine => {
                rig.chain.mine();
            }
            Step::Lose { newest } => {
                let mut pooled = self.sent.iter().filter(|hash| rig.chain.is_pooled(**hash));
                if let Some(hash) = if newest { pooled.next_back() } else { pooled.next() } {
                    assert!(rig.chain.drop_transaction(*hash));
                }
            }
            Step::Reorg { depth, back, fill, new_blocks } => {
                // The contracts stay where they are.
                let spare = rig.chain.head().number() - self.contracts.len() as u64;
                let options =
                    ReorgOptions { return_to_pool: back, fill, new_blocks, ..ReorgOptions::default() };
                if depth.min(spare) > 0 {
                    rig.chain.reorg(depth.min(spare), &options).unwrap();
                }
            }
        }
    }
}

fn check_blocks(chain: &Chain) {
    for number in 1..=chain.head().number() {
        let (parent, block) = (chain.block(number - 1).unwrap(), chain.block(number).unwrap());
        assert_eq!(block.header.hash_slow(), block.hash());
        assert_eq!(block.header.parent_hash, parent.hash());
        assert_eq!(block.header.number, number);
        assert!(block.header.timestamp > parent.header.timestamp);
        assert_eq!(
            block.header.base_fee_per_gas,
            parent.header.next_block_base_fee(BaseFeeParams::ethereum())
        );
        let envelopes: Vec<_> = block.transactions.iter().map(|tx| tx.signed().inner().clone()).collect();
        assert_eq!(block.header.transactions_root, calculate_transaction_root(&envelopes));
        let receipts: Vec<_> = block.outcomes.iter().map(|outcome| outcome.receipt.clone()).collect();
        assert_eq!(block.header.receipts_root, calculate_receipt_root(&receipts));
        let bloom: Bloom = block.logs().map(|log| log.inner).collect::<Vec<_>>().iter().collect();
        assert_eq!(block.header.logs_bloom, bloom);
        assert_eq!(block.header.gas_used, block.outcomes.iter().map(|outcome| outcome.gas_used).sum::<u64>());
    }
}

/// Puts the canonical transactions on a fresh chain, block by block, and compares every height.
fn check_replay(world: &World) {
    let (rig, replay) = (&world.rig, Rig::new());
    for number in 1..=rig.chain.head().number() {
        let block = rig.chain.block(number).unwrap();
        for tx in &block.transactions {
            replay.chain.send_raw(&raw_bytes(tx.signed().inner())).unwrap();
        }
        let again = replay.chain.mine();
        assert_eq!(again.header.transactions_root, block.header.transactions_root);
        assert_eq!(again.header.receipts_root, block.header.receipts_root);
        for account in 0..SENDERS {
            let address = rig.address(account);
            let then = |method: &str| rig.ask(method, json!([address, U64::from(number)]));
            assert_eq!(then("eth_getBalance"), json!(replay.chain.balance(address)));
            assert_eq!(then("eth_getTransactionCount"), json!(U64::from(replay.chain.nonce(address))));
            let slot = U256::from_be_slice(address.as_slice());
            for contract in &world.contracts {
                let stored = rig.ask("eth_getStorageAt", json!([contract, slot, U64::from(number)]));
                assert_eq!(
                    stored,
                    json!(alloy_primitives::B256::from(replay.chain.storage(*contract, slot)))
                );
            }
        }
        let coinbase = rig.ask("eth_getBalance", json!([Address::ZERO, U64::from(number)]));
        assert_eq!(coinbase, json!(replay.chain.balance(Address::ZERO)));
    }
    assert_eq!(rig.chain.balance(rig.address(0)), replay.chain.balance(rig.address(0)));
    assert_eq!(rig.chain.nonce(rig.address(0)), replay.chain.nonce(rig.address(0)));
}

/// Applies announced logs as a subscriber would: what is removed must have been there, last.
fn apply(seen: &mut Vec<Log>, logs: &[Log]) {
    for log in logs {
        if log.removed {
            let added = Log { removed: false, ..log.clone() };
            let at =
                seen.iter().rposition(|have| *have == added).expect("only a log that was added is removed");
            seen.remove(at);
        } else {
            seen.push(log.clone());
        }
    }
}

#[test]
fn any_history_leaves_a_consistent_chain() {
    let (reorgs, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&proptest::collection::vec(step(), 1..60), |steps| {
            let mut world = World::new();
            let mut news = world.rig.chain.announcements();
            let mut seen = Vec::new();
            for step in &steps {
                world.take(step);
                while let Ok(announcement) = news.try_recv() {
                    apply(&mut seen, &announcement.logs);
                }
            }
            check_blocks(&world.rig.chain);
            check_replay(&world);
            let truth = world.rig.chain.canonical_logs(&LogFilter::all());
            assert_eq!(seen, truth, "a subscriber ends with the canonical logs");
            let served = world.rig.ask("eth_getLogs", json!([{"fromBlock": "earliest"}]));
            assert_eq!(serde_json::from_value::<Vec<Log>>(served).unwrap(), truth);
            let stats = world.rig.chain.stats();
            reorgs.fetch_add(stats.reorgs as usize, Ordering::Relaxed);
            dropped.fetch_add(stats.blocks_dropped as usize, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    assert!(reorgs.into_inner() >= 20, "the histories must contain reorgs to mean something");
    assert!(dropped.into_inner() >= 20, "and drop blocks");
}
