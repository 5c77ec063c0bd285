//! A synthetic chain in a process of its own, so that its memory and its threads
//! are not the collector's. It ends when the pipe to its parent does.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::rpc::{Server, ServerOptions};
use windlass_devnet::synthetic::{Density, SyntheticNode, SyntheticOptions};

/// What the chain looks like.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Args {
    /// How many blocks it has
    #[arg(long)]
    pub(crate) blocks: u64,
    /// How many logs a block has
    #[arg(long, default_value_t = 10)]
    pub(crate) logs_per_block: u32,
    /// One log in every so many blocks instead
    #[arg(long)]
    pub(crate) every_blocks: Option<u64>,
    /// How long every answer is held back
    #[arg(long, default_value_t = 0)]
    pub(crate) latency_ms: u64,
    /// How many blocks below the head are not final
    #[arg(long, default_value_t = 0)]
    pub(crate) unfinal: u64,
}

impl Args {
    fn density(&self) -> Density {
        self.every_blocks.map_or(Density::PerBlock(self.logs_per_block), Density::EveryBlocks)
    }
}

/// Serves until its input ends.
pub(crate) async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let node = SyntheticNode::new(SyntheticOptions {
        blocks: args.blocks,
        density: args.density(),
        finality_blocks: args.unfinal,
        ..SyntheticOptions::default()
    });
    let faults = match args.latency_ms {
        0 => None,
        ms => Some(Faults::new(1, format!("latency={ms}ms").parse::<Plan>()?)),
    };
    let server = Server::start(Arc::new(node), ServerOptions { faults, ..ServerOptions::default() }).await?;
    anstream::println!("{}", server.http_url());
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    server.stop().await;
    Ok(())
}

/// A running chain.
pub(crate) struct Served {
    pub(crate) url: String,
    child: Child,
    input: Option<ChildStdin>,
}

impl Served {
    /// Starts one.
    pub(crate) fn start(args: &Args) -> Result<Self, Box<dyn std::error::Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--blocks", &args.blocks.to_string()]);
        command.args(["--logs-per-block", &args.logs_per_block.to_string()]);
        command.args(["--latency-ms", &args.latency_ms.to_string()]);
        command.args(["--unfinal", &args.unfinal.to_string()]);
        if let Some(every) = args.every_blocks {
            command.args(["--every-blocks", &every.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url)?;
        let input = child.stdin.take();
        Ok(Self { url: url.trim().to_owned(), child, input })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
