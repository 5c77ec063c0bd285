//! What a script made happen: a comparison proves nothing about what was never met.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::action::{KINDS, collector_events};
use super::script::Script;

const MIN_TRANSACTIONS: usize = 50;
const MIN_BLOCKS: usize = 10;
const MIN_FAILED: usize = 10;
const MIN_GOOD: usize = 30;

#[derive(Debug, Default)]
pub(super) struct Seen {
    types: BTreeSet<String>,
    statuses: BTreeMap<String, usize>,
    topic_counts: BTreeSet<usize>,
    signatures: BTreeSet<String>,
    base_fee_moves: BTreeSet<Ordering>,
    last_base_fee: Option<u64>,
}

impl Seen {
    /// Takes note of one block.
    pub(super) fn add(&mut self, observation: &Value) {
        for receipt in observation["receipts"].as_array().unwrap() {
            self.types.insert(text(&receipt["type"]));
            *self.statuses.entry(text(&receipt["status"])).or_default() += 1;
            for log in receipt["logs"].as_array().unwrap() {
                let topics = log["topics"].as_array().unwrap();
                self.topic_counts.insert(topics.len());
                self.signatures.extend(topics.first().map(text));
            }
        }
        let fee = text(&observation["block"]["baseFeePerGas"]);
        let fee = u64::from_str_radix(fee.trim_start_matches("0x"), 16).unwrap();
        self.base_fee_moves.extend(self.last_base_fee.map(|last| fee.cmp(&last)));
        self.last_base_fee = Some(fee);
    }

    #[expect(clippy::print_stdout, reason = "what a test met is shown with its result")]
    fn print(&self, script: &Script) {
        let (seed, transactions, blocks) = (script.seed, script.transactions(), script.blocks.len());
        println!("seed {seed}: {transactions} transactions in {blocks} blocks: {:?}", script.tally());
        println!("types {:?}, statuses {:?}, topics {:?}", self.types, self.statuses, self.topic_counts);
    }

    /// Every kind of transaction, outcome, log and base fee was among what was compared.
    pub(super) fn assert_complete(&self, script: &Script) {
        self.print(script);
        assert!(script.transactions() >= MIN_TRANSACTIONS && script.blocks.len() >= MIN_BLOCKS);
        let tally = script.tally();
        let never: Vec<_> = KINDS.iter().filter(|kind| !tally.contains_key(*kind)).collect();
        assert!(never.is_empty(), "seed {} never did {never:?}", script.seed);
        assert_eq!(self.types, ["0x0", "0x1", "0x2", "0x4"].map(str::to_owned).into());
        assert!(self.statuses["0x0"] >= MIN_FAILED && self.statuses["0x1"] >= MIN_GOOD, "{self:?}");
        assert_eq!(self.topic_counts, BTreeSet::from([0, 1, 2, 3, 4]));
        for event in collector_events() {
            assert!(self.signatures.contains(&event.to_string()), "seed {}: no event {event}", script.seed);
        }
        for way in [Ordering::Less, Ordering::Greater] {
            assert!(self.base_fee_moves.contains(&way), "seed {}: base fee never {way:?}", script.seed);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
