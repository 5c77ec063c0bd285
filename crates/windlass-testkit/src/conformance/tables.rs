//! Typed tables are made once, by whoever comes first, and hold one thing each.

use std::slice::from_ref;
use std::sync::Arc;

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::store::TableInfo;
use windlass_core::table::{ColumnKind, EventRow, Identifier, MAX_COLUMNS, TableSpec, Value};
use windlass_core::table_rules::{MAX_TABLES, RESERVED_TABLES};

use super::support::{Well, refused, write};
use crate::harness::Harness;
use crate::make::{chain, identifier, page, row, row_head, rows, table, table_of};

fn names(names: &[&str]) -> Vec<Identifier> {
    names.iter().map(|name| identifier(name)).collect()
}

pub async fn tables_are_made_once_and_listed_by_name(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(store.list_tables().await.well(), []);
    let (b, a, c) = (table("b", 1), table("a", 1), table("c", 2));
    assert_eq!(store.create_tables(&[b.clone(), a.clone()]).await.well(), names(&["b", "a"]));
    assert_eq!(store.create_tables(&[a.clone(), c.clone(), b.clone()]).await.well(), names(&["c"]));
    assert_eq!(store.create_tables(&[a.clone(), b.clone(), c.clone()]).await.well(), []);
    assert_eq!(store.create_tables(&[]).await.well(), []);
    write(&*store, vec![Write::Rows(rows(&b, [row(1, 0, 1), row(1, 1, 1)]))]).await;
    let listed = [(a, 0), (b, 2), (c, 0)].map(|(spec, rows)| TableInfo { spec, rows });
    assert_eq!(store.list_tables().await.well(), listed);
}

pub async fn a_table_that_holds_something_else_is_a_conflict(harness: &dyn Harness) {
    let store = harness.open().await;
    let first = table("t", 1);
    store.create_tables(from_ref(&first)).await.well();
    let changed = |change: &dyn Fn(&mut TableSpec)| {
        let mut other = TableSpec::clone(&first);
        change(&mut other);
        Arc::new(other)
    };
    let others = [
        table("t", 2),
        changed(&|other| other.signature = "Other()".to_owned()),
        changed(&|other| drop(other.columns.pop())),
        changed(&|other| other.columns[0].kind = ColumnKind::Uint),
        changed(&|other| other.columns.swap(0, 1)),
    ];
    for other in others {
        let refusal = store.create_tables(&[table("new", 1), other.clone()]).await;
        refused!(refusal, StoreError::TableConflict { table, .. } if table == first.name);
        let refusal = store.create_tables(&[table("new", 1), table("x", 1), table("x", 2)]).await;
        refused!(refusal, StoreError::TableConflict { table, .. } if table == identifier("x"));
    }
    let other_index = changed(&|other| other.index = identifier("another"));
    assert_eq!(store.create_tables(&[other_index]).await.well(), []);
    assert_eq!(store.list_tables().await.well(), [TableInfo { spec: first, rows: 0 }], "all or none");
}

pub async fn names_and_columns_that_are_kept_back_are_refused(harness: &dyn Harness) {
    let store = harness.open().await;
    for name in RESERVED_TABLES.into_iter().chain(["pg_class", "sqlite_stat1", "lane_runnable"]) {
        let refusal = store.create_tables(&[table("fine", 1), table(name, 1)]).await;
        // The model has no index that a table could be mistaken for.
        if name != "lane_runnable" || store.describe().await.well().kind != "model" {
            refused!(refusal, StoreError::TableConflict { table, .. } if table == identifier(name));
        }
        store.drop_table(&identifier(name)).await.well();
        store.drop_table(&identifier("fine")).await.well();
    }
    for columns in [["a", "a"], ["a", "log_index"], ["a", "ctid"]] {
        let columns = columns.map(|name| (name, ColumnKind::Bool));
        refused!(store.create_tables(&[table_of("t", 1, &columns)]).await, StoreError::Invalid(_));
    }
    assert_eq!(store.list_tables().await.well(), []);
    assert!(store.now().await.is_ok(), "nothing of the store's own was dropped");
}

