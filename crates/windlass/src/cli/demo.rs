//! `windlass demo`

use std::time::Duration;

use super::global::Global;
use crate::config::duration::HumanDuration;
use crate::demo::{self, DemoOptions};
use crate::failure::Failure;
use crate::{output, signals};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop after this time, such as 20s
    #[arg(long = "for", value_name = "DURATION")]
    run_for: Option<HumanDuration>,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
    /// Decides the traffic and the reorgs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Port of the chain's RPC; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Time between two blocks
    #[arg(long, value_name = "DURATION", default_value = "250ms")]
    block_time: HumanDuration,
}

impl Args {
    fn options(self) -> Result<DemoOptions, Failure> {
        if self.block_time.0.is_zero() {
            return Err(Failure::usage("--block-time must be longer than nothing"));
        }
        Ok(DemoOptions {
            run_for: self.run_for.map(|HumanDuration(time)| time.max(Duration::from_millis(1))),
            json: self.json,
            seed: self.seed,
            port: self.port,
            block_time: self.block_time.0,
        })
    }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let options = args.options()?;
    let mut log = global.log();
    if options.is_live() {
        // The view tells what happens; only what is wrong may come between.
        log.level = log.level.shifted(-1);
    }
    output::log::start(&log);
    demo::run(options, signals::shutdown()?).await
}
