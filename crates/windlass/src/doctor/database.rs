//! The database: reachable, its version, whether its clock agrees with this
//! machine's, and whether all of it can be read and something written.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::code::Code;
use windlass_core::error::NEW_DATABASE;
use windlass_core::store::Store;
use windlass_core::time::{Timestamp, duration_ms};

use super::report::{Finding, Level};
use super::sqlite;
use crate::compose::store::{self, Access};
use crate::config::database::{Database, Location};
use crate::failure::Failure;

/// A difference of clocks that is worth a word.
const SKEW_WARNING_MS: u64 = 1_000;

const SUBJECT: &str = "database";

/// What was found, and how far the database's clock is ahead of this machine's.
pub(super) struct Examined {
    pub(super) findings: Vec<Finding>,
    /// Nothing where the database has no clock of its own, or could not be asked.
    pub(super) ahead_ms: Option<i64>,
}

impl Examined {
    fn only(finding: Finding) -> Self {
        Self { findings: vec![finding], ahead_ms: None }
    }
}

/// Looks at the database without changing it.
pub(super) async fn examine(database: &Database) -> Examined {
    let location = match store::locate(database) {
        Ok(location) => location,
        Err(failure) => return Examined::only(Finding::failed(SUBJECT, failure)),
    };
    if let Location::Sqlite(path) = &location
        && let Some(finding) = sqlite::examine(SUBJECT, path)
    {
        return Examined::only(finding);
    }
    let store = match store::open(database, Access::Look).await {
        Ok(store) => store,
        Err(failure) => return Examined::only(not_opened(failure)),
    };
    let (clock, ahead_ms) = clock(&*store).await;
    let mut findings = vec![version(&*store).await, clock];
    store.close().await;
    // A schema that is not this binary's was refused above, so opening for work changes nothing.
    if findings.iter().all(|finding| finding.level != Level::Failure) {
        findings.push(depth(database, &location).await);
    }
    let own_clock = matches!(location, Location::Postgres(_));
    Examined { findings, ahead_ms: ahead_ms.filter(|_| own_clock) }
}

/// Tables that are missing or old are no failure: the first run takes care of them.
fn not_opened(failure: Failure) -> Finding {
    match failure.code {
        Some(Code::DatabaseOlder) if failure.message == NEW_DATABASE => {
            Finding::ok(SUBJECT, "is new: its tables are created by the first run")
        }
        Some(Code::DatabaseOlder) => {
            Finding::warning(SUBJECT, failure.message, "`windlass run` brings it up to date")
        }
        _ => Finding::failed(SUBJECT, failure),
    }
}

/// Whether everything can be read, and something written.
async fn depth(database: &Database, location: &Location) -> Finding {
    let store = match store::open(database, Access::Examine).await {
        Ok(store) => store,
        Err(failure) => return Finding::failed(SUBJECT, failure),
    };
    let checked = store.check().await;
    store.close().await;
    match checked {
        Ok(()) => Finding::ok(
            SUBJECT,
            match location {
                Location::Sqlite(_) => "is sound, and can be written",
                // A server looks after the soundness of its files itself.
                Location::Postgres(_) => "can be opened for work",
            },
        ),
        Err(error) => Finding::failed(SUBJECT, error),
    }
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

async fn clock(store: &dyn Store) -> (Finding, Option<i64>) {
    let before = machine_now();
    let now = store.now().await;
    let after = machine_now();
    match now {
        Ok(now) => {
            let ahead_ms = ahead_ms(before, now, after);
            (judge(ahead_ms), Some(ahead_ms))
        }
        Err(error) => (Finding::failed(SUBJECT, error), None),
    }
}

/// How far the database's time, asked for between two looks at the machine's clock, is
/// ahead of it; negative when it is behind. The time the answer took counts for neither.
fn ahead_ms(before: Timestamp, now: Timestamp, after: Timestamp) -> i64 {
    let behind = before.as_ms().saturating_sub(now.as_ms()).max(0);
    let ahead = now.as_ms().saturating_sub(after.as_ms()).max(0);
    ahead.saturating_sub(behind)
}

fn judge(ahead_ms: i64) -> Finding {
    let skew_ms = ahead_ms.unsigned_abs();
    if skew_ms < SKEW_WARNING_MS {
        return Finding::ok(SUBJECT, "its clock agrees with this machine's");
    }
    let side = if ahead_ms > 0 { "ahead of" } else { "behind" };
    Finding::warning(
        SUBJECT,
        format!("its clock is {skew_ms} ms {side} this machine's"),
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
    use windlass_core::error::StoreError;

    use super::*;

    fn level(before: i64, now: i64, after: i64) -> Level {
        let at = Timestamp::from_ms;
        judge(ahead_ms(at(before), at(now), at(after))).level
    }

    #[test]
    fn a_database_before_the_first_run_is_no_failure() {
        let found = |found| not_opened(StoreError::OlderSchema { found, known: 9 }.into()).level;
        assert_eq!((found(0), found(8)), (Level::Ok, Level::Warning));
        assert_eq!(not_opened(Failure::coded(Code::DatabaseNewer, "new")).level, Level::Failure);
    }

    #[test]
    fn the_time_an_answer_takes_is_no_skew() {
        assert_eq!(level(0, 3_000, 6_000), Level::Ok);
        assert_eq!(level(0, 999, 0), Level::Ok);
        assert_eq!(level(0, 1_000, 0), Level::Warning);
        assert_eq!(level(5_000, 4_000, 5_000), Level::Warning);
    }
}
