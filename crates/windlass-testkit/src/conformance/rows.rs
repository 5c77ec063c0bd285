//! Rows are stored once, taken back by block, and counted as they come and go.

use std::slice::from_ref;
use std::sync::Arc;

use windlass_core::chain::{Address, U256};
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::range::BlockRange;
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, I256, TableSpec, Value};

use super::support::{Well, claim, enqueue, put, refused, state, write};
use crate::harness::Harness;
use crate::make::{
    TTL_MS, chain, condition, contract, event, header, identifier, page, row, row_head, rows, table,
};

/// More than a store would put in one by one.
const MANY: u64 = 300;

/// A store with tables of that name, all of chain 1.
async fn with_tables(harness: &dyn Harness, names: &[&str]) -> (Arc<dyn Store>, Vec<Arc<TableSpec>>) {
    let store = harness.open().await;
    let specs: Vec<_> = names.iter().map(|name| table(name, 1)).collect();
    store.create_tables(&specs).await.well();
    (store, specs)
}

fn block_rows(blocks: std::ops::Range<u64>) -> Vec<EventRow> {
    blocks.map(|number| row(number, 3, 1)).collect()
}

/// Every row of a table; also asserts that its counts are right.
async fn all(store: &dyn Store, name: &str) -> Vec<EventRow> {
    let found = store.rows(&page(name, 10_000)).await.well();
    let table = identifier(name);
    let any =
        Condition { place: Place::Block, comparison: Comparison::AtLeast, values: vec![Value::Integer(0)] };
    assert_eq!(store.count_rows(&table, &[any]).await.well(), found.len() as u64, "counted");
    assert_eq!(store.count_rows(&table, &[]).await.well(), found.len() as u64, "kept");
    found
}

fn extremes() -> Vec<EventRow> {
    let values = |number: Value, uint, int, text: &str| {
        let text = Value::Text(text.to_owned());
        let [flag, who] = [Value::Bool(true), Value::Address(Address::repeat_byte(0xff))];
        vec![
            number,
            Value::Uint(uint),
            Value::Int(int),
            flag,
            who,
            Value::Bytes(vec![0, 255].into()),
            text.clone(),
            text,
        ]
    };
    let rows = [
        values(Value::Integer(i64::MAX), U256::MAX, I256::MAX, "π \u{10ffff} \\ \" '"),
        values(Value::Integer(i64::MIN), U256::ZERO, I256::MIN, ""),
        values(Value::Integer(0), U256::from(10).pow(U256::from(77)), I256::MINUS_ONE, "\u{1}\t\r\n"),
        values(Value::Integer(-1), U256::from(u128::MAX), I256::ZERO, &"long ".repeat(5_000)),
    ];
    let at = |(number, values)| EventRow { head: row_head(number, u32::MAX, 1), values };
    (0..).zip(rows).map(at).collect()
}

pub async fn rows_read_back_exactly(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["few", "many"]).await;
    let few = extremes();
    let many: Vec<EventRow> = extremes().into_iter().chain(block_rows(10..10 + MANY)).collect();
    let writes = vec![Write::Rows(rows(&specs[0], few.clone())), Write::Rows(rows(&specs[1], many.clone()))];
    assert_eq!(write(&*store, writes).await, [Written::Rows(4), Written::Rows(MANY + 4)]);
    assert_eq!(all(&*store, "few").await, few);
    assert_eq!(all(&*store, "many").await, many);
}

pub async fn text_with_nul_is_kept_alike_by_every_store(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let mut told = block_rows(0..MANY + 1);
    told[0].values[6] = Value::Text("a\0b\0".to_owned());
    told[1].values[6] = Value::Text("a\0b\0".to_owned());
    let (one, rest) = told.split_at(1);
    for batch in [one, rest] {
        write(&*store, vec![Write::Rows(rows(&specs[0], batch.to_vec()))]).await;
    }
    let with_nul = condition("note", Comparison::Is, [Value::Text("a\0b\0".to_owned())]);
    let mut query = page("t", 10);
    query.conditions.push(with_nul);
    let found = store.rows(&query).await.well();
    let texts: Vec<&Value> = found.iter().map(|row| &row.values[6]).collect();
    let kept = Value::Text("a\u{fffd}b\u{fffd}".to_owned());
    assert_eq!(texts, [&kept, &kept]);
}

