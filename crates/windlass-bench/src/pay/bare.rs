//! The bare loop: sign, commit one row, send; one transaction after another.

use std::path::Path;
use std::time::Instant;

use alloy_primitives::{Address, U256};
use rusqlite::Connection;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::transaction::Transaction;
use windlass_core::payout::vault::calldata::{self, VaultPayout};

use super::Broken;
use super::world::World;
use crate::report::Measured;

/// Makes so many transactions with an account of its own.
pub(super) async fn measure(world: &World, path: &Path, n: u64) -> Result<Measured, Broken> {
    let signer = world.signers(8)?.pop().ok_or("too few accounts")?;
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection
        .execute_batch("CREATE TABLE attempt (nonce INTEGER PRIMARY KEY, hash BLOB, raw BLOB) STRICT")?;
    let client = reqwest::Client::new();
    let first = world.chain.next_nonce(signer.address());
    let begun = Instant::now();
    for nonce in first..first + n {
        let payout = VaultPayout {
            request_id: U256::from(nonce + 1).into(),
            token: Address::repeat_byte(1),
            to: Address::repeat_byte(2),
            amount: U256::from(nonce),
        };
        let transaction = Transaction {
            chain: world.vault.chain,
            nonce,
            to: Some(world.vault.address),
            data: calldata::payout(&payout),
            gas_limit: 150_000,
            fees: GasFees { max_fee: 100_000_000_000, priority_fee: 1_000_000_000 },
        };
        let signed = transaction.signed(&signer.sign_hash(transaction.signing_hash()).await?);
        connection.execute(
            "INSERT INTO attempt VALUES (?1, ?2, ?3)",
            (i64::try_from(nonce)?, signed.hash.as_slice(), &signed.raw[..]),
        )?;
        let body = serde_json::json!({
            "jsonrpc": "2.0", "id": nonce, "method": "eth_sendRawTransaction", "params": [signed.raw],
        });
        let request = client.post(world.url()).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await?.error_for_status()?.bytes().await?;
        let answer: serde_json::Value = serde_json::from_slice(&answer)?;
        if answer.get("result").is_none() {
            return Err(format!("the chain refused a transaction: {answer}").into());
        }
    }
    Ok(Measured { n, seconds: begun.elapsed().as_secs_f64() })
}
