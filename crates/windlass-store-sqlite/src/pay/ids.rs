//! Rows whose ids can be read, and those whose ids cannot.
//!
//! The conditions are those of the indexes on such rows, to the letter: otherwise SQLite does not use them.

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::RowId;
use windlass_core::payout::store::MAX_UNREADABLE;

use crate::error::Translate;
use crate::row::get;
use crate::writer::Tx;

/// Of a payout.
pub(super) const PAYOUT: &str = "typeof(id) = 'text' AND length(CAST(id AS BLOB)) = 36 \
    AND id GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-\
    [0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-\
    [0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'";
const APPROVAL: &str = "typeof(payout_id) = 'text' AND length(CAST(payout_id AS BLOB)) = 36 \
    AND payout_id GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-\
    [0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-\
    [0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]' \
    AND typeof(approver) = 'text' AND approver NOT GLOB '*[^ -~]*' \
    AND length(approver) = length(CAST(approver AS BLOB))";
/// Of the sum of a day.
pub(super) const BUDGET: &str = "typeof(chain_id) = 'integer' AND chain_id > 0 AND typeof(vault) = 'blob' \
    AND length(vault) = 20 AND typeof(token) = 'blob' AND length(token) = 20 \
    AND typeof(day) = 'integer' AND typeof(recipient) = 'blob' \
    AND length(recipient) IN (0, 20)";
/// Of a transaction.
pub(super) const INTENT: &str = "typeof(chain_id) = 'integer' AND chain_id > 0 AND typeof(signer) = 'blob' \
    AND length(signer) = 20 AND typeof(nonce) = 'integer' AND nonce >= 0";
/// Of a signed form.
pub(super) const ATTEMPT: &str = "typeof(chain_id) = 'integer' AND chain_id > 0 AND typeof(signer) = 'blob' \
    AND length(signer) = 20 AND typeof(nonce) = 'integer' AND nonce >= 0 \
    AND typeof(number) = 'integer' AND number BETWEEN 0 AND 4294967295";
/// Of an account.
pub(super) const SIGNER: &str = "typeof(chain_id) = 'integer' AND chain_id > 0 AND typeof(address) = 'blob' \
    AND length(address) = 20";
/// Names are printable ASCII: other bytes may not even be text.
const API_KEY: &str =
    "typeof(name) = 'text' AND name NOT GLOB '*[^ -~]*' AND length(name) = length(CAST(name AS BLOB))";

/// Every table, the condition of a readable id, and the columns of the id.
const TABLES: [(&str, &str, &[&str]); 7] = [
    ("payout", PAYOUT, &["id"]),
    ("approval", APPROVAL, &["payout_id", "approver"]),
    ("budget", BUDGET, &["chain_id", "vault", "token", "day", "recipient"]),
    ("intent", INTENT, &["chain_id", "signer", "nonce"]),
    ("attempt", ATTEMPT, &["chain_id", "signer", "nonce", "number"]),
    ("signer", SIGNER, &["chain_id", "address"]),
    ("api_key", API_KEY, &["name"]),
];

/// Rows whose ids cannot be read.
pub(super) fn list(tx: &Tx<'_>) -> StoreResult<Vec<RowId>> {
    let mut found = Vec::new();
    for (table, readable, id) in TABLES {
        let words = words_of(id);
        let sql = format!("SELECT {words} FROM {table} WHERE NOT ({readable}) LIMIT {MAX_UNREADABLE}");
        let mut statement = tx.prepare(&sql)?;
        let mut rows = statement.query([]).translate()?;
        while let Some(row) = rows.next().translate()? {
            found.push(RowId::Unreadable { table: table.to_owned(), key: get(row, 0)? });
        }
    }
    Ok(found)
}

/// Takes such a row away.
pub(super) fn remove(tx: &Tx<'_>, table: &str, key: &str) -> StoreResult<()> {
    for (_, readable, id) in TABLES.into_iter().filter(|(name, ..)| *name == table) {
        let sql = format!("DELETE FROM {table} WHERE NOT ({readable}) AND {} = ?1", words_of(id));
        tx.execute(&sql, [key])?;
    }
    Ok(())
}

/// An id in the database's own words. What is not printable ASCII is written as bytes: it may not even be text.
fn words_of(columns: &[&str]) -> String {
    let quoted = |column: &&str| {
        format!(
            "substr(CASE WHEN typeof({column}) = 'text' \
                 AND ({column} GLOB '*[^ -~]*' OR length({column}) <> length(CAST({column} AS BLOB))) \
             THEN quote(CAST({column} AS BLOB)) ELSE quote({column}) END, 1, 200)"
        )
    };
    let quoted: Vec<String> = columns.iter().map(quoted).collect();
    quoted.join(" || ' ' || ")
}
