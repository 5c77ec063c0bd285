//! A value that does not belong where it stands, in any column of any table that leads to a signature: its
//! row is refused and named within one check, whatever else is read with it is used, and all other payouts
//! are paid.
//!
//! Each case puts one malformed value into every column at once, each in a row of its own.

use std::collections::BTreeSet;

use alloy_primitives::{Address, U256};
use windlass_core::payout::ledger::{ApiKey, Role, RowId};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{PayoutQuery, Payouts};
use windlass_engine::pay::keyring::Keyring;
use windlass_engine::pay::repair::Repairer;

use super::tampering::{Break, on_both_stores};
use crate::database::{Intruder, Kind};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Text,
    Number,
    Bytes,
    Amount,
}

use Column::{Amount, Bytes, Number, Text};

const PAYOUT: &[(&str, Column)] = &[
    ("id", Text),
    ("version", Number),
    ("key", Text),
    ("request_id", Bytes),
    ("chain_id", Number),
    ("vault", Bytes),
    ("token", Bytes),
    ("recipient", Bytes),
    ("amount", Amount),
    ("created_by", Text),
    ("created_at_ms", Number),
    ("retry_of", Text),
    ("state", Text),
    ("updated_at_ms", Number),
    ("reason", Text),
    ("hold_reason", Text),
    ("hold_until_ms", Number),
    ("budget_day", Number),
    ("intent_signer", Bytes),
    ("intent_nonce", Number),
    ("transaction_hash", Bytes),
    ("block_number", Number),
    ("block_hash", Bytes),
    ("submitted_at_ms", Number),
    ("confirmed_at_ms", Number),
    ("finalized_at_ms", Number),
    ("mac", Bytes),
    ("memo", Text),
    ("reference", Text),
];
const APPROVAL: &[(&str, Column)] =
    &[("payout_id", Text), ("approver", Text), ("at_ms", Number), ("mac", Bytes)];
const BUDGET: &[(&str, Column)] = &[
    ("chain_id", Number),
    ("vault", Bytes),
    ("token", Bytes),
    ("day", Number),
    ("recipient", Bytes),
    ("version", Number),
    ("total", Amount),
    ("mac", Bytes),
];
const INTENT: &[(&str, Column)] = &[
    ("chain_id", Number),
    ("signer", Bytes),
    ("nonce", Number),
    ("version", Number),
    ("recipient", Bytes),
    ("data", Bytes),
    ("gas_limit", Number),
    ("created_at_ms", Number),
    ("state", Text),
    ("updated_at_ms", Number),
    ("attempts", Number),
    ("signed_at_block", Number),
    ("transaction_hash", Bytes),
    ("block_number", Number),
    ("block_hash", Bytes),
    ("mac", Bytes),
    ("gas_used", Number),
    ("effective_gas_price", Amount),
    ("block_timestamp_s", Number),
];
/// When a form was signed decides nothing, and is not compared.
const ATTEMPT: &[(&str, Column)] = &[
    ("chain_id", Number),
    ("signer", Bytes),
    ("nonce", Number),
    ("number", Number),
    ("hash", Bytes),
    ("max_fee", Amount),
    ("priority_fee", Amount),
    ("raw", Bytes),
];
const SIGNER: &[(&str, Column)] = &[
    ("chain_id", Number),
    ("address", Bytes),
    ("version", Number),
    ("next_nonce", Number),
    ("halted", Text),
    ("updated_at_ms", Number),
    ("mac", Bytes),
];
const API_KEY: &[(&str, Column)] = &[
    ("name", Text),
    ("version", Number),
    ("role", Text),
    ("hash", Bytes),
    ("created_at_ms", Number),
    ("revoked_at_ms", Number),
    ("mac", Bytes),
];
const TABLES: [(&str, &[(&str, Column)]); 7] = [
    ("payout", PAYOUT),
    ("approval", APPROVAL),
    ("budget", BUDGET),
    ("intent", INTENT),
    ("attempt", ATTEMPT),
    ("signer", SIGNER),
    ("api_key", API_KEY),
];

/// What stands in every column.
#[derive(Debug, Clone, Copy)]
enum Malformed {
    Nothing,
    /// A text, in whatever column where the database lets it stand.
    Words,
    Negative,
    TooLong,
    /// Numbers that are none, and fractions.
    Strange,
}

