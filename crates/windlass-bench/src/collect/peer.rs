//! The peer: ponder from npm, on a shorter piece of the same chain, in the same run.

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
    /// ponder, with its default settings, into its embedded PGlite or the same PostgreSQL
    Ponder,
}

/// What the peer's runner prints.
#[derive(Deserialize)]
pub(super) struct PeerRun {
    pub(super) peer: String,
    pub(super) version: String,
    pub(super) events: u64,
    pub(super) rate: f64,
    settings: serde_json::Value,
}

/// Runs it; says on stderr what it was set to.
pub(super) fn run(args: &Args) -> Result<PeerRun, Box<dyn std::error::Error>> {
    let folder = installed("ponder")?;
    let logs_per_block = u64::from(args.logs_per_block);
    let blocks = args.peer_events.div_ceil(logs_per_block);
    let chain =
        serve::Args { blocks: blocks + BLOCKS_BEYOND, every_blocks: None, latency_ms: 0, ..args.chain() };
    let served = Served::start(&chain)?;
    let synthetic = SyntheticOptions::default();
    let mut command = Command::new("node");
    command.arg("bench.mjs").args(["--rpc", &served.url]).current_dir(folder);
    command.args(["--blocks", &blocks.to_string(), "--events", &(blocks * logs_per_block).to_string()]);
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
    let run: PeerRun = serde_json::from_str(printed.lines().last().unwrap_or_default())?;
    let PeerRun { peer, version, rate, settings, events } = &run;
    anstream::eprintln!("peer: {peer} {version}: {events} events, {rate:.0}/s with {settings}");
    Ok(run)
}
