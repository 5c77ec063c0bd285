//! A synthetic chain in a process of its own, so that its memory and its threads
//! are not the collector's. It ends when the pipe to its parent does.
//!
//! A live one also does what it is told over that pipe: see [`crate::live`].

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::node::Node;
use windlass_devnet::rpc::{Server, ServerOptions};
use windlass_devnet::synthetic::{Density, LiveNode, SyntheticNode, SyntheticOptions};

use crate::live;

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
    /// Add and replace blocks as the input says
    #[arg(long)]
    pub(crate) live: bool,
}

impl Args {
    /// The chain itself.
    pub(crate) fn options(&self) -> SyntheticOptions {
        let density = self.every_blocks.map_or(Density::PerBlock(self.logs_per_block), Density::EveryBlocks);
        SyntheticOptions {
            blocks: self.blocks,
            density,
            finality_blocks: self.unfinal,
            ..SyntheticOptions::default()
        }
    }
}

type Broken = Box<dyn std::error::Error>;

/// Serves until its input ends.
pub(crate) async fn run(args: Args) -> Result<(), Broken> {
    let live = args.live.then(|| Arc::new(LiveNode::new(args.options())));
    let node: Arc<dyn Node> = match &live {
        Some(live) => live.clone(),
        None => Arc::new(SyntheticNode::new(args.options())),
    };
    let faults = match args.latency_ms {
        0 => None,
        ms => Some(Faults::new(1, format!("latency={ms}ms").parse::<Plan>()?)),
    };
    let server = Server::start(node, ServerOptions { faults, ..ServerOptions::default() }).await?;
    anstream::println!("{}", server.http_url());
    let served = tokio::task::spawn_blocking(move || match live {
        Some(live) => live::obey(&live),
        None => std::io::stdin().read_to_end(&mut Vec::new()).map(|_| ()),
    });
    served.await??;
    server.stop().await;
    Ok(())
}

/// A running chain.
pub(crate) struct Served {
    pub(crate) url: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Served {
    /// Starts one.
    pub(crate) fn start(args: &Args) -> Result<Self, Broken> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", "--blocks", &args.blocks.to_string()]);
        command.args(["--logs-per-block", &args.logs_per_block.to_string()]);
        command.args(["--latency-ms", &args.latency_ms.to_string()]);
        command.args(["--unfinal", &args.unfinal.to_string()]);
        if let Some(every) = args.every_blocks {
            command.args(["--every-blocks", &every.to_string()]);
        }
        if args.live {
            command.arg("--live");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let input = child.stdin.take();
        let mut served = Self { url: String::new(), child, input, output };
        served.url = served.line()?;
        Ok(served)
    }

    /// Where heads are announced.
    pub(crate) fn ws_url(&self) -> String {
        self.url.replacen("http", "ws", 1)
    }

    /// Tells a live chain something; returns what it says.
    pub(crate) fn tell(&mut self, words: &str) -> Result<String, Broken> {
        let input = self.input.as_mut().ok_or("the chain has ended")?;
        writeln!(input, "{words}")?;
        self.line()
    }

    fn line(&mut self) -> Result<String, Broken> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("the chain has ended".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