impl Malformed {
    fn value(self, intruder: &Intruder, column: Column) -> String {
        let is_sqlite = matches!(intruder, Intruder::Sqlite(_));
        match (self, column) {
            (Self::Nothing, _) => "NULL".to_owned(),
            (Self::Words, _) if is_sqlite => "'zz'".to_owned(),
            (Self::Words | Self::Strange, Text) => "'zz'".to_owned(),
            (Self::TooLong, Text) => format!("'{}'", "é".repeat(2_000)),
            (Self::Negative, Text) => "'-1'".to_owned(),
            (Self::Words | Self::TooLong, Bytes) => intruder.bytes(&[7; 70]),
            (Self::Strange, _) if is_sqlite => "1.5".to_owned(),
            (Self::Strange, Amount) => "'NaN'".to_owned(),
            (Self::Strange | Self::Negative, Bytes) => intruder.bytes(&[7]),
            (Self::TooLong, Amount) if is_sqlite => intruder.bytes(&[7; 70]),
            (Self::TooLong, Amount) => "1e100".to_owned(),
            (Self::Words, Amount) => "0.5".to_owned(),
            (Self::TooLong | Self::Words | Self::Strange, Number) => i64::MAX.to_string(),
            (Self::Negative, Number | Amount) => "-2".to_owned(),
        }
    }
}

/// Every rule of the tables is gone: any value can stand anywhere.
async fn loosen(case: &Break) {
    // It names payouts and transactions, which have no key any more.
    let beside: (&str, &[(&str, Column)]) = ("intent_payout", &[]);
    for (table, columns) in TABLES.into_iter().chain([beside]) {
        let statements = match &case.intruder {
            Intruder::Sqlite(_) => vec![
                format!("CREATE TABLE loose_{table} AS SELECT * FROM {table}"),
                format!("DROP TABLE {table}"),
                format!("CREATE TABLE {table} AS SELECT * FROM loose_{table}"),
            ],
            Intruder::Postgres(_) => {
                let drop = format!(
                    "DO $$ DECLARE rule record; BEGIN FOR rule IN SELECT conname AS name FROM pg_constraint \
                     WHERE conrelid = '{table}'::regclass LOOP \
                     EXECUTE format('ALTER TABLE {table} DROP CONSTRAINT %I CASCADE', rule.name); \
                     END LOOP; END $$"
                );
                let columns = columns.iter();
                let nullable =
                    columns.map(|(name, _)| format!("ALTER TABLE {table} ALTER COLUMN {name} DROP NOT NULL"));
                std::iter::once(drop).chain(nullable).collect()
            }
        };
        case.intruder.run(&statements).await;
    }
}

/// The columns that the test knows are those that there are.
fn assert_every_column(intruder: &Intruder) {
    let Intruder::Sqlite(folder) = intruder else { return };
    let database = rusqlite::Connection::open(folder.path().join("db")).expect("opened");
    for (table, columns) in TABLES {
        let mut statement = database.prepare("SELECT name FROM pragma_table_info(?1)").expect("prepared");
        let rows = statement.query_map([table], |row| row.get::<_, String>(0)).expect("listed");
        let mut there: BTreeSet<String> = rows.collect::<Result<_, _>>().expect("read");
        if table == "attempt" {
            assert!(there.remove("created_at_ms"));
        }
        let known: BTreeSet<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(there, known, "{table}");
    }
}

/// A row of its own for every column of every table, and where each is.
struct Rows {
    /// The table, the column, the condition that finds the row, and what it is called.
    targets: Vec<(&'static str, &'static str, Column, String, RowId)>,
    honest: Vec<PayoutId>,
    /// How many were signed before.
    signed: usize,
}

fn is_distinct(intruder: &Intruder) -> &'static str {
    match intruder {
        Intruder::Sqlite(_) => "IS NOT",
        Intruder::Postgres(_) => "IS DISTINCT FROM",
    }
}

