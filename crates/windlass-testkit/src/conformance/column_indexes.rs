//! Database indexes of columns: there or not, they change no answer.

use std::slice::from_ref;
use std::sync::Arc;

use windlass_core::chain::Address;
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::row_query::{Comparison, Place, RowOrder, RowQuery, SumQuery};
use windlass_core::store::Store;
use windlass_core::table::{ColumnKind, Identifier, TableSpec, Value};

use super::support::{Well, refused, write};
use crate::harness::Harness;
use crate::make::{EVERY_KIND, condition, identifier, page, row, rows, sum, table, table_of};

/// How many blocks with rows the table has.
const BLOCKS: u64 = 300;

/// The columns that can have an index: all but those whose values may be long.
fn indexable() -> Vec<Identifier> {
    let is_long = |kind: ColumnKind| matches!(kind, ColumnKind::Bytes | ColumnKind::Text | ColumnKind::Json);
    EVERY_KIND.iter().filter(|(_, kind)| !is_long(*kind)).map(|(name, _)| identifier(name)).collect()
}

async fn filled(harness: &dyn Harness) -> (Arc<dyn Store>, Arc<TableSpec>) {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(from_ref(&spec)).await.well();
    write(&*store, vec![Write::Rows(rows(&spec, (0..BLOCKS).map(|block| row(block, 0, 1))))]).await;
    (store, spec)
}

pub async fn an_index_is_made_once_listed_and_dropped(harness: &dyn Harness) {
    let (store, spec) = filled(harness).await;
    assert_eq!(store.column_indexes(&spec.name).await.well(), []);
    for column in indexable().iter().rev() {
        assert!(store.create_column_index(&spec.name, column).await.well(), "{column}");
        assert!(!store.create_column_index(&spec.name, column).await.well(), "{column} is there");
    }
    assert_eq!(store.column_indexes(&spec.name).await.well(), indexable(), "in the table's order");
    let first = &indexable()[0];
    assert!(store.drop_column_index(&spec.name, first).await.well());
    assert!(!store.drop_column_index(&spec.name, first).await.well());
    assert_eq!(store.column_indexes(&spec.name).await.well(), indexable()[1..]);
    assert!(store.create_column_index(&spec.name, first).await.well(), "it can be made again");
}

pub async fn an_index_changes_no_answer(harness: &dyn Harness) {
    let (store, spec) = filled(harness).await;
    let before = answers(&*store, &spec).await;
    for column in indexable() {
        store.create_column_index(&spec.name, &column).await.well();
    }
    assert_eq!(answers(&*store, &spec).await, before);
    // What is written behind the index is found by it.
    write(&*store, vec![Write::Rows(rows(&spec, [row(BLOCKS, 0, 1)]))]).await;
    let with_one_more = answers(&*store, &spec).await;
    for column in indexable() {
        store.drop_column_index(&spec.name, &column).await.well();
    }
    assert_eq!(answers(&*store, &spec).await, with_one_more);
}

/// Pages, counts and totals by every column that can have an index.
async fn answers(store: &dyn Store, spec: &TableSpec) -> Vec<String> {
    let sample = store.rows(&page("t", 3)).await.well();
    let mut answers = Vec::new();
    for column in indexable() {
        let (place, _) = spec.column(column.as_str()).expect("a column of the table");
        let values: Vec<Value> = sample.iter().map(|row| row.values[place].clone()).collect();
        let by = Place::Column(column.clone());
        for (comparison, values) in [
            (Comparison::Is, values[..1].to_vec()),
            (Comparison::Is, values.clone()),
            (Comparison::IsNot, values.clone()),
            (Comparison::AtLeast, values[1..2].to_vec()),
            (Comparison::Below, values[2..].to_vec()),
        ] {
            // Flags have no order.
            if matches!(values[0], Value::Bool(_))
                && !matches!(comparison, Comparison::Is | Comparison::IsNot)
            {
                continue;
            }
            let conditions = vec![condition(column.as_str(), comparison, values)];
            for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
                let query = RowQuery { order, conditions: conditions.clone(), ..page("t", 40) };
                answers.push(format!("{:?}", store.rows(&query).await.well()));
            }
            answers.push(format!("{:?}", store.count_rows(&spec.name, &conditions).await.well()));
        }
        let total = SumQuery { by: Some(by), ..sum("t", "amount") };
        answers.push(format!("{:?}", store.sum_rows(&total).await.well()));
    }
    answers
}

pub async fn what_cannot_have_an_index_is_refused(harness: &dyn Harness) {
    let (store, spec) = filled(harness).await;
    let column = &indexable()[0];
    let nowhere = identifier("nowhere");
    refused!(store.column_indexes(&nowhere).await, StoreError::TableMissing(_));
    refused!(store.create_column_index(&nowhere, column).await, StoreError::TableMissing(_));
    refused!(store.drop_column_index(&nowhere, column).await, StoreError::TableMissing(_));
    for wrong in ["nothing", "block_number", "raw", "note", "list"] {
        let wrong = identifier(wrong);
        refused!(store.create_column_index(&spec.name, &wrong).await, StoreError::Invalid(_));
        refused!(store.drop_column_index(&spec.name, &wrong).await, StoreError::Invalid(_));
    }
}

pub async fn a_dropped_table_takes_its_indexes_along(harness: &dyn Harness) {
    let (store, spec) = filled(harness).await;
    let column = &indexable()[0];
    store.create_column_index(&spec.name, column).await.well();
    assert!(store.drop_table(&spec.name).await.well());
    store.create_tables(from_ref(&spec)).await.well();
    assert_eq!(store.column_indexes(&spec.name).await.well(), []);
    assert!(store.create_column_index(&spec.name, column).await.well());
}

pub async fn rows_are_written_while_an_index_is_made(harness: &dyn Harness) {
    let store = harness.open().await;
    let spec = table_of("t", 1, &[("a", ColumnKind::Address)]);
    store.create_tables(from_ref(&spec)).await.well();
    let value = |block: u64| Value::Address(Address::repeat_byte((block % 7) as u8));
    let writing = async {
        for block in 0..BLOCKS {
            let mut new = row(block, 0, 1);
            new.values = vec![value(block)];
            write(&*store, vec![Write::Rows(rows(&spec, [new]))]).await;
        }
    };
    let column = identifier("a");
    let making = store.create_column_index(&spec.name, &column);
    let (made, ()) = tokio::join!(making, writing);
    assert!(made.well());
    for block in 0..7 {
        let is = condition("a", Comparison::Is, vec![value(block)]);
        let found = store.rows(&RowQuery { conditions: vec![is], ..page("t", 1_000) }).await.well();
        let expected = (0..BLOCKS).filter(|other| other % 7 == block).count();
        assert_eq!(found.len(), expected, "rows of value {block}");
    }
}

pub async fn an_index_that_many_make_at_once_is_there_once(harness: &dyn Harness) {
    let (store, spec) = filled(harness).await;
    let column = &indexable()[0];
    let mut makers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, name, column) = (store.clone(), spec.name.clone(), column.clone());
        makers.spawn(async move { store.create_column_index(&name, &column).await });
    }
    let made = makers.join_all().await;
    let count = |is: fn(&Result<bool, StoreError>) -> bool| made.iter().filter(|made| is(made)).count();
    assert_eq!(count(|made| matches!(made, Ok(true))), 1, "{made:?}");
    // Whoever finds another at it may be told to come back.
    assert_eq!(count(|made| matches!(made, Ok(_) | Err(StoreError::Busy))), 4, "{made:?}");
    assert_eq!(store.column_indexes(&spec.name).await.well(), from_ref(column));
}
