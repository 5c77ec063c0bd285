//! Rows whose ids can be read, and those whose ids cannot.
//!
//! The conditions are those of the indexes on such rows: otherwise PostgreSQL does not use them.

use windlass_core::payout::ledger::RowId;
use windlass_core::payout::store::MAX_UNREADABLE;

use crate::error::Outcome;
use crate::row::get;
use crate::tx::Tx;

/// What of a condition of a readable id goes into a statement.
macro_rules! readable {
    (payout) => {
        "id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'"
    };
    (approval) => {
        "payout_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' AND approver IS NOT NULL"
    };
    (budget) => {
        "chain_id > 0 AND length(vault) = 20 AND length(token) = 20 AND day IS NOT NULL AND length(recipient) IN (0, 20)"
    };
    (intent) => {
        "chain_id > 0 AND length(signer) = 20 AND nonce >= 0"
    };
    (attempt) => {
        "chain_id > 0 AND length(signer) = 20 AND nonce >= 0 AND number BETWEEN 0 AND 4294967295"
    };
    (signer) => {
        "chain_id > 0 AND length(address) = 20"
    };
    (api_key) => {
        "name IS NOT NULL"
    };
}
pub(super) use readable;

/// Every table, the condition of a readable id, and the columns of the id.
const TABLES: [(&str, &str, &[&str]); 7] = [
    ("payout", readable!(payout), &["id"]),
    ("approval", readable!(approval), &["payout_id", "approver"]),
    ("budget", readable!(budget), &["chain_id", "vault", "token", "day", "recipient"]),
    ("intent", readable!(intent), &["chain_id", "signer", "nonce"]),
    ("attempt", readable!(attempt), &["chain_id", "signer", "nonce", "number"]),
    ("signer", readable!(signer), &["chain_id", "address"]),
    ("api_key", readable!(api_key), &["name"]),
];

/// Rows whose ids cannot be read.
pub(super) async fn list(tx: &Tx) -> Outcome<Vec<RowId>> {
    let mut found = Vec::new();
    for (table, readable, id) in TABLES {
        let words = words_of(id);
        let sql =
            format!("SELECT {words} FROM {table} WHERE ({readable}) IS NOT TRUE LIMIT {MAX_UNREADABLE}");
        for row in tx.query(&sql, &[]).await? {
            found.push(RowId::Unreadable { table: table.to_owned(), key: get(&row, 0)? });
        }
    }
    Ok(found)
}

/// Takes such a row away.
pub(super) async fn remove(tx: &Tx, table: &str, key: &str) -> Outcome<()> {
    for (_, readable, id) in TABLES.into_iter().filter(|(name, ..)| *name == table) {
        let words = words_of(id);
        let sql = format!("DELETE FROM {table} WHERE ({readable}) IS NOT TRUE AND {words} = $1");
        tx.execute(&sql, &[&key]).await?;
    }
    Ok(())
}

/// An id in the database's own words.
fn words_of(columns: &[&str]) -> String {
    let quoted: Vec<String> =
        columns.iter().map(|column| format!("left(quote_nullable({column}::text), 200)")).collect();
    quoted.join(" || ' ' || ")
}