pub async fn words_of_sql_are_names_like_any_other(harness: &dyn Harness) {
    let store = harness.open().await;
    let columns = ["from", "to", "order", "group", "user", "index", "value", "rowid"];
    let columns = columns.map(|name| (name, ColumnKind::Integer));
    let spec = table_of("select", 1, &columns);
    store.create_tables(from_ref(&spec)).await.well();
    let values = (1..=columns.len() as i64).map(Value::Integer).collect();
    let stored = EventRow { head: row_head(1, 0, 1), values };
    write(&*store, vec![Write::Rows(rows(&spec, [stored.clone()]))]).await;
    assert_eq!(store.rows(&page("select", 10)).await.well(), [stored]);
}

pub async fn a_table_has_as_many_columns_as_are_allowed(harness: &dyn Harness) {
    let store = harness.open().await;
    let columns: Vec<(String, ColumnKind)> =
        (0..=MAX_COLUMNS).map(|place| (format!("c{place}"), crate::make::EVERY_KIND[place % 8].1)).collect();
    let columns: Vec<(&str, ColumnKind)> =
        columns.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    refused!(store.create_tables(&[table_of("t", 1, &columns)]).await, StoreError::Invalid(_));
    let spec = table_of("t", 1, &columns[..MAX_COLUMNS]);
    store.create_tables(from_ref(&spec)).await.well();
    let wide = |block| {
        let row = row(block, 0, 1);
        let values = row.values.iter().cycle().take(MAX_COLUMNS).cloned().collect();
        EventRow { head: row.head, values }
    };
    let (few, many): (Vec<_>, Vec<_>) = ((0..2).map(wide).collect(), (2..302).map(wide).collect());
    for batch in [&few, &many] {
        let written = write(&*store, vec![Write::Rows(rows(&spec, batch.clone()))]).await;
        assert_eq!(written, [Written::Rows(batch.len() as u64)]);
    }
    assert_eq!(store.rows(&page("t", 1_000)).await.well(), [few, many].concat());
}

pub async fn a_dropped_table_is_gone_and_its_name_is_free(harness: &dyn Harness) {
    let store = harness.open().await;
    let first = table_of("t", 1, &[("a", ColumnKind::Text), ("b", ColumnKind::Integer)]);
    store.create_tables(&[first.clone(), table("other", 1)]).await.well();
    let of = |block, values: [Value; 2]| EventRow { head: row_head(block, 0, 1), values: values.to_vec() };
    let old = of(1, [Value::Text("x".to_owned()), Value::Integer(1)]);
    write(&*store, vec![Write::Rows(rows(&first, [old.clone()]))]).await;
    assert_eq!(store.rows(&page("t", 10)).await.well(), from_ref(&old));
    assert!(store.drop_table(&first.name).await.well());
    assert!(!store.drop_table(&first.name).await.well());
    refused!(store.rows(&page("t", 10)).await, StoreError::TableMissing(name) if name == first.name);
    let second = table_of("t", 2, &[("a", ColumnKind::Bool), ("b", ColumnKind::Text)]);
    assert_eq!(store.create_tables(from_ref(&second)).await.well(), names(&["t"]));
    assert_eq!(store.rows(&page("t", 10)).await.well(), []);
    let refusal = store.commit(Commit::of(vec![Write::Rows(rows(&first, [old]))])).await;
    refused!(refusal, StoreError::TableMissing(name) if name == first.name);
    let new = of(2, [Value::Bool(true), Value::Text("y".to_owned())]);
    write(&*store, vec![Write::Rows(rows(&second, [new.clone()]))]).await;
    assert_eq!(store.rows(&page("t", 10)).await.well(), [new]);
    let listed = store.list_tables().await.well();
    assert_eq!(listed.iter().map(|info| info.rows).collect::<Vec<_>>(), [0, 1]);
}