async fn rows(case: &mut Break) -> Rows {
    let mut targets = Vec::new();
    let chain = case.world.vault.chain;
    let mut signed = 0;
    for (table, columns) in [("intent", INTENT), ("attempt", ATTEMPT)] {
        for (name, column) in columns {
            let id = case.world.approved(&format!("{table}-{name}"), 5).await;
            case.process.submitters[0].step().await.expect("signed");
            let intent = case.world.payout(id).await.intent.expect("a transaction");
            let row = match table {
                "intent" => RowId::Intent(intent),
                _ => RowId::Attempt { intent, number: 1 },
            };
            targets.push((table, *name, *column, format!("nonce = {}", intent.nonce), row));
            signed += 1;
        }
    }
    for (name, column) in PAYOUT {
        let id = case.world.approved(&format!("payout-{name}"), 5).await;
        targets.push(("payout", *name, *column, format!("id = '{id}'"), RowId::Payout(id)));
    }
    for (name, column) in APPROVAL {
        let id = case.world.approved(&format!("approval-{name}"), 5).await;
        let row = RowId::Approval { payout: id, approver: "boss".to_owned() };
        targets.push(("approval", *name, *column, format!("payout_id = '{id}'"), row));
    }
    let keyring = Keyring::new(case.process.ledger.clone(), "cli/root").expect("a keyring");
    for (name, column) in API_KEY {
        let key = format!("key-{name}");
        keyring.create(&key, Role::Admin, ApiKey::hash_of(&key)).await.expect("made");
        targets.push(("api_key", *name, *column, format!("name = '{key}'"), RowId::ApiKey(key)));
    }
    let mut honest = Vec::new();
    for key in ["one", "two", "three"] {
        honest.push(case.world.approved(key, 5).await);
    }
    loosen(case).await;
    // Sums and accounts that are in use stop their token or themselves: copies stand for them.
    let budget = case.world.store.list_budgets(None, 1).await.expect("read")[0].key;
    for (place, (name, column)) in (1_u8..).zip(BUDGET) {
        let token = Address::repeat_byte(place);
        let bytes = case.intruder.bytes(token.as_slice());
        copy(case, "budget", &format!("token = {bytes}"), "1 = 1").await;
        let key = windlass_core::payout::ledger::BudgetKey { token, ..budget };
        targets.push(("budget", *name, *column, format!("token = {bytes}"), RowId::Budget(key)));
    }
    for (place, (name, column)) in (1_u8..).zip(SIGNER) {
        let address = Address::repeat_byte(place);
        let bytes = case.intruder.bytes(address.as_slice());
        copy(case, "signer", &format!("address = {bytes}"), "1 = 1").await;
        let row = RowId::Signer { chain, address };
        targets.push(("signer", *name, *column, format!("address = {bytes}"), row));
    }
    Rows { targets, honest, signed }
}

async fn copy(case: &Break, table: &str, change: &str, which: &str) {
    let statements = [
        format!("CREATE TABLE copied AS SELECT * FROM {table} WHERE {which} LIMIT 1"),
        format!("UPDATE copied SET {change}"),
        format!("INSERT INTO {table} SELECT * FROM copied"),
        "DROP TABLE copied".to_owned(),
    ];
    case.intruder.run(&statements).await;
}

async fn case(kind: Kind, malformed: Malformed) {
    let mut case = Break::new(kind, |options| options.max_open = 100).await;
    assert_every_column(&case.intruder);
    let Rows { targets, honest, signed } = rows(&mut case).await;
    let copies = BTreeSet::from(["budget", "signer"]);
    let (mut named, mut copied) = (Vec::new(), 0);
    for (table, name, column, which, row) in &targets {
        let value = malformed.value(&case.intruder, *column);
        let differs = is_distinct(&case.intruder);
        let set = format!("UPDATE {table} SET {name} = {value} WHERE {which} AND {name} {differs} {value}");
        let is_changed = case.sql(&[&set]).await == 1;
        if copies.contains(table) {
            copied += 1;
        } else if is_changed {
            named.push((name, row.clone()));
        }
    }
    assert!(named.len() >= 40, "{malformed:?}: {}", named.len());
    case.check().await;
    assert_named(&case, malformed, &named, copied);
    // A process that begins now does as well.
    case.process = case.world.process("begun");
    case.check().await;
    assert_named(&case, malformed, &named, copied);
    case.rounds(25).await;
    for id in &honest {
        assert_eq!(case.world.payout(*id).await.state, PayoutState::Confirmed, "{malformed:?}");
    }
    // Those whose rows can still be used are paid, and of the others those that were sent before.
    let refused: BTreeSet<RowId> = named.iter().map(|(_, row)| row.clone()).collect();
    let waiting = |row: &RowId| matches!(row, RowId::Payout(_) | RowId::Approval { .. });
    let untouched = targets.iter().filter(|(.., row)| waiting(row) && !refused.contains(row)).count();
    assert_eq!(case.paid().await, signed + honest.len() + untouched, "{malformed:?}");
    // What is listed goes on behind each refused row.
    let query = PayoutQuery { limit: 7, ..PayoutQuery::default() };
    let listed = case.process.ledger.list_payouts(&query).await.expect("listed");
    assert_eq!(listed.len(), 7);
    assert!(case.process.ledger.count_payouts().await.is_ok());
    let waiting = case.process.ledger.count_waiting().await.expect("counted");
    assert!(waiting.iter().any(|(vault, _)| *vault == case.world.vault), "{malformed:?}: {waiting:?}");
    let (vault, token) = (case.world.vault, case.world.token);
    assert!(case.process.ledger.open_total(vault, token).await.expect("summed") < U256::from(1_000_000));
}

