//! The database: reachable, its version, and whether its clock agrees with this machine's.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::code::Code;
use windlass_core::store::Store;
use windlass_core::time::{Timestamp, duration_ms};

use super::report::Finding;
use crate::compose::store::{self, Access};
use crate::config::database::{Database, Location};
use crate::failure::Failure;

/// A difference of clocks that is worth a word.
const SKEW_WARNING_MS: u64 = 1_000;

const SUBJECT: &str = "database";

/// Looks at the database without changing it.
pub(super) async fn examine(database: &Database) -> Vec<Finding> {
    if let Some(finding) = not_created_yet(database) {
        return vec![finding];
    }
    match store::open(database, Access::Look).await {
        Ok(store) => {
            let findings = vec![version(&*store).await, clock(&*store).await];
            store.close().await;
            findings
        }
        Err(failure) => vec![Finding::failed(SUBJECT, failure)],
    }
}

/// A SQLite file that does not exist is created by the first run, if its folder is there.
fn not_created_yet(database: &Database) -> Option<Finding> {
    let Ok(Location::Sqlite(path)) = store::locate(database) else { return None };
    if path.exists() {
        return None;
    }
    let folder = super::disk::folder_of(&path);
    if folder.is_dir() {
        return Some(Finding::ok(SUBJECT, format!("sqlite at {}, created by the first run", path.display())));
    }
    let message = format!("the folder `{}` does not exist", folder.display());
    let failure =
        Failure::coded(Code::DatabaseUnreachable, message).hint("create it, or change `database.url`");
    Some(Finding::failed(SUBJECT, failure))
}

async fn version(store: &dyn Store) -> Finding {
    match store.describe().await {
        Ok(info) => Finding::ok(
            SUBJECT,
            format!("{} {} at {}, schema {}", info.kind, info.version, info.place, info.schema),
        ),
        Err(error) => Finding::failed(SUBJECT, error),
    }
}

async fn clock(store: &dyn Store) -> Finding {
    let before = machine_now();
    let now = store.now().await;
    let after = machine_now();
    match now {
        Ok(now) => judge(before, now, after),
        Err(error) => Finding::failed(SUBJECT, error),
    }
}

/// The database's time, asked for between two looks at the machine's clock.
fn judge(before: Timestamp, now: Timestamp, after: Timestamp) -> Finding {
    let early = before.as_ms().saturating_sub(now.as_ms());
    let late = now.as_ms().saturating_sub(after.as_ms());
    let skew_ms = early.max(late).max(0).unsigned_abs();
    if skew_ms < SKEW_WARNING_MS {
        return Finding::ok(SUBJECT, "its clock agrees with this machine's");
    }
    Finding::warning(
        SUBJECT,
        format!("its clock differs from this machine's by {skew_ms} ms"),
        "let both follow a time server (NTP); leases go by the database's clock",
    )
}

/// The machine's clock.
pub(super) fn machine_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(duration_ms(since))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    fn level(before: i64, now: i64, after: i64) -> Level {
        let at = Timestamp::from_ms;
        judge(at(before), at(now), at(after)).level
    }

    #[test]
    fn the_time_an_answer_takes_is_no_skew() {
        assert_eq!(level(0, 3_000, 6_000), Level::Ok);
        assert_eq!(level(0, 999, 0), Level::Ok);
        assert_eq!(level(0, 1_000, 0), Level::Warning);
        assert_eq!(level(5_000, 4_000, 5_000), Level::Warning);
    }
}
