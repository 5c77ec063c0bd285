//! Questions to a table: pages that meet every row once, and conditions on anything.

use std::slice::from_ref;
use std::sync::Arc;

use windlass_core::chain::{Address, U256};
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::row_query::{
    Comparison, Condition, MAX_CONDITIONS, MAX_LISTED_VALUES, MAX_ROW_PAGE, Place, RowOrder, RowQuery,
};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, I256, RowKey, Value};

use super::support::{Well, refused, write};
use crate::harness::Harness;
use crate::make::{EVERY_KIND, condition, identifier, page, row, row_head, row_key, rows, sum, table};

async fn with_rows(harness: &dyn Harness, batch: &[EventRow]) -> Arc<dyn Store> {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(from_ref(&spec)).await.well();
    write(&*store, vec![Write::Rows(rows(&spec, batch.to_vec()))]).await;
    store
}

/// Rows with gaps between their blocks and between their logs.
fn scattered() -> Vec<EventRow> {
    (1..40).flat_map(|block| (0..block as u32 % 4).map(move |log| row(block * 3, log * 5, 1))).collect()
}

pub async fn pages_meet_every_row_once_in_both_orders(harness: &dyn Harness) {
    let stored = scattered();
    let store = with_rows(harness, &stored).await;
    for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
        let mut expected = stored.clone();
        if order == RowOrder::NewestFirst {
            expected.reverse();
        }
        for limit in [1, 7, expected.len() as u32 - 1, expected.len() as u32] {
            let mut met: Vec<EventRow> = Vec::new();
            loop {
                let after = met.last().map(|row| row.head.key());
                let next = store.rows(&RowQuery { order, after, ..page("t", limit) }).await.well();
                assert!(next.len() <= limit as usize);
                if next.is_empty() {
                    break;
                }
                met.extend(next);
            }
            assert_eq!(met, expected, "{order:?} in pages of {limit}");
        }
    }
}

pub async fn a_page_begins_behind_any_key(harness: &dyn Harness) {
    let stored = scattered();
    let store = with_rows(harness, &stored).await;
    for after in
        [row_key(0, 0), row_key(9, 3), row_key(10, 0), row_key(9, u32::MAX), row_key(i64::MAX as u64, 0)]
    {
        let (before, behind): (Vec<EventRow>, Vec<EventRow>) =
            stored.iter().cloned().partition(|row| row.head.key() < after);
        for (order, mut expected) in [(RowOrder::OldestFirst, behind), (RowOrder::NewestFirst, before)] {
            if order == RowOrder::NewestFirst {
                expected.reverse();
            }
            let found = store.rows(&RowQuery { order, after: Some(after), ..page("t", 5) }).await.well();
            expected.truncate(5);
            assert_eq!(found, expected, "{order:?} behind {after:?}");
        }
    }
    let beyond = RowQuery { after: Some(row_key(u64::MAX, 0)), ..page("t", 5) };
    refused!(store.rows(&beyond).await, StoreError::Invalid(_));
}

pub async fn a_page_has_a_limit(harness: &dyn Harness) {
    let stored: Vec<EventRow> = (0..u64::from(MAX_ROW_PAGE) + 1).map(|block| row(block, 0, 1)).collect();
    let store = with_rows(harness, &stored).await;
    assert_eq!(store.rows(&page("t", 0)).await.well(), []);
    assert_eq!(store.rows(&page("t", u32::MAX)).await.well().len(), MAX_ROW_PAGE as usize);
}

pub async fn an_empty_table_answers(harness: &dyn Harness) {
    let store = with_rows(harness, &[]).await;
    for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
        assert_eq!(store.rows(&RowQuery { order, ..page("t", 5) }).await.well(), []);
    }
    assert_eq!(store.count_rows(&identifier("t"), &[]).await.well(), 0);
    let flag = condition("flag", Comparison::Is, [Value::Bool(true)]);
    assert_eq!(store.count_rows(&identifier("t"), &[flag]).await.well(), 0);
}

