//! `eth_getLogs` against a brute-force reading of every log.

use alloy_primitives::{Address, B256, U64};
use alloy_rpc_types_eth::Log;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_devnet::chain::{ChainOptions, FutureRange, ReorgOptions};

use super::support::{Rig, emit, emitter, topic};

/// A chain of 14 blocks with logs of none to four topics from five contracts.
fn eventful(options: ChainOptions) -> (Rig, Vec<Address>) {
    let rig = Rig::with(options);
    let contracts: Vec<_> = (0..=4).map(|topics| rig.install(&emitter(topics))).collect();
    for round in 0u8..8 {
        for (topics, contract) in contracts.iter().enumerate() {
            let topics: Vec<_> = (0..topics as u8).map(|at| topic((round + at) % 3)).collect();
            rig.send_call(usize::from(round % 3), *contract, emit(&topics, &[round]));
        }
        rig.chain.mine();
    }
    rig.chain.mine();
    (rig, contracts)
}

fn served(rig: &Rig, filter: &Value) -> Vec<Log> {
    serde_json::from_value(rig.ask("eth_getLogs", json!([filter]))).unwrap()
}

/// Every log of the chain by the receipts alone.
fn every_log(rig: &Rig) -> Vec<Log> {
    (0..=rig.chain.head().number())
        .flat_map(|number| {
            rig.ask("eth_getBlockReceipts", json!([U64::from(number)])).as_array().unwrap().clone()
        })
        .flat_map(|receipt| serde_json::from_value::<Vec<Log>>(receipt["logs"].clone()).unwrap())
        .collect()
}

/// One position: nothing, or a set of topics to choose from.
fn position() -> impl Strategy<Value = Option<Vec<B256>>> {
    proptest::option::of(proptest::collection::vec((0u8..4).prop_map(topic), 0..3))
}

fn wanted(log: &Log, addresses: &[Address], positions: &[Option<Vec<B256>>]) -> bool {
    let address_fits = addresses.is_empty() || addresses.contains(&log.address());
    let enough = log.topics().len() >= positions.len();
    let open = |any: &Option<Vec<B256>>| any.as_ref().is_none_or(Vec::is_empty);
    let fits =
        |at: usize| open(&positions[at]) || positions[at].as_ref().unwrap().contains(&log.topics()[at]);
    address_fits && enough && (0..positions.len()).all(fits)
}

#[test]
fn any_filter_finds_what_brute_force_finds() {
    let (rig, contracts) = eventful(ChainOptions::deterministic());
    let (all, head) = (every_log(&rig), rig.chain.head().number());
    assert_eq!(all.len(), 40);
    let filters = (
        proptest::collection::vec(0usize..6, 0..3),
        proptest::collection::vec(position(), 0..=4),
        (0..=head).prop_flat_map(move |from| (Just(from), from..=head)),
    );
    let mut hits = 0;
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    runner
        .run(&filters, |(chosen, positions, (from, to))| {
            let stranger = Address::repeat_byte(0xdd);
            let addresses: Vec<_> =
                chosen.iter().map(|index| contracts.get(*index).copied().unwrap_or(stranger)).collect();
            let filter = json!({
                "fromBlock": U64::from(from), "toBlock": U64::from(to),
                "address": addresses, "topics": positions,
            });
            let expected: Vec<_> = all
                .iter()
                .filter(|log| (from..=to).contains(&log.block_number.unwrap()))
                .filter(|log| wanted(log, &addresses, &positions))
                .cloned()
                .collect();
            let found = served(&rig, &filter);
            prop_assert_eq!(&found, &expected);
            let parsed = serde_json::from_value(filter).unwrap();
            prop_assert_eq!(rig.chain.canonical_logs(&parsed), expected);
            Ok(())
        })
        .unwrap();
    for positions in 0..=4 {
        let open = vec![Value::Null; positions];
        hits += served(&rig, &json!({"fromBlock": "earliest", "topics": open})).len();
    }
    assert_eq!(hits, 40 + 32 + 24 + 16 + 8, "n open positions want logs with n topics");
}

#[test]
fn a_block_hash_names_one_block_even_an_orphan() {
    let (rig, _) = eventful(ChainOptions::deterministic());
    let block = rig.chain.block(7).unwrap();
    let by_hash = json!({"blockHash": block.hash()});
    let logs = served(&rig, &by_hash);
    assert_eq!(logs, block.logs().collect::<Vec<_>>());
    assert!(!logs.is_empty());
    rig.chain.reorg(9, &ReorgOptions::default()).unwrap();
    assert_eq!(served(&rig, &by_hash), logs, "a real node still serves a block it has seen");
    assert_eq!(
        rig.refusal("eth_getLogs", json!([{"blockHash": B256::repeat_byte(3)}])),
        (-32000, "unknown block".into())
    );
}

#[test]
fn a_chain_that_keeps_no_orphans_forgets_them() {
    let (rig, _) = eventful(ChainOptions { orphans_kept: 0, ..ChainOptions::deterministic() });
    let hash = rig.chain.block(7).unwrap().hash();
    rig.chain.reorg(9, &ReorgOptions::default()).unwrap();
    assert_eq!(rig.refusal("eth_getLogs", json!([{"blockHash": hash}])).1, "unknown block");
    assert_eq!(rig.ask("eth_getBlockByHash", json!([hash, false])), Value::Null);
}

#[test]
fn ranges_are_refused_in_geths_words() {
    let (rig, _) = eventful(ChainOptions::deterministic());
    let refusal = |filter: Value| rig.refusal("eth_getLogs", json!([filter]));
    assert_eq!(
        refusal(json!({"fromBlock": "0x5", "toBlock": "0x4"})),
        (-32602, "invalid block range params".into())
    );
    assert_eq!(
        refusal(json!({"fromBlock": "0x5", "toBlock": "0xff"})),
        (-32602, "block range extends beyond current head block".into())
    );
    assert_eq!(refusal(json!({"toBlock": "pending"})).1, "pending logs are not supported");
    assert_eq!(refusal(json!({"topics": [null, null, null, null, null]})).1, "exceed max topics");
    let crowd = vec![Address::ZERO; 1_001];
    assert_eq!(refusal(json!({"address": crowd})).1, "exceed max addresses or topics per search position");
    assert!(served(&rig, &json!({"fromBlock": "latest", "toBlock": "earliest"})).is_empty());
    assert!(served(&rig, &json!({})).is_empty(), "no range is the head alone, which is empty here");
}

#[test]
fn a_lenient_chain_answers_beyond_its_head_with_what_it_has() {
    let options = ChainOptions { future_range: FutureRange::Clamp, ..ChainOptions::deterministic() };
    let (rig, _) = eventful(options);
    assert_eq!(served(&rig, &json!({"fromBlock": "0x0", "toBlock": "0xffff"})).len(), 40);
    assert!(served(&rig, &json!({"fromBlock": "0xff", "toBlock": "0xffff"})).is_empty());
}
