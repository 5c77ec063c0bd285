//! The bare loop: sign, commit one row to the same kind of store, send; one transaction
//! after another.

use std::path::Path;
use std::time::Instant;

use alloy_primitives::{Address, U256};
use rusqlite::Connection;
use tokio_postgres::{Client, Statement};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::transaction::Transaction;
use windlass_core::payout::vault::calldata::{self, VaultPayout};

use super::Broken;
use super::served::ServedChain;
use crate::place::{SCHEMA, connect};
use crate::report::Measured;

/// Where the bare loop keeps its rows.
pub(super) enum Rows {
    /// In a file, as sure as the store is.
    Sqlite(Connection),
    /// On the server, by a prepared statement.
    Postgres(Client, Statement),
}

impl Rows {
    /// A table of its own in a file.
    pub(super) fn sqlite(path: &Path) -> Result<Self, Broken> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection
            .execute_batch("CREATE TABLE bare (nonce INTEGER PRIMARY KEY, hash BLOB, raw BLOB) STRICT")?;
        Ok(Self::Sqlite(connection))
    }

    /// A table of its own on a server.
    pub(super) async fn postgres(url: &str) -> Result<Self, Broken> {
        let client = connect(url).await?;
        let table = format!("{SCHEMA}.bare");
        client
            .batch_execute(&format!("CREATE TABLE {table} (nonce BIGINT PRIMARY KEY, hash BYTEA, raw BYTEA)"))
            .await?;
        let insert = client.prepare(&format!("INSERT INTO {table} VALUES ($1, $2, $3)")).await?;
        Ok(Self::Postgres(client, insert))
    }

    async fn insert(&self, nonce: i64, hash: &[u8], raw: &[u8]) -> Result<(), Broken> {
        match self {
            Self::Sqlite(connection) => {
                let mut insert = connection.prepare_cached("INSERT INTO bare VALUES (?1, ?2, ?3)")?;
                insert.execute((nonce, hash, raw))?;
            }
            Self::Postgres(client, insert) => {
                client.execute(insert, &[&nonce, &hash, &raw]).await?;
            }
        }
        Ok(())
    }
}

/// Makes so many transactions with an account of its own.
pub(super) async fn measure(chain: &ServedChain, rows: &Rows, n: u64) -> Result<Measured, Broken> {
    let signer = chain.signers(8)?.pop().ok_or("too few accounts")?;
    let client = reqwest::Client::new();
    let first = chain.next_nonce(signer.address())?;
    let begun = Instant::now();
    for nonce in first..first + n {
        let payout = VaultPayout {
            request_id: U256::from(nonce + 1).into(),
            token: Address::repeat_byte(1),
            to: Address::repeat_byte(2),
            amount: U256::from(nonce),
        };
        let transaction = Transaction {
            chain: chain.description.vault.chain,
            nonce,
            to: Some(chain.description.vault.address),
            data: calldata::payout(&payout),
            gas_limit: 150_000,
            fees: GasFees { max_fee: 100_000_000_000, priority_fee: 1_000_000_000 },
        };
        let signed = transaction.signed(&signer.sign_hash(transaction.signing_hash()).await?);
        rows.insert(i64::try_from(nonce)?, signed.hash.as_slice(), &signed.raw).await?;
        let body = serde_json::json!({
            "jsonrpc": "2.0", "id": nonce, "method": "eth_sendRawTransaction", "params": [signed.raw],
        });
        let request = client.post(&chain.description.url).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await?.error_for_status()?.bytes().await?;
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        if answer.get("result").is_none() {
            return Err(format!("the chain refused a transaction: {answer}").into());
        }
    }
    Ok(Measured { n, seconds: begun.elapsed().as_secs_f64() })
}
