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
mod questions;
mod script;
mod seen;
mod stage;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use compare::{differences, is_compared, leaves, mutate, report};
use pair::Pair;
use script::Script;
use seen::Seen;

/// How many scripts are played, each from its own seed.
const SEEDS: u64 = 2;
const SOAK_SEEDS: u64 = 40;

#[tokio::test(flavor = "multi_thread")]
async fn every_block_and_every_answer_is_the_same() {
    let seeds = if std::env::var_os("WINDLASS_SOAK").is_some() { SOAK_SEEDS } else { SEEDS };
    for seed in 1..=seeds {
        play_and_compare(&Script::new(seed)).await;
    }
}

async fn play_and_compare(script: &Script) {
    let pair = Pair::start().await;
    let mut seen = Seen::default();
    for (number, block) in (1..).zip(&script.blocks) {
        pair.play(block).await;
        let (theirs, ours) = pair.observe(number).await;
        assert_same(script, &format!("block {number}"), &theirs, &ours);
        let receipts = theirs["receipts"].as_array().map(Vec::len);
        assert_eq!(receipts, Some(block.len()), "all that was sent is in block {number}");
        seen.add(&theirs);
    }
    let head = script.blocks.len() as u64;
    let mut questions = vec![("logs", questions::logs(script, head)), ("calls", questions::calls(script))];
    questions.push(("gas estimates", questions::estimates(script)));
    questions.extend((0..=head).map(|number| ("state", questions::state(script, number))));
    for (what, questions) in &questions {
        let (theirs, ours) = pair.ask(questions).await;
        assert_same(script, what, &theirs, &ours);
    }
    seen.assert_complete(script);
}

fn assert_same(script: &Script, what: &str, theirs: &Value, ours: &Value) {
    let found = differences(theirs, ours);
    assert!(found.is_empty(), "{what} (seed {}):\n{}", script.seed, report(&found));
}

/// Each value of a block that is compared, changed alone, is the one difference, by name.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_changed_value_is_named() {
    let script = Script::new(1);
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
    let script = Script::new(1);
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
