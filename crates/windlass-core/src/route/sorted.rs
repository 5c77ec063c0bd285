//! Logs that were sorted: rows by table, and what became of the rest.

use std::sync::Arc;

use crate::abi::Misfit;
use crate::chain::Address;
use crate::event::LogEvent;
use crate::table::{Identifier, RowKey, Rows, TableSpec};

/// The most misfits whose reasons are kept; all are counted.
pub const MAX_MISFITS: usize = 100;

/// Logs, sorted.
#[derive(Debug, Clone, Default)]
pub struct Sorted {
    /// The rows of each table that has any.
    pub tables: Vec<Rows>,
    /// Logs that belong to a source and fit none of its events.
    pub raw: Vec<LogEvent>,
    /// Why, for the first [`MAX_MISFITS`].
    pub misfits: Vec<MisfitReport>,
    /// How many did not fit, once for each index.
    pub misfit_count: u64,
    /// How many belonged to nobody.
    pub strangers: u64,
    /// For each table of the router, its place in `tables`.
    places: Vec<usize>,
}

/// A log that did not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisfitReport {
    /// Which log.
    pub key: RowKey,
    /// Who emitted it.
    pub address: Address,
    /// The table it was meant for.
    pub table: Identifier,
    /// Why it does not fit.
    pub reason: Misfit,
}

impl Sorted {
    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.tables.iter().map(Rows::len).sum()
    }

    pub(super) fn refuse(&mut self, log: &LogEvent, table: Identifier, reason: Misfit) {
        self.misfit_count += 1;
        if self.misfits.len() < MAX_MISFITS {
            let key = RowKey { block: log.block.number, log_index: log.log_index };
            self.misfits.push(MisfitReport { key, address: log.address, table, reason });
        }
    }

    /// The rows of a table, which may have been taken away since the last log.
    pub(super) fn rows_of(&mut self, number: usize, table: &Arc<TableSpec>) -> &mut Rows {
        let is_there =
            |place: &usize| self.tables.get(*place).is_some_and(|rows| Arc::ptr_eq(rows.table(), table));
        let place = match self.places.get(number).copied().filter(is_there) {
            Some(place) => place,
            None => {
                self.tables.push(Rows::new(table.clone()));
                if self.places.len() <= number {
                    self.places.resize(number + 1, usize::MAX);
                }
                self.places[number] = self.tables.len() - 1;
                self.tables.len() - 1
            }
        };
        &mut self.tables[place]
    }

    /// Takes rows away that were made for a log that then did not fit: the last ones.
    pub(super) fn forget_if_empty(&mut self, number: usize) {
        let is_last = self.places.get(number).is_some_and(|place| place + 1 == self.tables.len());
        if is_last && self.tables.last().is_some_and(Rows::is_empty) {
            self.tables.pop();
        }
    }
}
