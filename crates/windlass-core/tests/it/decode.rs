//! What is decoded is what alloy decodes, and what alloy refuses is refused.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::U256;
use alloy_sol_types::abi::AbiDecoderConfig;
use alloy_sol_types::{SolType, sol_data};
use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::abi::{Decoder, EventShape, MAX_READINGS, Misfit};
use windlass_core::event::Topics;
use windlass_core::table::{ColumnKind, Value};

use crate::events::{Change, Event, Log, any_log, change, event, expected, word_log};

fn decode(event: &Event, log: &Log) -> Result<Vec<Value>, Misfit> {
    let mut values = Vec::new();
    Decoder::new(&event.shape()).decode(&log.topics(), &log.data, &mut values).map(|()| values)
}

/// Values with JSON in a form that two writers agree on.
fn comparable(event: &EventShape, values: &[Value]) -> Vec<String> {
    let text = |(kind, value): (ColumnKind, &Value)| match kind {
        ColumnKind::Json => serde_json::from_str::<serde_json::Value>(&value.to_string())
            .unwrap_or_else(|error| panic!("{value}: {error}"))
            .to_string(),
        _ => format!("{value:?}"),
    };
    let kinds = event.fields().iter().map(|field| field.ty.column(field.indexed));
    kinds.zip(values).map(text).collect()
}

fn check_round_trip(event: &Event, values: &[DynSolValue], log: &Log) {
    let shape = event.shape();
    let decoded = decode(event, log).unwrap_or_else(|misfit| panic!("{misfit}"));
    let (by_alloy, _) = event.by_alloy(log).expect("alloy takes what it wrote");
    let expected: Vec<Value> = by_alloy.iter().map(expected).collect();
    assert_eq!(comparable(&shape, &decoded), comparable(&shape, &expected));
    let is_word = |value: &DynSolValue| value.as_word().is_some();
    for ((field, value), found) in event.fields.iter().zip(values).zip(&by_alloy) {
        assert!(found == value || (field.1 && !is_word(value)), "alloy gives back {found:?} for {value:?}");
    }
}

/// Both take it and see the same, or both refuse it.
fn check_agreement(event: &Event, log: &Log) {
    let shape = event.shape();
    let ours = decode(event, log);
    let alloys = event.by_alloy(log);
    match (&ours, &alloys) {
        (Ok(values), Some((by_alloy, encoded))) => {
            assert!(event.is_clean(log, by_alloy), "a word was taken that no contract writes: {ours:?}");
            let expected: Vec<Value> = by_alloy.iter().map(expected).collect();
            assert_eq!(comparable(&shape, values), comparable(&shape, &expected));
            assert!(*encoded <= log.data.len() * MAX_READINGS);
        }
        (Err(Misfit::Repeats { .. }), Some((_, encoded))) => {
            assert!(*encoded > log.data.len() * MAX_READINGS, "{encoded} bytes are not that many");
        }
        (Err(Misfit::Word { .. }), Some((by_alloy, _))) => {
            assert!(!event.is_clean(log, by_alloy), "{ours:?} but every word is clean: {by_alloy:?}");
        }
        (Err(_), None) => {}
        _ => panic!("ours {ours:?}\nalloy's {alloys:?}"),
    }
}

type Statics = (
    sol_data::Address,
    sol_data::Bool,
    sol_data::Uint<8>,
    sol_data::Uint<256>,
    sol_data::Int<64>,
    sol_data::Int<128>,
    sol_data::FixedBytes<4>,
    sol_data::Function,
);

