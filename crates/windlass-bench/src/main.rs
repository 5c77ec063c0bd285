//! Benchmarks: each prints one line with a rate, the limit it is held against and
//! their ratio, all measured in the same run, and exits with 1 when a bar is missed.
//!
//! `cargo run --release -p windlass-bench -- <case> [--store sqlite|postgres]`

mod api;
mod clock;
mod collect;
mod fees;
mod head;
mod insert;
mod jobs;
mod live;
mod memory;
mod npm;
mod pay;
mod place;
mod query;
mod report;
mod requests;
mod rows;
mod rpc;
mod serve;
mod soak;
mod table;
mod times;
mod windlass;
mod world;

use std::future::pending;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use place::StoreArgs;
use report::Report;

#[derive(Parser)]
#[command(about = "benchmarks: ratios to a limit or a peer, measured in one run")]
struct Args {
    #[command(subcommand)]
    case: Case,
}

#[derive(Subcommand)]
enum Case {
    /// The first page and a deep one of ten million rows over HTTP
    Api(api::Args),
    /// A million events from an RPC into typed tables, against a bare pipe
    Collect(collect::Args),
    /// From a block's appearance at the RPC to its rows in the store, and reorgs
    Head(head::Args),
    /// Event rows through the store's door, against bare inserts or COPY BINARY
    Insert(insert::Args),
    /// Claiming and completing jobs over a thousand lanes
    Jobs(jobs::Args),
    /// Payouts from approved to included, against a bare loop of signing, storing and sending
    Pay(pay::Args),
    /// Totals, filters and numbered pages of a million rows over HTTP
    Query(query::Args),
    /// What the devnet's synthetic chain serves over loopback HTTP
    Rpc(rpc::Args),
    /// `windlass run` on a chain where everything goes wrong, killed every minute
    Soak(soak::Args),
    /// A synthetic chain for another process
    #[command(hide = true)]
    Serve(serve::Args),
    /// The chain of `pay` for another process
    #[command(hide = true)]
    PayChain,
}

type Outcome = Result<Report, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    // Fails only if a provider is installed already, and this is the first thing that runs.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let case = match Args::parse().case {
        Case::Serve(args) => return served(serve::run(args).await),
        Case::PayChain => return served(pay::serve().await),
        case => case,
    };
    // Whoever ends this ends what it has started: a run that is dropped kills its children.
    let outcome = tokio::select! {
        outcome = run(case) => outcome,
        () = interrupted() => Err("interrupted".into()),
    };
    match outcome {
        Ok(report) => report.print(),
        Err(error) => told(&*error),
    }
}

async fn run(case: Case) -> Outcome {
    match case {
        Case::Api(args) => api::run(args).await,
        Case::Head(args) => head::run(args).await,
        Case::Collect(args) => collect::run(args).await,
        Case::Serve(_) | Case::PayChain => Err("it is served apart".into()),
        Case::Insert(args) => insert::run(args).await,
        Case::Jobs(args) => jobs::run(args).await,
        Case::Pay(args) => pay::run(args).await,
        Case::Query(args) => query::run(args).await,
        Case::Rpc(args) => rpc::run(args).await,
        Case::Soak(args) => soak::run(args).await,
    }
}

/// Ends at Ctrl-C or when the process is asked to end.
async fn interrupted() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

fn served(outcome: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    outcome.map_or_else(|error| told(&*error), |()| ExitCode::SUCCESS)
}

fn told(error: &dyn std::error::Error) -> ExitCode {
    anstream::eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        anstream::eprintln!("  because: {error}");
        cause = error.source();
    }
    ExitCode::from(2)
}