/// Five values of each column, from the lowest to the highest.
fn ascending(column: &str) -> [Value; 5] {
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec().into());
    let text = |text: &str| Value::Text(text.to_owned());
    let power = |bits: usize| U256::ONE << bits;
    let int = |raw: U256| I256::from_raw(raw);
    match column {
        "small" => [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Integer),
        "amount" => [U256::ZERO, power(8), power(64), power(255), U256::MAX].map(Value::Uint),
        "delta" => [I256::MIN, -int(power(64)), I256::MINUS_ONE, int(power(8)), I256::MAX].map(Value::Int),
        "who" => [0, 1, 2, 0x80, 0xff].map(|byte| Value::Address(Address::repeat_byte(byte))),
        "raw" => [bytes(&[]), bytes(&[0]), bytes(&[0, 0]), bytes(&[1]), bytes(&[0xff])],
        "note" | "list" => ["", "B", "a", "aa", "é"].map(text),
        other => panic!("{other} has not five values"),
    }
}

/// Which of five ascending values meet a comparison with the third.
fn meeting_third(comparison: Comparison) -> Vec<usize> {
    match comparison {
        Comparison::Is => vec![2],
        Comparison::IsNot => vec![0, 1, 3, 4],
        Comparison::Above => vec![3, 4],
        Comparison::AtLeast => vec![2, 3, 4],
        Comparison::Below => vec![0, 1],
        Comparison::AtMost => vec![0, 1, 2],
    }
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Is,
    Comparison::IsNot,
    Comparison::Above,
    Comparison::AtLeast,
    Comparison::Below,
    Comparison::AtMost,
];

/// The blocks of the rows that meet a condition, which are as many as are counted.
async fn meeting(store: &dyn Store, conditions: &[Condition]) -> Vec<u64> {
    let found = store.rows(&RowQuery { conditions: conditions.to_vec(), ..page("t", 100) }).await.well();
    assert_eq!(store.count_rows(&identifier("t"), conditions).await.well(), found.len() as u64);
    found.iter().map(|row| row.head.block.number).collect()
}

pub async fn every_comparison_works_on_every_kind(harness: &dyn Harness) {
    let mut stored: Vec<EventRow> = (0..5).map(|block| row(block, 0, 1)).collect();
    let columns = || EVERY_KIND.iter().enumerate().filter(|(_, (name, _))| *name != "flag");
    for (place, (name, _)) in columns() {
        for (row, value) in stored.iter_mut().zip(ascending(name)) {
            row.values[place] = value;
        }
    }
    let store = with_rows(harness, &stored).await;
    for (_, (name, _)) in columns() {
        let [_, second, third, _, fifth] = ascending(name);
        for comparison in COMPARISONS {
            let met = meeting(&*store, &[condition(name, comparison, [third.clone()])]).await;
            let expected: Vec<u64> = meeting_third(comparison).iter().map(|place| *place as u64).collect();
            assert_eq!(met, expected, "{name} {comparison:?}");
        }
        let two = [fifth, second];
        assert_eq!(meeting(&*store, &[condition(name, Comparison::Is, two.clone())]).await, [1, 4], "{name}");
        assert_eq!(meeting(&*store, &[condition(name, Comparison::IsNot, two)]).await, [0, 2, 3], "{name}");
    }
}

pub async fn flags_are_compared_too(harness: &dyn Harness) {
    let mut stored = vec![row(0, 0, 1), row(1, 0, 1)];
    stored[0].values[3] = Value::Bool(false);
    stored[1].values[3] = Value::Bool(true);
    let store = with_rows(harness, &stored).await;
    let cases: [(Comparison, bool, &[u64]); 8] = [
        (Comparison::Is, true, &[1]),
        (Comparison::IsNot, true, &[0]),
        (Comparison::Is, false, &[0]),
        (Comparison::Above, false, &[1]),
        (Comparison::Above, true, &[]),
        (Comparison::AtLeast, false, &[0, 1]),
        (Comparison::Below, true, &[0]),
        (Comparison::AtMost, false, &[0]),
    ];
    for (comparison, flag, expected) in cases {
        let met = meeting(&*store, &[condition("flag", comparison, [Value::Bool(flag)])]).await;
        assert_eq!(met, expected, "{comparison:?} {flag}");
    }
}