const STATICS: &str = "E(address,bool,uint8,uint256,int64,int128,bytes4,function)";
const STATIC_WORDS: usize = 8;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_048))]

    #[test]
    fn every_type_is_read_as_it_was_written((event, values, log) in any_log()) {
        check_round_trip(&event, &values, &log);
    }

    #[test]
    fn words_are_read_as_they_were_written((event, values, log) in word_log()) {
        check_round_trip(&event, &values, &log);
    }

    #[test]
    fn a_changed_log_is_taken_by_both_or_by_none(
        (event, _, mut log) in any_log(),
        changes in vec(change(), 1..4),
    ) {
        changes.iter().for_each(|change| log.change(change));
        check_agreement(&event, &log);
    }

    #[test]
    fn changed_words_are_taken_by_both_or_by_none(
        (event, _, mut log) in word_log(),
        changes in vec(change(), 1..3),
    ) {
        changes.iter().for_each(|change| log.change(change));
        check_agreement(&event, &log);
    }

    #[test]
    fn any_bytes_are_taken_by_both_or_by_none(
        event in event(),
        topics in vec(any::<[u8; 32]>(), 0..=3),
        data in vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..600),
    ) {
        let topics = event.shape().topic0().into_iter().chain(topics.into_iter().map(Into::into)).collect();
        check_agreement(&event, &Log { topics, data });
    }

    #[test]
    fn words_are_checked_as_alloy_checks_them(
        words in vec(prop_oneof![Just([0_u8; 32]), Just([0xff_u8; 32])], STATIC_WORDS),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        extra in 0_usize..3,
    ) {
        let mut data = words.concat();
        for (place, byte) in &changes {
            let place = place.index(data.len());
            data[place] = *byte;
        }
        data.extend(vec![7; extra]);
        let config = AbiDecoderConfig::new().validate(true);
        let alloys = Statics::abi_decode_sequence_with_config(&data, config);
        let shape: EventShape = STATICS.parse().expect("an event");
        let topics = Topics::new(&[shape.topic0().expect("a topic")]).expect("one");
        let ours = Decoder::new(&shape).decode(&topics, &data, &mut Vec::new());
        prop_assert_eq!(ours.is_ok(), alloys.is_ok(), "{:?} {:?}", ours, alloys);
    }

    #[test]
    fn an_event_reads_back_from_its_text(event in event()) {
        let shape = event.shape();
        prop_assert_eq!(shape.to_string().parse::<EventShape>().expect("an event"), shape.clone());
        let unnamed: EventShape = shape.signature().parse().expect("an event");
        prop_assert_eq!(unnamed.signature(), shape.signature());
        prop_assert_eq!(unnamed.topic0(), shape.topic0());
    }
}

fn words(numbers: &[usize]) -> Vec<u8> {
    numbers.iter().flat_map(|number| U256::from(*number).to_be_bytes::<32>()).collect()
}

fn event_of(ty: &str) -> Event {
    Event { fields: vec![(ty.parse().expect("a type"), false)], anonymous: true }
}

#[test]
fn places_that_are_read_again_count_as_often() {
    let mut refused = 0;
    for (ty, len) in
        [("bytes[]", 0), ("string[]", 320), ("bytes[]", 321), ("uint8[][]", 12), ("(bytes,bool)[]", 300)]
    {
        let event = event_of(ty);
        for elements in 1_usize..60 {
            let heads = vec![elements * 32; elements];
            let tuple = if ty.starts_with('(') { vec![64, 1] } else { vec![] };
            let shared = [tuple, vec![len], vec![1; 12]].concat();
            let data = [words(&[32, elements]), words(&heads), words(&shared)].concat();
            let log = Log { topics: vec![], data };
            check_agreement(&event, &log);
            refused += usize::from(matches!(decode(&event, &log), Err(Misfit::Repeats { .. })));
        }
    }
    assert!(refused > 0, "nothing was repeated often enough");
}

#[test]
fn an_array_needs_room_for_its_tuples_even_where_they_share_it() {
    let event = event_of("(string,uint8,uint8)[]");
    let log = |elements: usize| {
        let heads = vec![elements * 32; elements];
        Log { topics: vec![], data: [words(&[32, elements]), words(&heads), words(&[32, 0, 1])].concat() }
    };
    assert!(decode(&event, &log(1)).is_ok());
    assert!(decode(&event, &log(2)).is_err());
    check_agreement(&event, &log(1));
    check_agreement(&event, &log(2));
}

#[test]
fn the_comparison_sees_a_dirty_word() {
    let event = Event { fields: vec![(alloy_dyn_abi::DynSolType::Bool, false)], anonymous: false };
    let mut log = event.log(&[DynSolValue::Bool(true)], Default::default());
    let clean = event.by_alloy(&log).expect("alloy takes it").0;
    assert!(event.is_clean(&log, &clean));
    log.change(&Change::Word(index(), 2));
    let dirty = event.by_alloy(&log).expect("alloy takes that too").0;
    assert!(!event.is_clean(&log, &dirty));
    assert!(matches!(decode(&event, &log), Err(Misfit::Word { .. })));
}

fn index() -> prop::sample::Index {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    any::<prop::sample::Index>().new_tree(&mut TestRunner::deterministic()).expect("a tree").current()
}
