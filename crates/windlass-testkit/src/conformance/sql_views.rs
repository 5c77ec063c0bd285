//! Every table has a view, made and dropped with it, whatever else has the name.

use std::slice::from_ref;

use windlass_core::commit::Write;
use windlass_core::table::ColumnKind;

use super::sql::Asked;
use super::support::{Well, write};
use crate::harness::SqlHarness;
use crate::make::{identifier, row, rows, table, table_of};

/// Each table with its view.
async fn views(asked: &Asked<'_>) -> Vec<(String, String)> {
    let tables = asked.reader.sql_tables().await.expect("tables");
    tables.into_iter().map(|table| (table.name, table.view.unwrap_or_default())).collect()
}

fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(table, view)| ((*table).to_owned(), (*view).to_owned())).collect()
}

pub async fn a_table_has_its_view_as_long_as_it_is_there(harness: &dyn SqlHarness) {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(&[spec.clone(), table("u", 1)]).await.well();
    write(&*store, vec![Write::Rows(rows(&spec, [row(1, 0, 1)]))]).await;
    let asked = Asked::open(harness).await;
    assert_eq!(views(&asked).await, named(&[("t", "t_view"), ("u", "u_view")]));
    let listed = store.list_tables().await.well();
    assert_eq!(listed.len(), 2, "a view is no table");
    assert_eq!(asked.row("SELECT count(*) FROM t_view").await, ["1"]);
    assert!(store.drop_table(&spec.name).await.well());
    assert_eq!(views(&asked).await, named(&[("u", "u_view")]));
    assert!(asked.refusal("SELECT * FROM t_view").await.contains("t_view"));
    // Made again, it shows what it is now.
    store.create_tables(&[table_of("t", 1, &[("own", ColumnKind::Uint)])]).await.well();
    assert!(asked.rows("SELECT own FROM t_view").await.is_empty());
}

pub async fn a_table_takes_the_name_of_a_view_and_gives_it_back(harness: &dyn SqlHarness) {
    let store = harness.open().await;
    let (first, second) = (table("t", 1), table_of("t_view", 1, &[("own", ColumnKind::Integer)]));
    store.create_tables(from_ref(&first)).await.well();
    store.create_tables(from_ref(&second)).await.well();
    let asked = Asked::open(harness).await;
    let found = views(&asked).await;
    let other = found[0].1.clone();
    assert!(other.starts_with("t_") && other.ends_with("_view") && other != "t_view", "{other}");
    assert_eq!(found, named(&[("t", &other), ("t_view", "t_view_view")]));
    assert!(asked.rows("SELECT own FROM t_view").await.is_empty());
    assert!(asked.rows(&format!("SELECT amount FROM {other}")).await.is_empty());
    // All at once, in whatever order, it comes to the same.
    store.drop_table(&first.name).await.well();
    store.drop_table(&second.name).await.well();
    store.create_tables(&[second.clone(), first.clone()]).await.well();
    assert_eq!(views(&asked).await, found);
    assert!(!store.drop_table(&identifier(&other)).await.well(), "a view is no table");
    assert_eq!(views(&asked).await, found);
}

pub async fn what_a_user_has_made_is_left_alone(harness: &dyn SqlHarness) {
    let store = harness.open().await;
    harness.execute("CREATE VIEW t_view AS SELECT 7 AS theirs").await;
    let spec = table("t", 1);
    store.create_tables(from_ref(&spec)).await.well();
    let asked = Asked::open(harness).await;
    let view = views(&asked).await.remove(0).1;
    assert!(view.starts_with("t_") && view != "t_view", "{view}");
    assert!(store.drop_table(&spec.name).await.well());
    assert_eq!(harness.number("SELECT theirs FROM t_view").await, 7);
}

pub async fn tables_of_an_earlier_version_get_their_views(harness: &dyn SqlHarness) {
    let store = harness.open().await;
    store.create_tables(&[table("t", 1), table("u", 1)]).await.well();
    // As an earlier version leaves it.
    harness.execute("DROP VIEW t_view").await;
    harness.execute("UPDATE event_table SET view_name = NULL WHERE name = 't'").await;
    let store = harness.restart(store).await;
    let asked = Asked::open(harness).await;
    assert_eq!(views(&asked).await, named(&[("t", "t_view"), ("u", "u_view")]));
    assert_eq!(harness.number("SELECT count(*) FROM t_view").await, 0);
    drop(store);
}
