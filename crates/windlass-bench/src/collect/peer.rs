//! The peer: ponder from npm, on a shorter piece of the same chain, in the same run.

use std::path::Path;
use std::process::Command;

use clap::ValueEnum;
use serde::Deserialize;
use windlass_devnet::synthetic::SyntheticOptions;

use super::Args;
use crate::npm::{answer, installed};
use crate::place::StoreKind;
use crate::serve::{self, Served};

/// The peer leaves so many of the newest blocks to its realtime part, and some more.
const BLOCKS_BEYOND: u64 = 100;

/// Whom to run as well.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Peer {
    /// ponder, into its embedded PGlite or the same PostgreSQL
    Ponder,
}

/// One of the peer's configurations.
struct Setup {
    name: &'static str,
    rpc_times: &'static str,
}

/// As its documentation has it; and with the URL listed so often that how it paces
/// the requests to one URL does not matter.
const SETUPS: [Setup; 2] =
    [Setup { name: "one_url", rpc_times: "1" }, Setup { name: "unpaced", rpc_times: "25" }];

/// What one configuration reached.
pub(super) struct PeerRun {
    /// Which one.
    pub(super) name: &'static str,
    /// How many events it had.
    pub(super) events: u64,
    /// Events a second.
    pub(super) rate: f64,
}

/// What the peer's runner prints.
#[derive(Deserialize)]
struct Printed {
    version: String,
    events: u64,
    rate: f64,
    settings: serde_json::Value,
}

/// Runs its configurations; says on stderr what they were set to.
pub(super) fn run(args: &Args) -> Result<Vec<PeerRun>, Box<dyn std::error::Error>> {
    let folder = installed("ponder")?;
    let blocks = args.peer_events.div_ceil(u64::from(args.logs_per_block));
    let chain =
        serve::Args { blocks: blocks + BLOCKS_BEYOND, every_blocks: None, latency_ms: 0, ..args.chain() };
    let served = Served::start(&chain)?;
    SETUPS.iter().map(|setup| one(&folder, &served.url, args, blocks, setup)).collect()
}

fn one(
    folder: &Path,
    url: &str,
    args: &Args,
    blocks: u64,
    setup: &Setup,
) -> Result<PeerRun, Box<dyn std::error::Error>> {
    let synthetic = SyntheticOptions::default();
    let events = blocks * u64::from(args.logs_per_block);
    let mut command = Command::new("node");
    command.arg("bench.mjs").args(["--rpc", url, "--rpc-times", setup.rpc_times]).current_dir(folder);
    command.args(["--blocks", &blocks.to_string(), "--events", &events.to_string()]);
    command.args(["--chain-id", &synthetic.chain_id.to_string()]);
    command.args(["--contract", &synthetic.contract.to_string().to_lowercase()]);
    match args.store.store {
        StoreKind::Sqlite => command.args(["--database", "pglite"]),
        // The URL may hold a password, which arguments would show to every user of the machine.
        StoreKind::Postgres => {
            command.args(["--database", "postgres"]).env("PEER_POSTGRES_URL", args.store.url()?)
        }
    };
    let printed = answer(&mut command)?;
    let Printed { version, events, rate, settings } =
        serde_json::from_str(printed.lines().last().unwrap_or_default())?;
    anstream::eprintln!("peer: ponder {version} {}: {rate:.0}/s with {settings}", setup.name);
    Ok(PeerRun { name: setup.name, events, rate })
}
