//! How many rows a commit adds to which tables. Written last: a count is locked from
//! then on until the commit, and whoever writes to the same table waits for it.

use std::collections::BTreeMap;

use windlass_core::error::StoreError;
use windlass_core::table::Identifier;

use super::registry::Entry;
use crate::error::Outcome;
use crate::row::{damaged, get};
use crate::tx::Tx;

/// What is to be written, by name.
#[derive(Default)]
pub(crate) struct Growth {
    tables: BTreeMap<String, (String, i64)>,
}

impl Growth {
    /// Adds so many rows to a table's count, or takes them from it.
    pub(super) fn add(&mut self, entry: Entry, by: i64) {
        if by != 0 {
            self.tables.entry(entry.name).or_insert((entry.spec, 0)).1 += by;
        }
    }

    /// Writes the counts, locking them by name. A table that is no longer the one
    /// that was written to refuses the commit; one that was tampered with stays at zero.
    pub(crate) async fn settle(self, tx: &Tx) -> Outcome<()> {
        if self.tables.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = self.tables.keys().map(String::as_str).collect();
        let (specs, growth): (Vec<&str>, Vec<i64>) =
            self.tables.values().map(|(spec, by)| (spec.as_str(), *by)).unzip();
        let rows = tx
            .query(
                "WITH grown AS MATERIALIZED (
                     SELECT name, growth
                     FROM unnest($1::TEXT[], $2::TEXT[], $3::BIGINT[]) AS new (name, spec, growth)
                         JOIN event_table USING (name, spec)
                     ORDER BY name FOR UPDATE OF event_table)
                 UPDATE event_table SET row_count = GREATEST(row_count + growth, 0)
                 FROM grown WHERE event_table.name = grown.name RETURNING event_table.name",
                &[&names, &specs, &growth],
            )
            .await?;
        let grown = rows.iter().map(|row| get::<&str>(row, 0)).collect::<Outcome<Vec<_>>>()?;
        match names.into_iter().find(|name| !grown.contains(name)) {
            None => Ok(()),
            Some(gone) => {
                let name = Identifier::new(gone).map_err(|error| damaged(error.to_string()))?;
                Err(StoreError::TableMissing(name).into())
            }
        }
    }
}
