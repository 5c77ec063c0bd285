//! `windlass payout export`: what bookkeeping needs of each payout, in every format.

use std::collections::BTreeMap;

use alloy_primitives::U256;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use rusqlite::Connection;
use serde_json::Value;

use super::world::{PayWorld, TO, create, json};
use crate::binary::Folder;

type Row = BTreeMap<String, String>;

fn csv(text: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

/// The same of JSON lines: what is empty there is empty here, and lists are joined.
fn ndjson(text: &str) -> Vec<Row> {
    let shown = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().expect("a text")).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    let row = |line: &str| {
        let value: serde_json::Map<String, Value> = serde_json::from_str(line).expect("json");
        value.iter().map(|(name, value)| (name.clone(), shown(value))).collect()
    };
    text.lines().map(row).collect()
}

fn parquet(folder: &Folder, name: &str) -> Vec<Row> {
    let file = std::fs::File::open(folder.path().join(name)).expect("a file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let shown = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(number) => number.to_string(),
        Field::TimestampMillis(ms) => {
            format!("{:.0}", jiff::Timestamp::from_millisecond(*ms).expect("a time"))
        }
        other => panic!("{other:?}"),
    };
    let row = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, field)| (name.clone(), shown(field))).collect()
    };
    reader.get_row_iter(None).expect("rows").map(|one| row(one.expect("a row"))).collect()
}

