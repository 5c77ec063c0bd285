//! The audit against a real chain's receipts: whatever is done to a row is named and mended.

use std::sync::Arc;

use alloy_primitives::B256;
use windlass_core::commit::{Commit, Write};
use windlass_core::range::BlockRange;
use windlass_core::store::Store;
use windlass_core::table::{EventRow, RowHead, RowKey, Rows, Value};
use windlass_engine::collect::audit::{Audit, Audited, Proof};
use windlass_engine::collect::compare::Compared;
use windlass_testkit::harness::Harness;

use super::world::{World, reach_head};

/// A chain that was collected whole, a few blocks of it not final.
async fn collected() -> (World, Arc<dyn Store>, BlockRange) {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    (0..80).for_each(|_| world.mine(2));
    assert!(reach_head(&mut world.worker("a", store.clone())).await);
    let audit = audit(&world, &store).await;
    let extent = audit.extent().await.expect("an extent").expect("something is collected");
    assert_eq!(extent, BlockRange { from: 0, to: world.chain.finalized() });
    (world, store, extent)
}

async fn audit(world: &World, store: &Arc<dyn Store>) -> Audit {
    Audit::new(world.collected_chain("auditor", store.clone()), None).await.expect("an audit")
}

async fn audited(world: &World, store: &Arc<dyn Store>, blocks: BlockRange, repairs: bool) -> Audited {
    audit(world, store).await.page(blocks, repairs).await.expect("a page")
}

/// The only table's differences.
fn differences(audited: &Audited) -> &Compared {
    audited.differences.values().next().expect("a table")
}

async fn write(world: &World, store: &Arc<dyn Store>, head: RowHead, values: Vec<Value>) {
    let mut rows = Rows::new(world.table().0);
    let put = rows.push_with(head, |into| {
        into.extend(values);
        Ok::<(), ()>(())
    });
    assert_eq!(put, Ok(true));
    store.commit(Commit::of(vec![Write::Rows(rows)])).await.expect("written");
}

async fn erase(world: &World, store: &Arc<dyn Store>, block: u64) {
    let blocks = BlockRange { from: block, to: block };
    let erase = Write::EraseRows { table: world.table().0.name.clone(), blocks, contracts: vec![] };
    store.commit(Commit::of(vec![erase])).await.expect("erased");
}

/// Takes one row out of its block.
async fn delete(world: &World, store: &Arc<dyn Store>, row: &EventRow) {
    let others: Vec<EventRow> = world.rows(&**store).await;
    erase(world, store, row.head.block.number).await;
    for other in others.into_iter().filter(|other| other.head.block == row.head.block && other != row) {
        write(world, store, other.head, other.values).await;
    }
}

#[tokio::test]
async fn what_was_collected_is_proven_by_receipts() {
    let (world, store, extent) = collected().await;
    let found = audited(&world, &store, extent, false).await;
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.proofs.get(&Proof::Receipts), Some(&extent.count()), "{found:?}");
}

#[tokio::test]
async fn a_row_that_was_deleted_altered_or_added_is_named_and_mended() {
    let (world, store, extent) = collected().await;
    let before = world.rows(&*store).await;
    let row = before.iter().find(|row| row.head.block.number == 7).expect("a row").clone();
    let key = row.head.key();

    delete(&world, &store, &row).await;
    let found = audited(&world, &store, extent, false).await;
    assert_eq!(differences(&found), &Compared { missing: vec![key], ..Compared::default() });
    assert_eq!(audited(&world, &store, extent, true).await.repaired, 1);
    assert_eq!(world.rows(&*store).await, before);

    delete(&world, &store, &row).await;
    write(&world, &store, row.head, vec![Value::Bytes(B256::repeat_byte(9).into())]).await;
    let found = audited(&world, &store, extent, false).await;
    assert_eq!(differences(&found), &Compared { altered: vec![key], ..Compared::default() });
    assert_eq!(audited(&world, &store, extent, true).await.repaired, 1);
    assert_eq!(world.rows(&*store).await, before);

    write(&world, &store, RowHead { log_index: 77, ..row.head }, row.values.clone()).await;
    let extra = RowKey { log_index: 77, ..key };
    let found = audited(&world, &store, extent, false).await;
    assert_eq!(differences(&found), &Compared { extra: vec![extra], ..Compared::default() });
    assert_eq!(audited(&world, &store, extent, true).await.repaired, 1);
    assert_eq!(world.rows(&*store).await, before);
    assert!(audited(&world, &store, extent, false).await.is_clean());
}