pub async fn conditions_look_at_where_a_log_stands(harness: &dyn Harness) {
    let stored: Vec<EventRow> = (0..6).map(|block| row(block, block as u32 * 2, 1)).collect();
    let store = with_rows(harness, &stored).await;
    let head = row_head(3, 6, 1);
    let on = |place, comparison, value| [Condition { place, comparison, values: vec![value] }];
    let bytes = |hash: &windlass_core::chain::B256| Value::Bytes(hash.to_vec().into());
    let cases = [
        (on(Place::Block, Comparison::AtMost, Value::Integer(1)), vec![0, 1]),
        (on(Place::Block, Comparison::Above, Value::Integer(-1)), vec![0, 1, 2, 3, 4, 5]),
        (on(Place::LogIndex, Comparison::Above, Value::Integer(7)), vec![4, 5]),
        (on(Place::Timestamp, Comparison::Below, Value::Integer(1_600_000_002)), vec![0, 1]),
        (on(Place::BlockHash, Comparison::Is, bytes(&head.block.hash)), vec![3]),
        (on(Place::TransactionHash, Comparison::Is, bytes(&head.transaction_hash)), vec![3]),
        (on(Place::Address, Comparison::IsNot, Value::Address(head.address)), vec![]),
    ];
    for (conditions, expected) in cases {
        assert_eq!(meeting(&*store, &conditions).await, expected, "{conditions:?}");
    }
}

pub async fn all_conditions_are_met_together_and_page_by_page(harness: &dyn Harness) {
    let stored = scattered();
    let store = with_rows(harness, &stored).await;
    let conditions = vec![
        Condition { place: Place::Block, comparison: Comparison::AtLeast, values: vec![Value::Integer(20)] },
        Condition { place: Place::Block, comparison: Comparison::Below, values: vec![Value::Integer(100)] },
        condition("flag", Comparison::Is, [Value::Bool(false)]),
        condition(
            "note",
            Comparison::IsNot,
            [Value::Text("note 1".to_owned()), Value::Text("none".to_owned())],
        ),
    ];
    let expected: Vec<RowKey> = stored
        .iter()
        .filter(|row| (20..100).contains(&row.head.block.number))
        .filter(|row| {
            row.values[3] == Value::Bool(false) && row.values[6] != Value::Text("note 1".to_owned())
        })
        .map(|row| row.head.key())
        .collect();
    assert!(expected.len() > 5, "the case is about several pages");
    let mut met: Vec<RowKey> = Vec::new();
    loop {
        let query = RowQuery { conditions: conditions.clone(), after: met.last().copied(), ..page("t", 2) };
        let next = store.rows(&query).await.well();
        if next.is_empty() {
            break;
        }
        met.extend(next.iter().map(|row| row.head.key()));
    }
    assert_eq!(met, expected);
}

pub async fn questions_that_do_not_fit_are_refused(harness: &dyn Harness) {
    let store = with_rows(harness, &scattered()).await;
    let flag = |count| condition("flag", Comparison::Is, vec![Value::Bool(true); count]);
    let bad = [
        vec![condition("unknown", Comparison::Is, [Value::Bool(true)])],
        vec![condition("amount", Comparison::Is, [Value::Integer(1)])],
        vec![condition("block_number", Comparison::Is, [Value::Integer(1)])],
        vec![condition("small", Comparison::Above, [Value::Integer(1), Value::Integer(2)])],
        vec![flag(0)],
        vec![flag(MAX_LISTED_VALUES + 1)],
        vec![flag(1); MAX_CONDITIONS + 1],
        vec![Condition {
            place: Place::Address,
            comparison: Comparison::Is,
            values: vec![Value::Integer(1)],
        }],
    ];
    for conditions in bad {
        let name = identifier("t");
        refused!(store.count_rows(&name, &conditions).await, StoreError::Invalid(_));
        refused!(
            store.rows(&RowQuery { conditions: conditions.clone(), ..page("t", 1) }).await,
            StoreError::Invalid(_)
        );
        let mut total = sum("t", "amount");
        total.conditions = conditions;
        refused!(store.sum_rows(&total).await, StoreError::Invalid(_));
    }
    let most = vec![flag(MAX_LISTED_VALUES); MAX_CONDITIONS];
    assert!(store.count_rows(&identifier("t"), &most).await.well() > 0);
    refused!(store.rows(&page("unknown", 1)).await, StoreError::TableMissing(_));
    refused!(store.sum_rows(&sum("unknown", "amount")).await, StoreError::TableMissing(_));
}
