//! What the devnet's synthetic chain serves over loopback HTTP to a client that
//! merely downloads: it must never be what another benchmark waits for.

use std::sync::Arc;
use std::time::Instant;

use serde_json::value::RawValue;
use windlass_devnet::node::Node;
use windlass_devnet::rpc::{Server, ServerOptions};
use windlass_devnet::synthetic::{Density, SyntheticNode, SyntheticOptions};

use crate::Outcome;
use crate::report::{Measured, Report};

const BAR_RATE: f64 = 500_000.0;

/// How many logs, and how they are asked for.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many logs
    #[arg(short, long, default_value_t = 2_000_000)]
    n: u64,
    /// How many logs a block has
    #[arg(long, default_value_t = 10)]
    logs_per_block: u32,
    /// How many blocks one request asks for
    #[arg(long, default_value_t = 1_000)]
    range: u64,
}

/// Downloads every log once and counts what came.
pub(crate) async fn run(args: Args) -> Outcome {
    let blocks = args.n.div_ceil(u64::from(args.logs_per_block));
    let node = Arc::new(SyntheticNode::new(SyntheticOptions {
        blocks,
        density: Density::PerBlock(args.logs_per_block),
        ..SyntheticOptions::default()
    }));
    let server = Server::start(node.clone(), ServerOptions::default()).await?;
    let client = reqwest::Client::new();
    let (mut bytes, mut from) = (0, 1);
    let begun = Instant::now();
    while from <= blocks {
        let to = blocks.min(from + args.range - 1);
        let params = params(from, to);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":{params}}}"#);
        let request = client.post(server.http_url()).header("content-type", "application/json").body(body);
        let mut response = request.send().await?.error_for_status()?;
        while let Some(chunk) = response.chunk().await? {
            bytes += chunk.len();
        }
        from = to + 1;
    }
    let measured = Measured { n: node.log_count(), seconds: begun.elapsed().as_secs_f64() };
    server.stop().await;
    let limit = generated(&node, blocks, args.range)?;
    Ok(Report::new("rpc", "devnet", measured)
        .with("limit", format_args!("{:.0}", limit.rate()))
        .with("ratio", format_args!("{:.2}", measured.rate() / limit.rate()))
        .with("mib_per_s", bytes / (1 << 20) / (measured.seconds.ceil() as usize).max(1))
        .bar("rate", measured.rate(), BAR_RATE))
}

fn params(from: u64, to: u64) -> String {
    format!(r#"[{{"fromBlock":"0x{from:x}","toBlock":"0x{to:x}"}}]"#)
}

/// The limit: the same answers made in this process, without a wire.
fn generated(node: &SyntheticNode, blocks: u64, range: u64) -> Result<Measured, Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let mut from = 1;
    while from <= blocks {
        let to = blocks.min(from + range - 1);
        let params = RawValue::from_string(params(from, to))?;
        node.call("eth_getLogs", Some(&params))?;
        from = to + 1;
    }
    Ok(Measured { n: node.log_count(), seconds: begun.elapsed().as_secs_f64() })
}
