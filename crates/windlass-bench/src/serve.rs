//! A synthetic chain in a process of its own, so that its memory and its threads
//! are not the collector's. It ends when the pipe to its parent does.
//!
//! A live one also does what it is told over that pipe: see [`crate::live`].

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use windlass_devnet::faults::{Faults, Plan, PlanError};
use windlass_devnet::node::Node;
use windlass_devnet::rpc::{Observer, Server, ServerHandle, ServerOptions};
use windlass_devnet::synthetic::{Density, LiveNode, SyntheticNode, SyntheticOptions};

use crate::live::Obedient;
use crate::requests::RequestCounter;

/// The most endpoints of one chain.
const MAX_ENDPOINTS: i64 = 8;

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
    /// The share of requests that is answered with 429, without Retry-After
    #[arg(long)]
    pub(crate) refuse: Option<f64>,
    /// How many blocks below the head are not final
    #[arg(long, default_value_t = 0)]
    pub(crate) unfinal: u64,
    /// The time between two blocks, as their timestamps say
    #[arg(long, default_value_t = 12_000)]
    pub(crate) block_ms: u64,
    /// The time of block 0, in seconds since 1970
    #[arg(long, default_value_t = 1_700_000_000)]
    pub(crate) genesis_s: u64,
    /// At how many ports it is served, each with faults of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MAX_ENDPOINTS))]
    pub(crate) endpoints: u32,
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
            block_time_ms: self.block_ms,
            genesis_time_s: self.genesis_s,
            ..SyntheticOptions::default()
        }
    }

    /// What goes wrong from the start.
    fn faults(&self) -> Result<Plan, PlanError> {
        let latency = (self.latency_ms > 0).then(|| format!("latency={}ms", self.latency_ms));
        let refusals = self.refuse.map(|share| format!("429={share}:none"));
        let rules: Vec<String> = latency.into_iter().chain(refusals).collect();
        rules.join(",").parse()
    }
}

impl Default for Args {
    fn default() -> Self {
        let usual = SyntheticOptions::default();
        Self {
            blocks: 0,
            logs_per_block: 10,
            every_blocks: None,
            latency_ms: 0,
            refuse: None,
            unfinal: 0,
            block_ms: usual.block_time_ms,
            genesis_s: usual.genesis_time_s,
            endpoints: 1,
            live: false,
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
    let counter = live.clone().map(|live| Arc::new(RequestCounter::new(live, args.unfinal)));
    let mut servers = Vec::new();
    for seed in 1..=args.endpoints.into() {
        let observer = counter.clone().map(|counter| -> Arc<dyn Observer> { counter });
        let faults = Some(Faults::new(seed, args.faults()?));
        let options = ServerOptions { faults, observer, ..ServerOptions::default() };
        servers.push(Server::start(node.clone(), options).await?);
    }
    let urls: Vec<String> = servers.iter().map(ServerHandle::http_url).collect();
    anstream::println!("{}", urls.join(" "));
    let served = tokio::task::spawn_blocking(move || match live.zip(counter) {
        Some((live, counter)) => Obedient::new(live, counter).obey(),
        None => std::io::stdin().read_to_end(&mut Vec::new()).map(|_| ()),
    });
    served.await??;
    for server in servers {
        server.stop().await;
    }
    Ok(())
}

/// A running chain.
pub(crate) struct Served {
    /// Its first endpoint.
    pub(crate) url: String,
    /// All of them.
    pub(crate) urls: Vec<String>,
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
        command.args(["--block-ms", &args.block_ms.to_string()]);
        command.args(["--genesis-s", &args.genesis_s.to_string()]);
        command.args(["--endpoints", &args.endpoints.to_string()]);
        if let Some(share) = args.refuse {
            command.args(["--refuse", &share.to_string()]);
        }
        if let Some(every) = args.every_blocks {
            command.args(["--every-blocks", &every.to_string()]);
        }
        if args.live {
            command.arg("--live");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let input = child.stdin.take();
        let mut served = Self { url: String::new(), urls: Vec::new(), child, input, output };
        served.urls = served.line()?.split(' ').map(str::to_owned).collect();
        served.url = served.urls.first().cloned().unwrap_or_default();
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
