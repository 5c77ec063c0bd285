//! The limit: how many commits of one row the disk takes, each synced.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::place::{SCHEMA, connect};
use crate::report::Measured;

/// How many commits are measured.
const COMMITS: u32 = 2_000;

/// One connection, one row after another.
pub(crate) fn sqlite(folder: &Path) -> Result<Measured, Box<dyn std::error::Error>> {
    let connection = Connection::open(folder.join("limit.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("CREATE TABLE one (n INTEGER NOT NULL); INSERT INTO one VALUES (0)")?;
    let begun = Instant::now();
    for _ in 0..COMMITS {
        connection.prepare_cached("UPDATE one SET n = n + 1")?.execute([])?;
    }
    Ok(Measured { n: u64::from(COMMITS), seconds: begun.elapsed().as_secs_f64() })
}

/// As many connections as the store has workers, each with a row of its own.
pub(crate) async fn postgres(url: &str, workers: u32) -> Result<Measured, Box<dyn std::error::Error>> {
    let client = connect(url).await?;
    client.batch_execute(&format!("CREATE TABLE {SCHEMA}.one (id INT PRIMARY KEY, n INT NOT NULL)")).await?;
    client
        .execute(
            &format!("INSERT INTO {SCHEMA}.one SELECT i, 0 FROM generate_series(1, {workers}) AS i"),
            &[],
        )
        .await?;
    let each = COMMITS / workers.max(1);
    let begun = Instant::now();
    let running: Vec<_> = (1..=workers).map(|id| tokio::spawn(commits(url.to_owned(), id, each))).collect();
    for worker in running {
        worker.await??;
    }
    Ok(Measured { n: u64::from(each * workers), seconds: begun.elapsed().as_secs_f64() })
}

async fn commits(url: String, id: u32, count: u32) -> Result<(), tokio_postgres::Error> {
    let client = connect(&url).await?;
    let update = client.prepare(&format!("UPDATE {SCHEMA}.one SET n = n + 1 WHERE id = {id}")).await?;
    for _ in 0..count {
        client.execute(&update, &[]).await?;
    }
    Ok(())
}
