//! Ten thousand payouts from approved to included, on a development chain that makes a
//! block every second, with everything that makes it safe: claims, risk, simulation,
//! reservations, stored transactions, audit log, outbox. The limit is a bare loop that
//! signs, commits one row and sends, one transaction after another.
//!
//! The chain is a process of its own: it keeps every block, transaction and receipt in memory, which grows
//! with the number of transactions and is not the payer's. `pay_rss_mib` is what the payer and its store
//! have held at most, `chain_rss_mib` what the chain has.

mod asked;
mod bare;
mod served;
mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use windlass_core::name::Owner;
use windlass_core::payout::audit::AuditKey;
use windlass_core::store::Store;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::payer::{Payer, PayerParts};
use windlass_engine::pay::submit::Submitter;
use windlass_engine::pay::track::Tracker;

use self::bare::Rows;
use self::served::ServedChain;
pub(crate) use self::served::serve;
use crate::place::StoreKind;
use crate::report::{Measured, Report};
use crate::{Outcome, StoreArgs};

const BAR_SINGLE: f64 = 200.0;
const BAR_BATCHED: f64 = 2_000.0;
const BAR_RATIO: f64 = 0.5;

/// How many transactions the bare loop makes.
const BARE: u64 = 2_000;

pub(super) type Broken = Box<dyn std::error::Error + Send + Sync>;

/// How many payouts, and how many in a transaction.
#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many payouts
    #[arg(short, long, default_value_t = 10_000)]
    n: u64,
    /// How many payouts go into one transaction
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// How many accounts send
    #[arg(long, default_value_t = 1)]
    signers: usize,
}

/// Measures payouts, then the bare loop.
pub(crate) async fn run(args: Args) -> Outcome {
    let chain = ServedChain::start().map_err(|error| error.to_string())?;
    let place = args.store.open().await?;
    let options = Arc::new(PayOptions {
        batch: args.batch,
        max_open: 50_000,
        track_interval: Duration::from_millis(500),
        ..PayOptions::new(chain.description.vault)
    });
    let store = place.store.clone();
    asked::ask(&chain.description, store.clone(), options.clone(), args.n)
        .await
        .map_err(|error| error.to_string())?;
    let (measured, transactions) =
        pay(&chain, &store, &options, &args).await.map_err(|error| error.to_string())?;
    let rss_mib = crate::memory::peak_rss_mib();
    let chain_rss_mib = chain.peak_rss_mib().map_err(|error| error.to_string())?;
    let rows = match args.store.store {
        StoreKind::Sqlite => Rows::sqlite(&place.path("bare.db")),
        StoreKind::Postgres => Rows::postgres(args.store.url()?).await,
    };
    let rows = rows.map_err(|error| error.to_string())?;
    let bare = bare::measure(&chain, &rows, BARE).await.map_err(|error| error.to_string())?;
    let ratio = transactions as f64 / measured.seconds / bare.rate();
    let bar = if args.batch > 1 { BAR_BATCHED } else { BAR_SINGLE };
    let report = Report::new("pay", args.store.name(), measured)
        .with("batch", args.batch)
        .with("signers", args.signers)
        .with("transactions", transactions)
        .with("limit", format_args!("{:.0}", bare.rate()))
        .with("ratio", format_args!("{ratio:.2}"))
        .with("pay_rss_mib", rss_mib)
        .with("chain_rss_mib", chain_rss_mib)
        .bar("payouts a second", measured.rate(), bar);
    // A batch is one transaction for many payouts: how many transactions says nothing of it.
    Ok(if args.batch > 1 { report } else { report.bar("ratio", ratio, BAR_RATIO) })
}

/// Until the vault has told of every payout; how many transactions it took.
async fn pay(
    chain: &ServedChain,
    store: &Arc<dyn Store>,
    options: &Arc<PayOptions>,
    args: &Args,
) -> Result<(Measured, u64), Broken> {
    let payer = Payer::new(PayerParts {
        ledger: Ledger::new(store.clone(), AuditKey::new([1; 32])),
        chain: chain.pool()?,
        signers: chain.signers(args.signers)?,
        risk_signer: None,
        options: options.clone(),
        owner: Owner::new("bench")?,
    })?;
    let shutdown = CancellationToken::new();
    let begun = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for signer in payer.signers() {
        running.spawn(Submitter::new(payer.clone(), signer.clone()).run(shutdown.clone()));
    }
    running.spawn(Tracker::new(payer.clone()).run(shutdown.clone()));
    let (mut paid, mut seen) = (0, 0);
    while paid < args.n {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (more, head) = chain.paid_after(seen)?;
        (paid, seen) = (paid + more, head);
    }
    let measured = Measured { n: args.n, seconds: begun.elapsed().as_secs_f64() };
    shutdown.cancel();
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let transactions = store.list_signers().await?.iter().map(|signer| signer.next_nonce).sum();
    Ok((measured, transactions))
}