pub async fn rows_are_stored_once_however_often_they_come(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let put = |batch: Vec<EventRow>| Write::Rows(rows(&specs[0], batch));
    assert_eq!(write(&*store, vec![put(Vec::new())]).await, [Written::Rows(0)]);
    for (size, new) in [(2, 2), (MANY, MANY - 2)] {
        assert_eq!(write(&*store, vec![put(block_rows(0..size))]).await, [Written::Rows(new)]);
        assert_eq!(write(&*store, vec![put(block_rows(0..size))]).await, [Written::Rows(0)]);
    }
    let overlapping = block_rows(MANY - 10..2 * MANY);
    assert_eq!(write(&*store, vec![put(overlapping)]).await, [Written::Rows(MANY)]);
    let twice = [block_rows(2 * MANY..3 * MANY), block_rows(2 * MANY..3 * MANY)].concat();
    assert_eq!(write(&*store, vec![put(twice)]).await, [Written::Rows(MANY)]);
    let in_one = vec![put(block_rows(3 * MANY..4 * MANY)), put(block_rows(3 * MANY..4 * MANY))];
    assert_eq!(write(&*store, in_one).await, [Written::Rows(MANY), Written::Rows(0)]);
    assert_eq!(all(&*store, "t").await, block_rows(0..4 * MANY));
}

pub async fn stored_rows_are_not_overwritten(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let other = EventRow { values: row(9, 9, 1).values, ..row(5, 0, 1) };
    for (batch, new) in [(row(5, 0, 1), 1), (other, 0)] {
        assert_eq!(write(&*store, vec![Write::Rows(rows(&specs[0], [batch]))]).await, [Written::Rows(new)]);
    }
    assert_eq!(all(&*store, "t").await, [row(5, 0, 1)]);
}

pub async fn rows_out_of_order_are_kept_in_order(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let sorted: Vec<EventRow> =
        (0..MANY).flat_map(|number| [row(number, 1, 1), row(number, 10, 1)]).collect();
    let mixed = sorted.iter().rev().cloned();
    write(&*store, vec![Write::Rows(rows(&specs[0], mixed))]).await;
    assert_eq!(all(&*store, "t").await, sorted);
}

pub async fn a_row_of_another_fork_refuses_the_commit(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    write(&*store, vec![Write::Rows(rows(&specs[0], block_rows(5..8)))]).await;
    let forked = |blocks: std::ops::Range<u64>| blocks.map(|number| row(number, 3, 2)).collect::<Vec<_>>();
    for (batch, contradictions) in
        [(forked(7..9), 1), (forked(0..MANY), 3), ([block_rows(8..9), forked(8..9)].concat(), 1)]
    {
        let commit = Commit::of(vec![put("seen", "1"), Write::Rows(rows(&specs[0], batch))]);
        refused!(store.commit(commit).await, StoreError::EventConflict { chain: 1, count } if count == contradictions);
    }
    assert_eq!(all(&*store, "t").await, block_rows(5..8));
    assert_eq!(state(&*store, "seen").await, None);
}

pub async fn rows_for_an_unknown_or_other_table_are_refused(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let mut other = TableSpec::clone(&specs[0]);
    other.signature = "Other()".to_owned();
    let other_chain = table("t", 2);
    for spec in [table("unknown", 1), Arc::new(other), other_chain] {
        for batch in [Vec::new(), block_rows(0..1), block_rows(0..MANY)] {
            let refusal = store.commit(Commit::of(vec![Write::Rows(rows(&spec, batch))])).await;
            refused!(refusal, StoreError::TableMissing(name) if name == spec.name);
        }
    }
    let blocks = BlockRange { from: 0, to: 9 };
    let erase = Write::EraseRows { table: identifier("unknown"), blocks, contracts: vec![] };
    refused!(store.commit(Commit::of(vec![erase])).await, StoreError::TableMissing(_));
    refused!(store.count_rows(&identifier("unknown"), &[]).await, StoreError::TableMissing(_));
    assert_eq!(all(&*store, "t").await, []);
}

