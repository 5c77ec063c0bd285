//! `windlass devnet`

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount, Mining, dev_accounts};
use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

use super::global::Global;
use crate::config::duration::HumanDuration;
use crate::failure::Failure;
use crate::{output, signals};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 8545)]
    port: u16,
    /// Make a block at this interval, such as 2s; without it, whenever there is a transaction
    #[arg(long, value_name = "DURATION")]
    block_time: Option<HumanDuration>,
    /// The chain's id
    #[arg(long, value_name = "ID", default_value = "31337")]
    chain_id: ChainId,
    /// How many blocks must stand on a block before it is final
    #[arg(long, value_name = "BLOCKS", default_value_t = 64)]
    finality_depth: u64,
    /// How many of the ten development accounts are funded
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=10))]
    accounts: u8,
    /// What goes wrong and how often, such as 429=0.1,latency=20ms,reset=0.01@eth_getLogs
    #[arg(long, value_name = "SPEC", default_value = "", hide_default_value = true)]
    faults: Plan,
    /// Serve the chain at another port too, with faults of its own, such as
    /// port=8546,faults=429=0.1,latency=20ms; may be repeated
    #[arg(long = "endpoint", value_name = "ENDPOINT")]
    endpoints: Vec<Endpoint>,
    /// Decides when faults happen
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print URLs and accounts as JSON
    #[arg(long)]
    json: bool,
}

/// One more port of the chain.
#[derive(Debug, Clone)]
struct Endpoint {
    port: u16,
    faults: Plan,
}

/// Reads `port=N[,faults=PLAN]`. A plan has commas of its own, so it comes last.
impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "expected port=N or port=N,faults=SPEC".to_owned();
        let (port, faults) = text.split_once(',').unwrap_or((text, "faults="));
        let port = port.strip_prefix("port=").and_then(|port| port.parse().ok()).ok_or_else(form)?;
        let faults = faults.strip_prefix("faults=").ok_or_else(form)?;
        Ok(Self { port, faults: faults.parse::<Plan>().map_err(|error| error.to_string())? })
    }
}

/// What it means: a chain, and how it is served; the first server is the one that is announced.
struct Devnet {
    chain: ChainOptions,
    servers: Vec<ServerOptions>,
}

impl Args {
    fn options(&self) -> Result<Devnet, Failure> {
        if self.block_time.is_some_and(|HumanDuration(time)| time.is_zero()) {
            return Err(Failure::usage("--block-time must be longer than nothing"));
        }
        let accounts: Vec<DevAccount> = dev_accounts().into_iter().take(self.accounts.into()).collect();
        let chain = ChainOptions {
            chain_id: self.chain_id.as_u64(),
            genesis_timestamp_s: now_s(),
            accounts,
            finality_depth: self.finality_depth,
            mining: self.block_time.map_or(Mining::Auto, |HumanDuration(time)| Mining::Interval(time)),
            ..ChainOptions::default()
        };
        let first = Endpoint { port: self.port, faults: self.faults.clone() };
        let servers = [first].iter().chain(&self.endpoints).map(|endpoint| self.server(endpoint)).collect();
        Ok(Devnet { chain, servers })
    }

    fn server(&self, endpoint: &Endpoint) -> ServerOptions {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, endpoint.port));
        let faults = Some(Faults::new(self.seed, endpoint.faults.clone()));
        ServerOptions { addr, faults, ..ServerOptions::default() }
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What a person needs to use the chain.
#[derive(Debug, Serialize)]
struct Announcement {
    http_url: String,
    ws_url: String,
    /// The URLs for HTTP of all endpoints, the first one included.
    endpoints: Vec<String>,
    chain_id: u64,
    accounts: Vec<Account>,
}

#[derive(Debug, Serialize)]
struct Account {
    address: String,
    private_key: String,
}

impl Announcement {
    fn new(server: &ServerHandle, others: &[ServerHandle], chain_id: u64, accounts: &[DevAccount]) -> Self {
        let account = |account: &DevAccount| Account {
            address: account.address().to_string(),
            private_key: account.key().to_string(),
        };
        Self {
            http_url: server.http_url(),
            ws_url: server.ws_url(),
            endpoints: [server].into_iter().chain(others).map(ServerHandle::http_url).collect(),
            chain_id,
            accounts: accounts.iter().map(account).collect(),
        }
    }

    fn render(&self) -> String {
        let others: String = self.endpoints.iter().skip(1).map(|url| format!("endpoint   {url}\n")).collect();
        let lines =
            self.accounts.iter().map(|account| format!("{}  {}\n", account.address, account.private_key));
        let accounts: String = lines.collect();
        // The URLs come last: the accounts alone fill a small terminal.
        format!(
            "accounts, 10000 ether each; the keys are known to everybody\n{accounts}\n\
             HTTP       {}\nWebSocket  {}\n{others}chain id   {}\n",
            self.http_url, self.ws_url, self.chain_id
        )
    }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    output::log::start(&global.log());
    let Devnet { chain: options, servers } = args.options()?;
    let (chain_id, accounts) = (options.chain_id, options.accounts.clone());
    let shutdown = signals::shutdown()?;
    let chain = Chain::new(options);
    let mut started = Vec::with_capacity(servers.len());
    for options in servers {
        started.push(Server::start(Arc::new(chain.clone()), options).await.map_err(|error| {
            Failure::coded(Code::ListenFailed, causes(&error))
                .hint("choose another port: --port 0 takes a free one")
        })?);
    }
    let others = started.split_off(1);
    let server = started.remove(0);
    let announcement = Announcement::new(&server, &others, chain_id, &accounts);
    if args.json {
        output::json(&announcement)?;
    } else {
        output::print(&announcement.render())?;
    }
    output::note("Ctrl-C ends it");
    chain.run(shutdown).await;
    server.stop().await;
    for other in others {
        other.stop().await;
    }
    Ok(())
}

/// An error with what lies below it, since no `Display` repeats its source.
fn causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", causes(source)),
        None => error.to_string(),
    }
}
