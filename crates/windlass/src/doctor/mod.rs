//! Checks of everything a deployment needs. Nothing is created or changed by them.
//!
//! Each check yields [`Finding`]s: ok, warning or failure, with a hint. A check
//! that cannot be made because an earlier one failed is left out.

mod agreement;
mod api;
mod archive;
mod chain;
mod database;
mod disk;
mod finality;
mod index;
mod key_files;
mod logs;
mod pay;
mod progress;
mod report;
mod sqlite;

pub(crate) use report::{Finding, Report};

use progress::Progress;

use crate::config::{FILE_NAME, Loaded};
use crate::failure::Failure;

/// Makes every check that can be made.
pub(crate) async fn examine(loaded: Result<Loaded, Failure>) -> Report {
    let mut report = Report::default();
    let loaded = match loaded {
        Ok(loaded) => loaded,
        Err(failure) => {
            report.findings.push(Finding::failed("configuration", failure));
            return report;
        }
    };
    report.findings.push(configuration(&loaded));
    let progress = Progress::start();
    progress.say("database");
    let database = database::examine(&loaded.config.database).await;
    report.findings.extend(database.findings);
    report.findings.extend(disk::examine(&loaded.config.database));
    report.findings.extend(api::examine(&loaded.config.api));
    report.findings.extend(chain::examine(&loaded.config.chain, database.ahead_ms, &progress).await);
    report.findings.extend(index::examine(&loaded.config, &progress).await);
    report.findings.extend(key_files::examine(&loaded.config));
    report.findings.extend(pay::examine(&loaded.config, &progress).await);
    report
}

/// Where the configuration comes from. Without a file the environment may hold all of it.
fn configuration(loaded: &Loaded) -> Finding {
    let subject = "configuration";
    match &loaded.file {
        Some(path) => Finding::ok(subject, path.display().to_string()),
        None if !loaded.config.chain.is_empty() => Finding::ok(subject, "defaults and environment"),
        None => Finding::warning(
            subject,
            format!("there is no {FILE_NAME} here, and no chain is configured: nothing is collected or paid"),
            "`windlass init` writes one; --config names one that is elsewhere",
        ),
    }
}
