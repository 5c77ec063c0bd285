//! The peer: graphile-worker from npm, on the same server, in the same run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// How many jobs the peer is given: enough to be at full speed for seconds.
const JOBS: &str = "60000";

/// What the peer's runner prints.
#[derive(Debug, Deserialize)]
pub(crate) struct PeerRun {
    /// Which of its configurations.
    pub(crate) preset: String,
    /// Jobs a second.
    pub(crate) rate: f64,
    /// Everything it was set to.
    settings: serde_json::Value,
    /// Its version.
    version: String,
}

/// Runs both of its configurations; says on stderr what they were set to.
pub(crate) fn run(url: &str) -> Result<Vec<PeerRun>, Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/graphile-worker");
    if !folder.join("node_modules").is_dir() {
        answer(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    }
    ["plain", "batched"].into_iter().map(|preset| one(&folder, url, preset)).collect()
}

fn one(folder: &PathBuf, url: &str, preset: &str) -> Result<PeerRun, Box<dyn std::error::Error>> {
    let mut command = Command::new("node");
    command.args(["bench.mjs", "--jobs", JOBS, "--preset", preset, "--url", url]).current_dir(folder);
    let printed = answer(&mut command)?;
    let last = printed.lines().last().unwrap_or_default();
    let run: PeerRun = serde_json::from_str(last)?;
    anstream::eprintln!("peer: graphile-worker {} {}: {}", run.version, run.preset, run.settings);
    Ok(run)
}

fn answer(command: &mut Command) -> Result<String, Box<dyn std::error::Error>> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{:?} ended with {}", command.get_program(), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
