//! Totals are exact, however large, and come by the value their rows share.

use std::slice::from_ref;
use std::sync::Arc;

use windlass_core::chain::{Address, U256};
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::row_query::{Comparison, Condition, Place, SumGroup, SumQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, I256, Value};

use super::support::{Well, refused, write};
use crate::harness::Harness;
use crate::make::{condition, contract, identifier, page, row, rows, sum, table};

/// A store with rows whose values are changed first.
async fn with_rows(
    harness: &dyn Harness,
    count: u64,
    change: impl Fn(u64, &mut Vec<Value>),
) -> Arc<dyn Store> {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(from_ref(&spec)).await.well();
    let changed = |number| {
        let mut row: EventRow = row(number, number as u32, 1);
        change(number, &mut row.values);
        row
    };
    write(&*store, vec![Write::Rows(rows(&spec, (0..count).map(changed)))]).await;
    store
}

async fn total(store: &dyn Store, column: &str) -> (String, u64) {
    let totals = store.sum_rows(&sum("t", column)).await.well();
    match &totals[..] {
        [SumGroup { by: None, sum, rows }] => (sum.clone(), *rows),
        other => panic!("one total was asked for, not {other:?}"),
    }
}

pub async fn totals_pass_256_bits(harness: &dyn Harness) {
    let store = with_rows(harness, 10, |number, values| {
        values[0] = Value::Integer(if number < 9 { i64::MAX } else { -1 });
        values[1] = Value::Uint(U256::MAX);
        values[2] = Value::Int(if number == 0 { I256::MAX } else { I256::MIN });
    })
    .await;
    assert_eq!(total(&*store, "small").await, ("83010348331692982262".to_owned(), 10));
    // Ten times 2^256 − 1, and 2^255 − 1 less nine times 2^255.
    let ten_times = "1157920892373161954235709850086879078532699846656405640394575840079131296399350";
    assert_eq!(total(&*store, "amount").await, (ten_times.to_owned(), 10));
    let below_zero = "-463168356949264781694283940034751631413079938662562256157830336031652518559745";
    assert_eq!(total(&*store, "delta").await, (below_zero.to_owned(), 10));
}

pub async fn a_total_of_nothing_is_zero(harness: &dyn Harness) {
    let store = with_rows(harness, 0, |_, _| {}).await;
    for column in ["small", "amount", "delta"] {
        assert_eq!(total(&*store, column).await, ("0".to_owned(), 0));
    }
    let grouped = SumQuery { by: Some(Place::Address), ..sum("t", "small") };
    assert_eq!(store.sum_rows(&grouped).await.well(), []);
    assert_eq!(store.sum_rows(&SumQuery { limit: 0, ..sum("t", "small") }).await.well(), []);
}

pub async fn totals_come_by_a_shared_value_in_its_order(harness: &dyn Harness) {
    let store = with_rows(harness, 12, |number, values| {
        let group = number % 3;
        values[0] = Value::Integer(group as i64 - 1);
        values[1] = Value::Uint(U256::from(group) << (group * 100));
        values[2] = Value::Int(I256::try_from(group as i64 - 1).expect("it fits") << (group as usize * 100));
        values[4] = Value::Address(Address::repeat_byte(group as u8 * 0x7f));
        values[5] = Value::Bytes(vec![group as u8].into());
        values[6] = Value::Text(["B", "a", "é"][group as usize].to_owned());
    })
    .await;
    let first_of_each = store.rows(&page("t", 3)).await.well();
    for (column, place) in [("small", 0), ("amount", 1), ("delta", 2), ("who", 4), ("raw", 5), ("note", 6)] {
        let by = SumQuery { by: Some(Place::Column(identifier(column))), ..sum("t", "small") };
        let totals = store.sum_rows(&by).await.well();
        let group = |(row, sum): (&EventRow, &str)| SumGroup {
            by: Some(row.values[place].clone()),
            sum: sum.to_owned(),
            rows: 4,
        };
        let expected: Vec<SumGroup> = first_of_each.iter().zip(["-4", "0", "4"]).map(group).collect();
        assert_eq!(totals, expected, "by {column}");
        let lowest = store.sum_rows(&SumQuery { limit: 2, ..by }).await.well();
        assert_eq!(lowest, totals[..2]);
    }
}

pub async fn totals_come_by_contract_and_flag(harness: &dyn Harness) {
    let store = with_rows(harness, 7, |number, values| {
        values[0] = Value::Integer(number as i64);
        values[3] = Value::Bool(number > 4);
    })
    .await;
    let group = |by, sum: &str, rows| SumGroup { by: Some(by), sum: sum.to_owned(), rows };
    let by_address = SumQuery { by: Some(Place::Address), ..sum("t", "small") };
    let of = |number| Value::Address(contract(number));
    let expected = [group(of(0), "12", 4), group(of(1), "9", 3)];
    assert_eq!(store.sum_rows(&by_address).await.well(), expected);
    let by_flag = SumQuery { by: Some(Place::Column(identifier("flag"))), ..sum("t", "small") };
    let expected = [group(Value::Bool(false), "10", 5), group(Value::Bool(true), "11", 2)];
    assert_eq!(store.sum_rows(&by_flag).await.well(), expected);
}

pub async fn totals_are_of_the_rows_that_meet_the_conditions(harness: &dyn Harness) {
    let store = with_rows(harness, 10, |number, values| {
        values[0] = Value::Integer(number as i64);
        values[3] = Value::Bool(number.is_multiple_of(2));
    })
    .await;
    let even = condition("flag", Comparison::Is, [Value::Bool(true)]);
    let late =
        Condition { place: Place::Block, comparison: Comparison::AtLeast, values: vec![Value::Integer(5)] };
    let query = SumQuery { conditions: vec![even, late], ..sum("t", "small") };
    assert_eq!(store.sum_rows(&query).await.well(), [SumGroup { by: None, sum: "14".to_owned(), rows: 2 }]);
}

pub async fn what_is_no_number_has_no_total(harness: &dyn Harness) {
    let store = with_rows(harness, 1, |_, _| {}).await;
    for column in ["flag", "who", "raw", "note", "list", "unknown", "block_number"] {
        refused!(store.sum_rows(&sum("t", column)).await, StoreError::Invalid(_));
    }
    for place in [Place::Block, Place::BlockHash, Place::Column(identifier("unknown"))] {
        let query = SumQuery { by: Some(place), ..sum("t", "small") };
        refused!(store.sum_rows(&query).await, StoreError::Invalid(_));
    }
}
