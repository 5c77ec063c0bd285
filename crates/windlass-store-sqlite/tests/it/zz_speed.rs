//! temporary
use std::time::Instant;
use windlass_core::chain::{Address, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::store::*;
use windlass_core::table::*;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::make;

fn row(n: u64) -> EventRow {
    EventRow {
        head: make::row_head(n / 10, (n % 10) as u32, 1),
        values: vec![
            Value::Address(Address::with_last_byte(n as u8)),
            Value::Address(Address::repeat_byte(n as u8)),
            Value::Uint(U256::from(n) * U256::from(1_000_000_007_000_000_000u64)),
            Value::Uint(U256::from(n * 77) * U256::from(1_000_000_000u64)),
        ],
    }
}

#[tokio::test]
async fn speed() {
    let cols = [("token", ColumnKind::Address), ("who", ColumnKind::Address), ("a", ColumnKind::Uint), ("b", ColumnKind::Uint)];
    let spec = make::table_of("t", 1, &cols);
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = SqliteStore::open(SqliteOptions::file(&path)).await.unwrap();
        store.create_tables(&[spec.clone(), make::table_of("u", 1, &cols)]).await.unwrap();
        let batches: Vec<Rows> = (0..10u64).map(|b| make::rows(&spec, (b * 10_000..(b + 1) * 10_000).map(row))).collect();
        let mut took = Vec::new();
        for batch in batches {
            store.enqueue_jobs(vec![make::job("q", "k", "{}")]).await.unwrap();
            let t = store.claim_jobs(&make::claim("q", "w", 1)).await.unwrap()[0].ticket;
            let begun = Instant::now();
            store.commit(Commit::of(vec![Write::CompleteJob(t), Write::Rows(batch), Write::Publish(vec![make::message("p", "x")])]).relaxed()).await.unwrap();
            took.push(begun.elapsed());
        }
        store.close().await; drop(store);
        let c = rusqlite::Connection::open(&path).unwrap();
        c.execute_batch("PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32768").unwrap();
        let rows: Vec<EventRow> = (0..100_000).map(row).collect();
        let mut bare = Vec::new();
        for chunk in rows.chunks(10_000) {
            let begun = Instant::now();
            c.execute_batch("BEGIN IMMEDIATE").unwrap();
            {
                let mut s = c.prepare_cached("INSERT INTO u VALUES (?,?,?,?,?,?,?,?,?,?)").unwrap();
                for r in chunk {
                    let h = &r.head;
                    let (Value::Address(a), Value::Address(b), Value::Uint(x), Value::Uint(y)) = (&r.values[0], &r.values[1], &r.values[2], &r.values[3]) else { panic!() };
                    let (x, y): ([u8; 32], [u8; 32]) = (x.to_be_bytes(), y.to_be_bytes());
                    s.execute((h.block.number as i64, h.log_index, h.block.hash.as_slice(), h.timestamp_s as i64, h.transaction_hash.as_slice(), h.address.as_slice(), a.as_slice(), b.as_slice(), &x[18..], &y[18..])).unwrap();
                }
            }
            c.execute_batch("COMMIT").unwrap();
            bare.push(begun.elapsed());
        }
        took.sort(); bare.sort(); let (took, bare) = (took[took.len() / 4], bare[bare.len() / 4]); println!("store {took:?} bare {bare:?} ratio {:.2}", bare.as_secs_f64() / took.as_secs_f64());
    }
}
