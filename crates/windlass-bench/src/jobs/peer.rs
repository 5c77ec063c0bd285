//! The peer: graphile-worker from npm, on the same server, in the same run.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::npm::{answer, installed};

/// One of the peer's configurations, with as many jobs as keep it busy for seconds.
struct Setup {
    name: &'static str,
    args: &'static [&'static str],
}

/// Its documented defaults, its documented batching, and batching with as many named
/// queues as there are lanes: only the last keeps an order per key, as lanes do.
const SETUPS: [Setup; 3] = [
    Setup { name: "plain", args: &["--preset", "plain", "--jobs", "20000"] },
    Setup { name: "batched", args: &["--preset", "batched", "--jobs", "200000"] },
    Setup {
        name: "batched_in_order",
        args: &["--preset", "batched", "--jobs", "100000", "--queues", "1000"],
    },
];

/// What one configuration reached.
pub(crate) struct PeerRun {
    /// Which one.
    pub(crate) name: &'static str,
    /// Jobs a second.
    pub(crate) rate: f64,
}

/// What the peer's runner prints.
#[derive(Deserialize)]
struct Printed {
    rate: f64,
    settings: serde_json::Value,
    version: String,
}

/// Runs its configurations; says on stderr what they were set to.
pub(crate) fn run(url: &str) -> Result<Vec<PeerRun>, Box<dyn std::error::Error>> {
    let folder = installed("graphile-worker")?;
    SETUPS.iter().map(|setup| one(&folder, url, setup)).collect()
}

fn one(folder: &Path, url: &str, setup: &Setup) -> Result<PeerRun, Box<dyn std::error::Error>> {
    let mut command = Command::new("node");
    // The URL may hold a password, which arguments would show to every user of the machine.
    command.arg("bench.mjs").args(setup.args).env("PEER_POSTGRES_URL", url).current_dir(folder);
    let printed = answer(&mut command)?;
    let Printed { rate, settings, version } =
        serde_json::from_str(printed.lines().last().unwrap_or_default())?;
    anstream::eprintln!("peer: graphile-worker {version} {}: {rate:.0}/s with {settings}", setup.name);
    Ok(PeerRun { name: setup.name, rate })
}