pub async fn erasing_takes_out_the_rows_of_these_blocks(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t", "other"]).await;
    let both = specs.iter().map(|spec| Write::Rows(rows(spec, block_rows(0..10)))).collect();
    write(&*store, both).await;
    let erase = |from, to| Write::EraseRows {
        table: identifier("t"),
        blocks: BlockRange { from, to },
        contracts: vec![],
    };
    assert_eq!(write(&*store, vec![erase(3, 5)]).await, [Written::Rows(3)]);
    assert_eq!(all(&*store, "t").await, [block_rows(0..3), block_rows(6..10)].concat());
    assert_eq!(write(&*store, vec![erase(3, 5), erase(5, 3)]).await, [Written::Rows(0), Written::Rows(0)]);
    let anew = vec![erase(0, 2), Write::Rows(rows(&specs[0], [row(1, 0, 2)])), erase(9, u64::MAX)];
    assert_eq!(write(&*store, anew).await, [Written::Rows(3), Written::Rows(1), Written::Rows(1)]);
    assert_eq!(all(&*store, "t").await, [vec![row(1, 0, 2)], block_rows(6..9)].concat());
    assert_eq!(
        write(&*store, vec![erase(u64::MAX, u64::MAX), erase(0, u64::MAX)]).await,
        [Written::Rows(0), Written::Rows(4)]
    );
    assert_eq!(all(&*store, "t").await, []);
    assert_eq!(all(&*store, "other").await, block_rows(0..10));
}

pub async fn erasing_takes_out_the_rows_of_these_contracts(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let stored: Vec<EventRow> =
        (0..4).flat_map(|number| [row(number, 0, 1), row(number, 1, 1), row(number, 3, 1)]).collect();
    write(&*store, vec![Write::Rows(rows(&specs[0], stored.clone()))]).await;
    let erase = |contracts: &[u32]| Write::EraseRows {
        table: identifier("t"),
        blocks: BlockRange { from: 1, to: 2 },
        contracts: contracts.iter().map(|number| contract(*number)).collect(),
    };
    assert_eq!(write(&*store, vec![erase(&[7]), erase(&[1, 7, 1])]).await, [0, 4].map(Written::Rows));
    let is_left =
        |row: &&EventRow| !(1..=2).contains(&row.head.block.number) || row.head.address != contract(1);
    let left: Vec<EventRow> = stored.iter().filter(is_left).cloned().collect();
    assert_eq!(all(&*store, "t").await, left);
    let thousands: Vec<u32> = (0..5_000).map(|number| number % 60).collect();
    assert_eq!(write(&*store, vec![erase(&thousands)]).await, [Written::Rows(2)]);
}

pub async fn a_reorg_takes_back_the_rows_of_every_table_of_its_chain(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["a", "b", "c"]).await;
    let other = table("other", 2);
    store.create_tables(from_ref(&other)).await.well();
    let blocks = [0..4, 2..9, 0..2];
    let mut writes: Vec<Write> =
        specs.iter().zip(blocks).map(|(spec, blocks)| Write::Rows(rows(spec, block_rows(blocks)))).collect();
    writes.push(Write::Rows(rows(&other, block_rows(0..9))));
    writes.push(Write::Events(vec![event(1, 3, 0, 1), event(1, 4, 0, 1)]));
    writes.push(Write::Blocks { chain: chain(1), headers: vec![header(3, 1)] });
    write(&*store, writes).await;
    let forked = vec![row(3, 0, 2), row(4, 0, 2)];
    let reorg = vec![
        Write::Retract { chain: chain(1), from_block: 3 },
        Write::Rows(rows(&specs[0], forked.clone())),
        Write::Retract { chain: chain(1), from_block: 4 },
        Write::Retract { chain: chain(3), from_block: 0 },
    ];
    let taken = [1 + 6 + 2, 2, 1, 0].map(Written::Rows);
    assert_eq!(write(&*store, reorg).await, taken);
    assert_eq!(all(&*store, "a").await, [block_rows(0..3), vec![row(3, 0, 2)]].concat());
    assert_eq!(all(&*store, "b").await, block_rows(2..3));
    assert_eq!(all(&*store, "c").await, block_rows(0..2));
    assert_eq!(all(&*store, "other").await, block_rows(0..9));
    assert_eq!(store.blocks(chain(1), 0, 10).await.well(), []);
}

pub async fn headers_below_a_block_are_forgotten(harness: &dyn Harness) {
    let store = harness.open().await;
    let headers = |numbers: std::ops::Range<u64>| numbers.map(|number| header(number, 1)).collect::<Vec<_>>();
    let remember = |chain_id| Write::Blocks { chain: chain(chain_id), headers: headers(5..10) };
    write(&*store, vec![remember(1), remember(2), Write::Events(vec![event(1, 5, 0, 1)])]).await;
    let forget = |below| Write::ForgetBlocks { chain: chain(1), below };
    assert_eq!(write(&*store, vec![forget(5), forget(8), forget(8)]).await, [0, 3, 0].map(Written::Rows));
    assert_eq!(store.blocks(chain(1), 0, 10).await.well(), headers(8..10));
    assert_eq!(write(&*store, vec![forget(u64::MAX)]).await, [Written::Rows(2)]);
    assert_eq!(store.blocks(chain(2), 0, 10).await.well(), headers(5..10));
    assert_eq!(store.count_events(chain(1)).await.well(), 1, "logs stay");
}

