//! Fills the table through the store's door, with what a synthetic chain would have
//! put there. A table that is filled in part is gone on with.

use windlass_core::commit::{Commit, Write};
use windlass_core::store::Store;
use windlass_core::table::Rows;
use windlass_devnet::synthetic::{Density, SyntheticNode, SyntheticOptions};

use crate::fees;

const LOGS_PER_BLOCK: u32 = 10;
/// How many rows in one commit.
const BATCH: u64 = 10_000;
/// How often it is told how far the filling is.
const TOLD_EVERY: u64 = 1_000_000;

type Broken = Box<dyn std::error::Error>;

/// The chain whose logs are the rows.
pub(crate) fn truth(rows: u64) -> SyntheticNode {
    SyntheticNode::new(SyntheticOptions {
        blocks: rows.div_ceil(u64::from(LOGS_PER_BLOCK)),
        density: Density::PerBlock(LOGS_PER_BLOCK),
        ..SyntheticOptions::default()
    })
}

/// Stores this many rows.
pub(crate) async fn fill(store: &dyn Store, rows: u64) -> Result<(), Broken> {
    let table = fees::create_table(store).await?;
    let truth = truth(rows);
    let mut done = store.count_rows(&table.name, &[]).await?;
    if done > rows {
        return Err(format!("the table has {done} rows, not {rows}: give another file").into());
    }
    while done < rows {
        let end = rows.min(done + BATCH);
        let mut batch = Rows::new(table.clone());
        for number in done..end {
            let row = fees::row(&truth.log(number));
            batch.push_with(row.head, |values| {
                values.extend(row.values);
                Ok::<_, Broken>(())
            })?;
        }
        store.commit(Commit::of(vec![Write::Rows(batch)]).relaxed()).await?;
        if end / TOLD_EVERY > done / TOLD_EVERY {
            anstream::eprintln!("filled: {end} of {rows}");
        }
        done = end;
    }
    Ok(())
}
