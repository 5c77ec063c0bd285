//! The same signed transactions on anvil and on the devnet: everything that both
//! can be asked about them has the same answer.
//!
//! ```text
//! seed ─► script (form, action) ─► pair ─┬─► anvil ──► observation ─┬─► compare
//!                                        └─► devnet ─► observation ─┘
//! ```
//!
//! What is left out of the comparison, and why, is in `compare`.

mod action;
mod compare;
mod form;
mod pair;
mod peer;
mod questions;
mod script;
mod stage;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use compare::{differences, is_compared, leaves, mutate, report};
use pair::Pair;
use script::Script;

/// Any seed will do; this one also meets every kind of log, see the last lines of the first test.
const SEED: u64 = 20;
const MIN_TRANSACTIONS: usize = 50;
const MIN_BLOCKS: usize = 10;

async fn assert_same(pair: &Pair, what: &str, questions: &[(&str, Value)]) {
    let (theirs, ours) = pair.ask(questions).await;
    let found = differences(&theirs, &ours);
    assert!(found.is_empty(), "{what} (seed {SEED}):\n{}", report(&found));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_block_and_every_answer_is_the_same() {
    let script = Script::new(SEED);
    assert!(script.transactions() >= MIN_TRANSACTIONS && script.blocks.len() >= MIN_BLOCKS);
    let pair = Pair::start().await;
    let mut seen = Seen::default();
    for (number, block) in (1..).zip(&script.blocks) {
        pair.play(block).await;
        let (theirs, ours) = pair.observe(number).await;
        let found = differences(&theirs, &ours);
        assert!(found.is_empty(), "block {number} (seed {SEED}):\n{}", report(&found));
        assert_eq!(
            theirs["receipts"].as_array().map(Vec::len),
            Some(block.len()),
            "all are in block {number}"
        );
        seen.add(&theirs);
    }
    let head = script.blocks.len() as u64;
    assert_same(&pair, "logs", &questions::logs(&script, head)).await;
    for number in 0..=head {
        assert_same(&pair, &format!("state after block {number}"), &questions::state(&script, number)).await;
    }
    assert_same(&pair, "calls", &questions::calls(&script)).await;
    assert_same(&pair, "gas estimates", &questions::estimates(&script)).await;
    seen.assert_complete(&script);
}

/// What the script made happen: a comparison proves nothing about what was never met.
#[derive(Default)]
struct Seen {
    types: BTreeSet<String>,
    statuses: BTreeMap<String, usize>,
    topic_counts: BTreeSet<usize>,
    signatures: BTreeSet<String>,
    base_fee_moves: BTreeSet<std::cmp::Ordering>,
    last_base_fee: u64,
}

impl Seen {
    fn add(&mut self, observation: &Value) {
        for receipt in observation["receipts"].as_array().unwrap() {
            self.types.insert(receipt["type"].as_str().unwrap().to_owned());
            *self.statuses.entry(receipt["status"].as_str().unwrap().to_owned()).or_default() += 1;
            for log in receipt["logs"].as_array().unwrap() {
                let topics = log["topics"].as_array().unwrap();
                self.topic_counts.insert(topics.len());
                self.signatures.extend(topics.first().and_then(Value::as_str).map(str::to_owned));
            }
        }
        let fee = observation["block"]["baseFeePerGas"].as_str().unwrap();
        let fee = u64::from_str_radix(fee.trim_start_matches("0x"), 16).unwrap();
        self.base_fee_moves.insert(fee.cmp(&self.last_base_fee));
        self.last_base_fee = fee;
    }

    fn assert_complete(&self, script: &Script) {
        println!(
            "{} transactions in {} blocks: {:?}",
            script.transactions(),
            script.blocks.len(),
            script.tally()
        );
        println!("types {:?}, statuses {:?}, topics {:?}", self.types, self.statuses, self.topic_counts);
        assert_eq!(self.types, ["0x0", "0x1", "0x2", "0x4"].map(str::to_owned).into());
        assert_eq!(self.topic_counts, BTreeSet::from([0, 1, 2, 3, 4]));
        assert!(self.statuses["0x0"] >= 5 && self.statuses["0x1"] >= 30, "{:?}", self.statuses);
        assert!(self.base_fee_moves.contains(&std::cmp::Ordering::Less), "the base fee fell");
        assert!(self.base_fee_moves.contains(&std::cmp::Ordering::Greater), "the base fee rose");
        for signature in action::collector_events() {
            assert!(self.signatures.contains(&signature.to_string()), "no event {signature}");
        }
    }
}

/// Each value of a block that is compared, changed alone, is the one difference, by name.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_changed_value_is_named() {
    let script = Script::new(SEED);
    let pair = Pair::start().await;
    pair.play(&script.blocks[0]).await;
    let (theirs, ours) = pair.observe(1).await;
    let mut named = BTreeSet::new();
    for pointer in leaves(&theirs).into_iter().filter(|pointer| is_compared(pointer)) {
        let mut changed = ours.clone();
        mutate(changed.pointer_mut(&pointer).unwrap());
        let found = differences(&theirs, &changed);
        assert_eq!(found.len(), 1, "{pointer}:\n{}", report(&found));
        assert_eq!(found[0].pointer, pointer);
        named.insert(pointer.rsplit('/').next().unwrap().to_owned());
    }
    let promised = [
        "status",
        "gasUsed",
        "cumulativeGasUsed",
        "effectiveGasPrice",
        "logsBloom",
        "contractAddress",
        "type",
        "receiptsRoot",
        "transactionsRoot",
        "baseFeePerGas",
        "logIndex",
        "transactionIndex",
        "data",
        "address",
    ];
    for name in promised {
        assert!(named.contains(name), "{name} is not compared: {named:?}");
    }
}

/// The same script with one transaction less is another chain, and is told from the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_transaction_is_seen() {
    let script = Script::new(SEED);
    let pair = Pair::start().await;
    let (last, rest) = script.blocks[0].split_last().unwrap();
    for sent in rest {
        pair.send(sent).await;
    }
    pair.theirs.result("eth_sendRawTransaction", json!([last.raw])).await;
    pair.mine().await;
    let (theirs, ours) = pair.observe(1).await;
    let found: BTreeSet<_> = differences(&theirs, &ours).into_iter().map(|found| found.pointer).collect();
    for expected in ["/block/gasUsed", "/block/receiptsRoot", "/block/transactionsRoot", "/receipts"] {
        assert!(found.contains(expected), "{expected}: {found:?}");
    }
}