pub async fn rows_of_a_refused_commit_are_not_seen(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["a", "b"]).await;
    write(&*store, vec![Write::Rows(rows(&specs[1], block_rows(0..5)))]).await;
    for size in [3, MANY] {
        let commit = Commit::of(vec![
            Write::Rows(rows(&specs[0], block_rows(0..size))),
            Write::EraseRows {
                table: identifier("b"),
                blocks: BlockRange { from: 0, to: 1 },
                contracts: vec![],
            },
            Write::Rows(rows(&specs[1], [row(4, 3, 2)])),
        ]);
        refused!(store.commit(commit).await, StoreError::EventConflict { .. });
    }
    assert_eq!(all(&*store, "a").await, []);
    assert_eq!(all(&*store, "b").await, block_rows(0..5));
}

pub async fn a_zombie_can_neither_add_nor_take_rows(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    write(
        &*store,
        vec![
            Write::Rows(rows(&specs[0], block_rows(0..5))),
            Write::Blocks { chain: chain(1), headers: vec![header(1, 1)] },
        ],
    )
    .await;
    enqueue(&*store, "q", &[("range", "{}")]).await;
    let zombie = claim(&*store, "q", "a").await[0].ticket;
    harness.clock().advance_ms(TTL_MS as i64);
    let holder = claim(&*store, "q", "b").await[0].ticket;
    let writes = [
        Write::Rows(rows(&specs[0], block_rows(5..5 + MANY))),
        Write::EraseRows { table: identifier("t"), blocks: BlockRange { from: 0, to: 9 }, contracts: vec![] },
        Write::Retract { chain: chain(1), from_block: 0 },
        Write::ForgetBlocks { chain: chain(1), below: 9 },
    ];
    for write in &writes {
        let commit = Commit::of(vec![write.clone()]).under_job(zombie);
        refused!(store.commit(commit).await, StoreError::Fenced { .. });
        let commit = Commit::of(vec![write.clone(), Write::CompleteJob(zombie)]);
        refused!(store.commit(commit).await, StoreError::Fenced { .. });
    }
    assert_eq!(all(&*store, "t").await, block_rows(0..5));
    assert_eq!(store.blocks(chain(1), 0, 10).await.well().len(), 1);
    let [add, ..] = writes;
    let done = store.commit(Commit::of(vec![Write::CompleteJob(holder), add]).under_job(holder)).await.well();
    assert_eq!(done, [Written::Done, Written::Rows(MANY)]);
}

pub async fn many_writers_of_one_table_keep_its_count(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["a", "b"]).await;
    let mut writing = Vec::new();
    for number in 0..8 {
        let (store, mut specs) = (harness.open().await, specs.clone());
        if number % 2 == 0 {
            specs.reverse();
        }
        let blocks = number * MANY..(number + 1) * MANY;
        writing.push(tokio::spawn(async move {
            let writes =
                specs.iter().map(|spec| Write::Rows(rows(spec, block_rows(blocks.clone())))).collect();
            store.commit(Commit::of(writes)).await
        }));
    }
    for task in writing {
        assert_eq!(task.await.expect("no panic").well(), [Written::Rows(MANY), Written::Rows(MANY)]);
    }
    for name in ["a", "b"] {
        assert_eq!(all(&*store, name).await, block_rows(0..8 * MANY));
    }
}

pub async fn the_same_rows_written_at_once_are_stored_once(harness: &dyn Harness) {
    let (store, specs) = with_tables(harness, &["t"]).await;
    let mut writing = Vec::new();
    for _ in 0..4 {
        let (store, batch) = (harness.open().await, rows(&specs[0], block_rows(0..MANY)));
        writing.push(tokio::spawn(async move { store.commit(Commit::of(vec![Write::Rows(batch)])).await }));
    }
    let mut new = 0;
    for task in writing {
        match task.await.expect("no panic").well()[..] {
            [Written::Rows(rows)] => new += rows,
            ref other => panic!("storing rows answered {other:?}"),
        }
    }
    assert_eq!(new, MANY);
    let mut query = page("t", 10_000);
    query.order = RowOrder::NewestFirst;
    assert_eq!(store.rows(&query).await.well().len() as u64, MANY);
    assert_eq!(all(&*store, "t").await, block_rows(0..MANY));
}