/// Every row that was altered is named by its own id. Of a copy it may be another id that is named.
fn assert_named(case: &Break, malformed: Malformed, named: &[(&&str, RowId)], copied: usize) {
    let forgeries = case.process.ledger.forgeries();
    let refused: BTreeSet<&RowId> = forgeries.iter().map(|forgery| &forgery.row).collect();
    for (column, row) in named {
        // Which form it was is not known any more where its transaction cannot be used.
        assert!(refused.contains(row), "{malformed:?} in {column}: {row} is not among {refused:?}");
    }
    let is_copy = |row: &&&RowId| match row {
        RowId::Unreadable { table, .. } => table == "budget" || table == "signer",
        row => matches!(row.table(), "budget" | "signer"),
    };
    assert_eq!(refused.iter().filter(is_copy).count(), copied, "{malformed:?}: {refused:?}");
}

on_both_stores!(
    nothing_in_any_column,
    words_in_any_column,
    negative_numbers_in_any_column,
    values_that_are_too_long_in_any_column,
    strange_numbers_in_any_column,
    known_blocks_that_cannot_be_read,
);

async fn nothing_in_any_column(kind: Kind) {
    case(kind, Malformed::Nothing).await;
}

async fn words_in_any_column(kind: Kind) {
    case(kind, Malformed::Words).await;
}

async fn negative_numbers_in_any_column(kind: Kind) {
    case(kind, Malformed::Negative).await;
}

async fn values_that_are_too_long_in_any_column(kind: Kind) {
    case(kind, Malformed::TooLong).await;
}

async fn strange_numbers_in_any_column(kind: Kind) {
    case(kind, Malformed::Strange).await;
}

/// What is kept of the chain's known blocks stops all signing, as ever, and is named.
async fn known_blocks_that_cannot_be_read(kind: Kind) {
    let mut case = Break::new(kind, |_| {}).await;
    case.world.approved("invoice-1", 5).await;
    case.rounds(20).await;
    let loose = match kind {
        Kind::Sqlite => vec![
            "CREATE TABLE loose AS SELECT * FROM state",
            "DROP TABLE state",
            "CREATE TABLE state AS SELECT * FROM loose",
        ],
        Kind::Postgres => vec!["ALTER TABLE state ALTER COLUMN value DROP NOT NULL"],
    };
    case.sql(&loose).await;
    for value in ["NULL", "'zz'"] {
        let set = format!("UPDATE state SET value = {value} WHERE key LIKE 'pay/%/identity'");
        assert_eq!(case.sql(&[&set]).await, 1);
        let refused = case.check().await;
        assert!(refused.iter().any(|(table, _)| *table == "chain"), "{value}: {refused:?}");
    }
    // Nobody takes a checkpoint that cannot be read for anything but none.
    case.sql(&["INSERT INTO state (key, value, updated_at_ms) VALUES ('pay/ledger/checkpoint', NULL, 1)"])
        .await;
    case.world.approved("invoice-2", 5).await;
    let mut begun = case.world.process("begun");
    for _ in 0..5 {
        case.world.round(&mut begun).await;
    }
    assert_eq!(case.paid().await, 1);
}

/// SQLite keeps any bytes as text; PostgreSQL refuses them. They are named by what they are, and taken away by that name.
#[tokio::test]
async fn bytes_that_are_no_text_on_sqlite() {
    let mut case = Break::new(Kind::Sqlite, |_| {}).await;
    let id = case.world.approved("invoice-1", 5).await;
    let keyring = Keyring::new(case.process.ledger.clone(), "cli/root").expect("a keyring");
    keyring.create("alice", Role::Admin, ApiKey::hash_of("alice")).await.expect("made");
    loosen(&case).await;
    for (table, column) in [("payout", "id"), ("approval", "approver"), ("api_key", "name")] {
        for bytes in ["x'ff'", "x'6100ff'", "x'c3a9'"] {
            copy(&case, table, &format!("{column} = CAST({bytes} AS TEXT)"), "1 = 1").await;
        }
    }
    assert!(!case.check().await.is_empty());
    let repairer = Repairer::new(case.process.ledger.clone(), "cli/root").expect("a repairer");
    let named: Vec<RowId> = case.process.ledger.forgeries().into_iter().map(|forgery| forgery.row).collect();
    let unreadable = named.iter().filter(|row| matches!(row, RowId::Unreadable { .. }));
    assert_eq!(unreadable.count(), 9, "{named:?}");
    for row in named.iter().filter(|row| matches!(row, RowId::Unreadable { .. })) {
        repairer.repair(row).await.expect("taken away");
    }
    assert_eq!(case.check().await, BTreeSet::new());
    case.rounds(25).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.paid().await, 1);
}
