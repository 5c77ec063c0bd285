//! One log line for many logs that do not fit their event.
//!
//! A contract whose events do not fit has them in every block. The first is said at once, the rest
//! now and then with their number; `windlass index misfits` lists them all.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::route::Sorted;
use windlass_core::table::Identifier;

/// A table's misfits are said once in this time.
const SAID_EVERY: Duration = Duration::from_secs(600);

/// What was said of each table's misfits.
#[derive(Debug, Default)]
pub(super) struct MisfitLog {
    tables: Mutex<BTreeMap<Identifier, Said>>,
}

#[derive(Debug)]
struct Said {
    at: Instant,
    /// How many there were since.
    unsaid: u64,
}

impl MisfitLog {
    /// Notes the misfits among sorted logs, and says so where it was not said of late.
    pub(super) fn note(&self, sorted: &Sorted) {
        let Some(misfit) = sorted.misfits.first() else { return };
        let Some(count) = self.due(&misfit.table, sorted.misfit_count, Instant::now()) else { return };
        tracing::warn!(
            count,
            table = %misfit.table,
            address = %misfit.address,
            block = misfit.key.block,
            log = misfit.key.log_index,
            reason = %misfit.reason,
            "logs do not fit their event and are kept as they came; `windlass index misfits` lists them, this is one"
        );
    }

    /// How many are to be said now, if it is time.
    fn due(&self, table: &Identifier, count: u64, now: Instant) -> Option<u64> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(said) = tables.get_mut(table) else {
            tables.insert(table.clone(), Said { at: now, unsaid: 0 });
            return Some(count);
        };
        said.unsaid += count;
        if now.duration_since(said.at) < SAID_EVERY {
            return None;
        }
        said.at = now;
        Some(std::mem::take(&mut said.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misfits_of_every_block_are_one_line_in_ten_minutes() {
        let (log, begun) = (MisfitLog::default(), Instant::now());
        let table = |name| Identifier::new(name).expect("a name");
        assert_eq!(log.due(&table("fees"), 2, begun), Some(2));
        for second in 1..600 {
            assert_eq!(log.due(&table("fees"), 1, begun + Duration::from_secs(second)), None);
        }
        assert_eq!(log.due(&table("notes"), 1, begun + Duration::from_secs(5)), Some(1));
        assert_eq!(log.due(&table("fees"), 1, begun + SAID_EVERY), Some(600));
    }
}
