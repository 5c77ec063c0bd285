//! The rules of the schema about what is noted on payouts, and which index finds what.

use windlass_core::commit::{Commit, Write};
use windlass_core::payout::ledger::{PayWrite, Payout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::store::Door;
use windlass_testkit::make;

use crate::database::Database;

/// A payout that has a memo and a reference.
async fn noted(database: &Database) -> tokio_postgres::Client {
    let store = database.open().await;
    let payout =
        Payout { memo: Memo::new("rent").ok(), reference: Reference::new("2041").ok(), ..make::payout(1) };
    let writes = vec![Write::Pay(PayWrite::Payouts(vec![payout, make::payout(2)]))];
    store.commit(Commit::of(writes)).await.expect("written");
    database.client().await
}

#[tokio::test]
async fn a_memo_and_a_reference_cannot_be_written_again() {
    let database = Database::new();
    let client = noted(&database).await;
    let refused = async |set: &str| {
        let sql = format!("UPDATE payout SET version = version + 1, {set}");
        let error = client.batch_execute(&sql).await.expect_err(set);
        error.as_db_error().expect("an answer").message().to_owned()
    };
    for set in ["memo = 'another'", "memo = NULL", "reference = 'another'", "reference = NULL"] {
        let told = refused(set).await;
        assert!(told.contains("what was asked for never changes"), "{set}: {told}");
    }
    client.batch_execute("DROP TRIGGER payout_keeps_what_was_asked ON payout").await.expect("dropped");
    for (column, longest) in [("memo", 500), ("reference", 200)] {
        for length in [0, longest + 1] {
            let told = refused(&format!("{column} = '{}'", "x".repeat(length))).await;
            assert!(told.contains("violates check constraint"), "{column}: {told}");
        }
    }
}

#[tokio::test]
async fn payouts_are_searched_over_an_index() {
    let database = Database::new();
    let client = noted(&database).await;
    for (condition, index) in [
        ("reference = '2041'", "payout_of_reference"),
        ("substr(id, 31) = '000001' AND replace(id, '-', '') LIKE '%a000001'", "payout_id_suffix"),
        ("id >= '0198' AND id < '0199'", "payout_pkey"),
    ] {
        // A table of two rows is read whole unless that is made dear.
        let sql = format!(
            "SET enable_seqscan = off; EXPLAIN SELECT * FROM payout WHERE {condition} ORDER BY id DESC LIMIT 9"
        );
        let lines = client.simple_query(&sql).await.expect("a plan");
        let text = lines.iter().filter_map(|line| match line {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        let plan = text.collect::<Vec<_>>().join("\n");
        assert!(plan.contains(index) && plan.contains("Index Cond"), "{condition}: {plan}");
    }
}
