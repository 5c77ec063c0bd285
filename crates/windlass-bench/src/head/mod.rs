//! Following a head.
//!
//! In an open loop (`--block-ms`), blocks come by the clock and the binary collects them
//! over plain HTTP: how far behind it is, how long a block takes, what it asks for.
//! `--behind` measures how fast it makes up for what it missed. Without either, the
//! closed loop: a block comes when the one before is stored.

mod behind;
mod closed;
mod collector;
mod lag;
mod open;

use self::closed::ClosedArgs;
use self::open::Circumstances;
use crate::report::Report;
use crate::windlass::BinaryArgs;
use crate::{Outcome, StoreArgs};

/// The cases of `--suite`: latency, time between blocks, share of refused requests.
const SUITE: [(u64, u64, Option<f64>); 5] =
    [(0, 250, None), (100, 250, None), (100, 250, Some(0.02)), (200, 1_000, None), (300, 2_000, None)];
/// How many logs a block of an open loop has.
const OPEN_LOGS_PER_BLOCK: u32 = 10;
/// How far apart blocks are, as their timestamps say, when the collector is behind.
const BEHIND_BLOCK_MS: u64 = 1_000;

/// How blocks come, and over what wire.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    binary: BinaryArgs,
    /// A block comes every so often, whatever was stored
    #[arg(long, conflicts_with_all = ["suite", "behind"])]
    block_ms: Option<u64>,
    /// Measure every latency and block time that there is a bar for, one after another
    #[arg(long, conflicts_with = "behind")]
    suite: bool,
    /// Start so many blocks behind the head
    #[arg(long, value_name = "BLOCKS")]
    behind: Option<u64>,
    /// How long every answer of the RPC is held back
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// The share of requests that is refused with 429 and without Retry-After
    #[arg(long, value_name = "SHARE")]
    refuse: Option<f64>,
    /// How long blocks come by the clock
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    #[command(flatten)]
    closed: ClosedArgs,
}

impl Args {
    fn circumstances(&self, latency_ms: u64, block_ms: u64, refuse: Option<f64>) -> Circumstances {
        Circumstances {
            latency_ms,
            block_ms,
            refuse,
            seconds: self.seconds,
            past: self.closed.past,
            unfinal: self.closed.unfinal,
            logs_per_block: self.closed.logs_per_block.unwrap_or(OPEN_LOGS_PER_BLOCK),
        }
    }
}

/// Measures what was asked for.
pub(crate) async fn run(args: Args) -> Outcome {
    if args.suite {
        return suite(&args).await;
    }
    if let Some(blocks) = args.behind {
        let given = args.circumstances(args.latency_ms, BEHIND_BLOCK_MS, args.refuse);
        return behind::run(&args.store, &args.binary, given, blocks).await;
    }
    match args.block_ms {
        Some(block_ms) => {
            let given = args.circumstances(args.latency_ms, block_ms, args.refuse);
            open::run(&args.store, &args.binary, given).await
        }
        None => closed::run(args.store, args.closed).await,
    }
}

/// One line for each case. A bar that is missed does not keep the others from being measured.
async fn suite(args: &Args) -> Outcome {
    let mut measured: Option<Report> = None;
    for (latency_ms, block_ms, refuse) in SUITE {
        let given = args.circumstances(latency_ms, block_ms, refuse);
        let name = format!("{latency_ms} ms, a block every {block_ms} ms, {} refused", refuse.unwrap_or(0.0));
        let report = open::run(&args.store, &args.binary, given).await?.named(&name);
        measured = Some(match measured {
            None => report,
            Some(before) => before.followed_by(report),
        });
    }
    measured.ok_or_else(|| "there are no cases".into())
}
