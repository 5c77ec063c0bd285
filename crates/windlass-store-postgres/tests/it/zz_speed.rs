//! temporary
use std::time::Instant;
use std::pin::pin;
use futures_util::SinkExt;
use bytes::{BufMut, BytesMut, Bytes};
use windlass_core::chain::{Address, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::store::*;
use windlass_core::table::*;
use windlass_testkit::make;
use crate::database::Database;

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
    for _ in 0..4 {
        let database = Database::new();
        let store = database.open().await;
        store.create_tables(&[spec.clone(), make::table_of("u", 1, &cols)]).await.unwrap();
        let client = database.client().await;
        let (mut took, mut bare) = (Vec::new(), Vec::new());
        for b in 0..20u64 {
            let batch = make::rows(&spec, (b * 10_000..(b + 1) * 10_000).map(row));
            store.enqueue_jobs(vec![make::job("q", "k", "{}")]).await.unwrap();
            let t = store.claim_jobs(&make::claim("q", "w", 1)).await.unwrap()[0].ticket;
            let begun = Instant::now();
            store.commit(Commit::of(vec![Write::CompleteJob(t), Write::Rows(batch), Write::Publish(vec![make::message("p", "x")])]).relaxed()).await.unwrap();
            took.push(begun.elapsed());
            // the very same bytes, read back
            let stream = client.copy_out(&*format!("COPY (SELECT * FROM t WHERE block_number BETWEEN {} AND {}) TO STDOUT (FORMAT binary)", b * 1000, b * 1000 + 999)).await.unwrap();
            let mut all = BytesMut::new();
            { use futures_util::StreamExt; let mut stream = pin!(stream); while let Some(x) = stream.next().await { all.put_slice(&x.unwrap()); } }
            let all = all.freeze();
            let s = client.prepare("COPY u FROM STDIN (FORMAT binary)").await.unwrap();
            let begun = Instant::now();
            client.batch_execute("BEGIN; SET LOCAL synchronous_commit = off").await.unwrap();
            let mut sink = pin!(client.copy_in::<_, Bytes>(&s).await.unwrap());
            let mut at = 0;
            while at < all.len() { let to = (at + 65536).min(all.len()); sink.feed(all.slice(at..to)).await.unwrap(); at = to; }
            sink.finish().await.unwrap();
            client.batch_execute("COMMIT").await.unwrap();
            bare.push(begun.elapsed());
        }
        took.sort(); bare.sort(); let (took, bare) = (took[took.len() / 4], bare[bare.len() / 4]); println!("store {took:?} bare {bare:?} ratio {:.2}", bare.as_secs_f64() / took.as_secs_f64());
    }
}