/// Three that are paid in one transaction, and one that was rejected; final.
async fn paid() -> (PayWorld, Folder) {
    let world = PayWorld::start().await;
    let folder = world.folder("batch = 10");
    let mut approve = vec!["payout".to_owned(), "approve".to_owned()];
    for key in ["a", "b", "c"] {
        let memo = format!("for \"{key}\", in März");
        let args = [
            "payout",
            "create",
            "--to",
            TO,
            "--amount",
            "1.5 USDC",
            "--key",
            key,
            "--memo",
            &memo,
            "--reference",
            "2041",
            "--json",
        ];
        approve.push(json(&folder.run(&args))["payout"]["id"].as_str().expect("an id").to_owned());
    }
    let rejected = create(&folder, "d", "7 USDC");
    assert_eq!(folder.run(&["payout", "reject", &rejected, "--reason", "twice"]).code, Some(0));
    let approve: Vec<&str> = approve.iter().map(String::as_str).collect();
    assert_eq!(folder.run(&approve).code, Some(0));
    let running = folder.start(&["run", "--role", "pay"]);
    for id in &approve[2..] {
        world.until_payout(&folder, id, |payout| payout["finalizedAt"].is_string());
    }
    running.signal("TERM");
    running.end();
    (world, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_are_exported_with_what_they_cost() {
    let (_world, folder) = paid().await;
    let exported = folder.run(&["payout", "export"]);
    assert_eq!(exported.code, Some(0), "{}", exported.shown());
    let rows = csv(&exported.stdout);
    let keys: Vec<&str> = rows.iter().map(|row| row["key"].as_str()).collect();
    assert_eq!(keys, ["a", "b", "c", "d"], "the oldest first");
    let shown = json(&folder.run(&["payout", "show", &rows[0]["id"], "--json"]));
    let transaction = &shown["intents"][0];
    let fee = rows.iter().map(|row| row["fee_wei"].parse::<U256>().unwrap_or_default());
    assert_eq!(fee.fold(U256::ZERO, |sum, one| sum + one).to_string(), transaction["receipt"]["fee"]);
    for row in &rows[..3] {
        assert_eq!((row["amount"].as_str(), row["amount_base_units"].as_str()), ("1.5", "1500000"));
        assert_eq!((row["token"].as_str(), row["state"].as_str()), ("USDC", "CONFIRMED"));
        assert_eq!(row["memo"], format!("for \"{}\", in März", row["key"]));
        assert_eq!((row["reference"].as_str(), row["created_by"].as_str()), ("2041", "development/operator"));
        assert_eq!((row["approvers"].as_str(), row["reason"].as_str()), ("development/approver", ""));
        assert_eq!(row["transaction"], transaction["inclusion"]["transaction"].as_str().expect("a hash"));
        assert_eq!(row["block"], transaction["inclusion"]["blockNumber"].to_string());
        let seconds = |text: &str| text.parse::<jiff::Timestamp>().expect(text).as_second();
        let block_time = transaction["receipt"]["blockTime"].as_str().expect("a time");
        assert_eq!(seconds(&row["block_time"]), seconds(block_time));
        assert!(row["fee"].starts_with("0.") && row["created_at"] <= row["approved_at"], "{row:?}");
        assert!(row["approved_at"] <= row["confirmed_at"] && row["confirmed_at"] <= row["finalized_at"]);
    }
    let rejected = &rows[3];
    assert_eq!((rejected["state"].as_str(), rejected["reason"].as_str()), ("REJECTED", "twice"));
    for empty in
        ["fee", "fee_wei", "transaction", "block", "block_time", "approved_at", "confirmed_at", "memo"]
    {
        assert_eq!(rejected[empty], "", "{empty}");
    }

    let lines = folder.run(&["payout", "export", "--format", "jsonl"]);
    assert_eq!(ndjson(&lines.stdout), rows);
    let written = folder.run(&["payout", "export", "--format", "parquet", "--output", "payouts.parquet"]);
    assert!(written.code == Some(0) && written.stderr.contains("wrote 4 payouts"), "{}", written.shown());
    assert_eq!(parquet(&folder, "payouts.parquet"), rows);

    let count = |more: &[&str]| csv(&folder.run(&[&["payout", "export"][..], more].concat()).stdout).len();
    assert_eq!(count(&["--state", "rejected"]), 1);
    assert_eq!(count(&["--reference", "2041", "--to", TO, "--amount", "1.5 USDC"]), 3);
    assert_eq!(count(&["--reference", "none"]), 0);
    assert_eq!(
        (count(&["--key", "b"]), count(&["--until", "2020-01-01"]), count(&["--from", "2020-01-01"])),
        (1, 0, 4)
    );
}

/// Books from which a payout is missing are not written.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_without_tampered_rows_is_refused_and_leaves_no_file() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    create(&folder, "a", "1 USDC");
    let before = folder.run(&["payout", "export", "--output", "books.csv"]);
    assert_eq!(before.code, Some(0), "{}", before.shown());
    let taken = folder.run(&["payout", "export", "--output", "books.csv"]);
    assert!(taken.code == Some(1) && taken.stderr.contains("--force"), "{}", taken.shown());
    let database = Connection::open(folder.path().join("windlass.db")).expect("the database");
    let alter = "DROP TRIGGER payout_keeps_what_was_asked; DROP TRIGGER payout_goes_on; UPDATE payout SET memo = 'forged'";
    database.execute_batch(alter).expect("altered");
    let refused = folder.run(&["payout", "export", "--output", "new.csv"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("W0612"), "{}", refused.shown());
    assert!(!folder.path().join("new.csv").exists());
}

/// More than a page, from standard input to the last row.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_goes_on_behind_the_largest_page() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let mut text = "key,to,amount\n".to_owned();
    (0..1_000).for_each(|number| text.push_str(&format!("pay-{number},{TO},1 USDC\n")));
    let created = folder.run_with_input(&["payout", "create", "--csv", "-"], text.as_bytes());
    assert_eq!(created.code, Some(0), "{}", created.stderr);
    create(&folder, "last", "1 USDC");
    let rows = csv(&folder.run(&["payout", "export"]).stdout);
    let keys: std::collections::BTreeSet<&str> = rows.iter().map(|row| row["key"].as_str()).collect();
    assert_eq!((rows.len(), keys.len(), rows[1_000]["key"].as_str()), (1_001, 1_001, "last"));
    assert!(rows.windows(2).all(|pair| pair[0]["id"] < pair[1]["id"]));
}