pub async fn a_table_made_anew_by_another_is_read_as_it_is_now(harness: &dyn Harness) {
    let (one, two) = (harness.open().await, harness.open().await);
    let kinds = [ColumnKind::Text, ColumnKind::Uint, ColumnKind::Bool, ColumnKind::Bytes];
    let values = [
        Value::Text("x".to_owned()),
        Value::Uint(windlass_core::chain::U256::from(7)),
        Value::Bool(true),
        Value::Bytes(vec![1].into()),
    ];
    for (kind, value) in kinds.into_iter().zip(values) {
        let spec = table_of("t", 1, &[("a", kind)]);
        one.create_tables(from_ref(&spec)).await.well();
        let stored: Vec<EventRow> = (0..300)
            .map(|block| EventRow { head: row_head(block, 0, 1), values: vec![value.clone()] })
            .collect();
        for (store, batch) in [(&two, &stored[..2]), (&one, &stored[2..])] {
            write(&**store, vec![Write::Rows(rows(&spec, batch.to_vec()))]).await;
        }
        for store in [&one, &two] {
            assert_eq!(store.rows(&page("t", 1_000)).await.well(), stored, "{kind:?}");
        }
        assert!(one.drop_table(&spec.name).await.well());
        refused!(two.rows(&page("t", 1)).await, StoreError::TableMissing(_));
    }
}

/// Every answer is whole: the rows are there, or there was no table.
pub async fn a_table_may_be_dropped_while_others_write(harness: &dyn Harness) {
    let spec = table("t", 1);
    let store = harness.open().await;
    store.create_tables(&[spec.clone(), table("other", 1)]).await.well();
    let mut writing = Vec::new();
    for writer in 0..4_u64 {
        let (store, spec) = (harness.open().await, spec.clone());
        writing.push(tokio::spawn(async move {
            for round in 0..6 {
                let first = (writer * 6 + round) * 300;
                let batch = rows(&spec, (first..first + 300).map(|block| row(block, 0, 1)));
                let retract = Write::Retract { chain: chain(1), from_block: 1_000_000 };
                match store.commit(Commit::of(vec![retract, Write::Rows(batch)])).await {
                    Err(StoreError::TableMissing(_)) => {}
                    answer => assert_eq!(answer.well(), [Written::Rows(0), Written::Rows(300)]),
                }
            }
        }));
    }
    for _ in 0..6 {
        store.drop_table(&spec.name).await.well();
        store.create_tables(from_ref(&spec)).await.well();
    }
    for task in writing {
        task.await.expect("no panic");
    }
    let found = store.rows(&page("t", 10_000)).await.well().len() as u64;
    assert_eq!(store.count_rows(&spec.name, &[]).await.well(), found);
}

pub async fn one_of_many_makes_a_table(harness: &dyn Harness) {
    let mut making = Vec::new();
    for number in 0..8 {
        let store = harness.open().await;
        let mut specs = vec![table("a", 1), table("b", 1), table("c", 2)];
        if number % 2 == 0 {
            specs.reverse();
        }
        making.push(tokio::spawn(async move { store.create_tables(&specs).await }));
    }
    let mut made = Vec::new();
    for task in making {
        made.extend(task.await.expect("no panic").well());
    }
    made.sort();
    assert_eq!(made, names(&["a", "b", "c"]));
    assert_eq!(harness.open().await.list_tables().await.well().len(), 3);
}

pub async fn tables_and_counts_survive_a_restart(harness: &dyn Harness) {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(from_ref(&spec)).await.well();
    write(&*store, vec![Write::Rows(rows(&spec, [row(1, 0, 1), row(2, 0, 1)]))]).await;
    let store = harness.restart(store).await;
    assert_eq!(store.create_tables(from_ref(&spec)).await.well(), []);
    let store = harness.crash(store).await;
    assert_eq!(store.list_tables().await.well(), [TableInfo { spec, rows: 2 }]);
    assert_eq!(store.rows(&page("t", 10)).await.well(), [row(1, 0, 1), row(2, 0, 1)]);
}

pub async fn tables_have_a_limit(harness: &dyn Harness) {
    let store = harness.open().await;
    let specs: Vec<_> = (0..=MAX_TABLES)
        .map(|number| table_of(&format!("t{number}"), 1, &[("a", ColumnKind::Bool)]))
        .collect();
    refused!(store.create_tables(&specs).await, StoreError::Invalid(_));
    assert_eq!(store.list_tables().await.well(), []);
}
