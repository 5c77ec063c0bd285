//! `windlass sql` on a store with two tables, and every example of docs/sql.md.

use std::sync::Arc;

use windlass_core::abi::EventShape;
use windlass_core::chain::{Address, B256, BlockRef, ChainId, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::store::{Door, Health, Tables};
use windlass_core::table::{I256, Identifier, RowHead, Rows, TableSpec, Value};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use crate::binary::Folder;

const FEES: &str = "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";
const SWAPS: &str = "Swap(address indexed pool, int256 amount, string note)";

fn spec(index: &str, event: &str) -> Arc<TableSpec> {
    let index = Identifier::new(index).expect("a name");
    let chain = ChainId::new(137).expect("an id");
    Arc::new(event.parse::<EventShape>().expect("an event").table(&index, chain, &[]))
}

fn rows(spec: &Arc<TableSpec>, values: Vec<Vec<Value>>) -> Rows {
    let mut rows = Rows::new(spec.clone());
    for (number, values) in (78_600_000_u64..).zip(values) {
        let head = RowHead {
            block: BlockRef { number, hash: B256::left_padding_from(&number.to_be_bytes()) },
            log_index: 3,
            timestamp_s: 1_762_000_000 + 2 * (number - 78_600_000),
            transaction_hash: B256::repeat_byte(number as u8),
            address: Address::repeat_byte(0xbd),
        };
        let put = |into: &mut Vec<Value>| {
            into.extend(values);
            Ok::<_, std::convert::Infallible>(())
        };
        assert_eq!(rows.push_with(head, put), Ok(true));
    }
    rows
}

/// Fees of two tokens, one of them with 18 decimals, and swaps either way.
async fn fill(folder: &Folder) {
    let store =
        SqliteStore::open(SqliteOptions::file(folder.path().join("windlass.db"))).await.expect("a store");
    let (fees, swaps) = (spec("fees", FEES), spec("pool", SWAPS));
    store.create_tables(&[fees.clone(), swaps.clone()]).await.expect("tables");
    let ether = U256::from(10).pow(U256::from(18));
    let fee = |token: u8, fee: U256| {
        let [token, integrator] = [token, 0xaa].map(|byte| Value::Address(Address::repeat_byte(byte)));
        vec![token, integrator, Value::Uint(fee), Value::Uint(fee / U256::from(10))]
    };
    let collected = vec![
        fee(0x11, U256::from(2_500_000)),
        fee(0x22, ether * U256::from(12)),
        fee(0x22, ether * U256::from(9) + U256::ONE),
        fee(0x11, U256::from(499_999)),
    ];
    let swap = |amount: I256, note: &str| {
        vec![Value::Address(Address::repeat_byte(0x33)), Value::Int(amount), Value::Text(note.to_owned())]
    };
    let swapped = vec![
        swap(I256::from_raw(ether * U256::from(30)), "in"),
        swap(-I256::from_raw(ether * U256::from(40)), "out \u{1b}[2J, \"quoted\""),
    ];
    let writes = vec![Write::Rows(rows(&fees, collected)), Write::Rows(rows(&swaps, swapped))];
    store.commit(Commit::of(writes)).await.expect("written");
    store.close().await;
}

#[tokio::test]
async fn statements_are_answered_as_a_table_json_and_csv() {
    let folder = Folder::new();
    fill(&folder).await;
    let totals =
        "SELECT token, count(*) AS fees, sum(integrator_fee) AS total, avg(integrator_fee) AS average
                  FROM fees_fees_collected GROUP BY token ORDER BY total DESC";
    insta::assert_snapshot!("sql_table", folder.run(&["sql", totals]).shown());
    insta::assert_snapshot!("sql_json", folder.run(&["sql", "--json", totals]).shown());
    insta::assert_snapshot!("sql_csv", folder.run(&["sql", "--csv", totals]).shown());
    let swaps = "SELECT block_number, amount, note, NULL AS missing, amount / 3 AS third FROM pool_swap ORDER BY amount";
    insta::assert_snapshot!("sql_signed", folder.run(&["sql", swaps]).shown());
    insta::assert_snapshot!("sql_signed_json", folder.run(&["sql", swaps, "--json"]).shown());
    insta::assert_snapshot!("sql_signed_csv", folder.run(&["sql", swaps, "--csv"]).shown());
    insta::assert_snapshot!(
        "sql_cut",
        folder.run(&["sql", "SELECT lifi_fee FROM fees_fees_collected", "--limit", "2"]).shown()
    );
}

#[tokio::test]
async fn tables_are_listed_with_their_views_and_columns() {
    let folder = Folder::new();
    fill(&folder).await;
    insta::assert_snapshot!("sql_tables", folder.run(&["sql", "--tables"]).shown());
    let listed = folder.run(&["sql", "--tables", "--json"]);
    let tables: serde_json::Value = serde_json::from_str(&listed.stdout).expect("json");
    assert_eq!(tables[0]["table"], "fees_fees_collected");
    assert_eq!(tables[0]["view"], "fees_fees_collected_view");
    assert_eq!(tables[0]["rows"], 4);
    assert_eq!(tables[0]["columns"][8], serde_json::json!({"name": "integrator_fee", "holds": "amount"}));
}

#[tokio::test]
async fn what_is_refused_is_told_with_the_names_there_are() {
    let folder = Folder::new();
    fill(&folder).await;
    for (name, statement) in [
        ("sql_no_table", "SELECT * FROM fees"),
        ("sql_no_column", "SELECT integratorFee FROM fees_fees_collected"),
        ("sql_secret", "SELECT * FROM api_key"),
        ("sql_write", "DELETE FROM fees_fees_collected"),
        ("sql_two", "SELECT 1; SELECT 2"),
        ("sql_not_a_sum", "SELECT sum(note) FROM pool_swap"),
    ] {
        insta::assert_snapshot!(name, folder.run(&["sql", statement]).shown());
    }
    insta::assert_snapshot!("sql_no_statement", folder.run(&["sql"]).shown());
    let twice = folder.run(&["sql", "--json", "SELECT 1 AS a, 2 AS a"]);
    assert_eq!((twice.code, twice.stdout.as_str()), (Some(1), ""), "{}", twice.stderr);
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    insta::assert_snapshot!("sql_endless", folder.run(&["sql", endless, "--timeout", "100ms"]).shown());
    for args in [&["sql", "SELECT 1", "--timeout", "0s"][..], &["sql", "--tables", "SELECT 1"]] {
        assert_eq!(folder.run(args).code, Some(2), "{args:?}");
    }
    assert_eq!(Folder::new().run(&["sql", "SELECT 1"]).code, Some(1), "there is no database");
}

/// What any other program reads of the views: no function of ours is needed.
#[tokio::test]
async fn any_program_reads_the_views() {
    let folder = Folder::new();
    fill(&folder).await;
    let connection = rusqlite::Connection::open(folder.path().join("windlass.db")).expect("a connection");
    let read = |sql: &str| -> Vec<(String, String)> {
        let mut statement = connection.prepare(sql).expect(sql);
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect(sql);
        rows.map(|row| row.expect("a row")).collect()
    };
    let fees = read("SELECT token, integrator_fee FROM fees_fees_collected_view ORDER BY block_number");
    let token = |byte: &str| format!("0x{}", byte.repeat(20));
    let expected = [
        (token("11"), "2500000"),
        (token("22"), "12000000000000000000"),
        (token("22"), "9000000000000000001"),
        (token("11"), "499999"),
    ];
    assert_eq!(fees, expected.map(|(token, fee)| (token, fee.to_owned())));
    let swaps = read("SELECT amount, pool FROM pool_swap_view ORDER BY block_number");
    assert_eq!(swaps[1].0, "-40000000000000000000");
}

/// A command line as a shell splits it, as far as the examples need.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' | '\n' if !is_quoted => words.push(String::new()),
            c => words.last_mut().expect("a word").push(c),
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Every command of the page with what it prints there.
#[tokio::test]
async fn the_examples_of_the_documents_print_what_they_say() {
    let folder = Folder::new();
    fill(&folder).await;
    let page = include_str!("../../../../docs/sql.md");
    let mut count = 0;
    for block in page.split("```console\n").skip(1) {
        let block = block.split("```").next().expect("a block");
        for example in block.split("$ windlass ").skip(1) {
            // The command ends with the line on which its quotes are closed.
            let ends = example.match_indices('\n').map(|(place, _)| place);
            let end =
                ends.clone().find(|end| example[..*end].matches('\'').count() % 2 == 0).expect("an end");
            let (command, printed) = example.split_at(end + 1);
            let words = words(command);
            let ran = folder.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(ran.stdout.trim_end(), printed.trim_end(), "{command}{}", ran.stderr);
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} examples");
}
