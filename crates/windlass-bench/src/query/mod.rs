//! Questions to a table of a million rows over HTTP: totals by group, the first rows of one
//! value with and without an index of its column, and a page by its number.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use windlass_api::{Api, ApiOptions, ApiParts};
use windlass_core::store::Store;
use windlass_core::table::Identifier;

use crate::api::fill;
use crate::place::StoreKind;
use crate::report::{Measured, Report};
use crate::times::Times;
use crate::{Outcome, StoreArgs, fees};

/// How long totals by group of a million rows may take on PostgreSQL, in the middle.
const BAR_SUM_MS: f64 = 1_000.0;
/// How much longer the first rows of one value may take than the first rows of all.
const BAR_FILTER_TIMES: f64 = 5.0;
/// How much longer a page by a high number may take than the first.
const BAR_PAGE_TIMES: f64 = 5.0;
/// How often each question is asked before anything is measured.
const WARM_UP: u32 = 3;

type Broken = Box<dyn std::error::Error>;

/// How many rows, how often.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many rows the table has
    #[arg(short, long, default_value_t = 1_000_000)]
    n: u64,
    /// How often each question is asked
    #[arg(long, default_value_t = 30)]
    asks: u32,
    /// The number of the page of `/fees`
    #[arg(long, default_value_t = 1_800)]
    page: u64,
}

/// How long each question took.
#[derive(Default)]
struct Asked {
    sum: Times,
    first: Times,
    unindexed: Times,
    indexed: Times,
    fees: Times,
    fees_deep_once_ms: f64,
    fees_deep: Times,
}

/// Fills the table, then asks.
pub(crate) async fn run(args: Args) -> Outcome {
    let place = args.store.open().await?;
    fill::fill(&*place.store, args.n).await?;
    let options = ApiOptions { listen: (Ipv4Addr::LOCALHOST, 0).into(), ..ApiOptions::default() };
    let api = Api::bind(options, ApiParts::new(place.store.clone())).await?;
    let (url, shutdown) = (api.url(), CancellationToken::new());
    let serving = tokio::spawn(api.run(shutdown.clone()));
    let asked = ask(&url, &args, &*place.store).await?;
    shutdown.cancel();
    serving.await?;
    place.store.close().await;
    Ok(told(&args, &asked))
}

async fn ask(url: &str, args: &Args, store: &dyn Store) -> Result<Asked, Broken> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let events = format!("{url}/api/v1/events/{}", fees::PATH);
    // No row has it: without an index all of them are looked at.
    let filter = format!("{events}?limit=20&integrator=0x{}", "ee".repeat(20));
    let mut asked = Asked::default();
    measure(&client, &format!("{events}/sum?column=integratorFee&by=integrator"), args.asks, &mut asked.sum)
        .await?;
    measure(&client, &format!("{events}?limit=20"), args.asks, &mut asked.first).await?;
    measure(&client, &filter, args.asks, &mut asked.unindexed).await?;
    let table = fees::create_table(store).await?;
    store.create_column_index(&table.name, &Identifier::new("integrator")?).await?;
    measure(&client, &filter, args.asks, &mut asked.indexed).await?;
    let chain = table.chain;
    let page = |page: u64| format!("{url}/fees?integrator={chain}&page={page}");
    measure(&client, &page(1), args.asks, &mut asked.fees).await?;
    asked.fees_deep_once_ms = once(&client, &page(args.page)).await?.as_secs_f64() * 1_000.0;
    measure(&client, &page(args.page), args.asks, &mut asked.fees_deep).await?;
    Ok(asked)
}

/// Asks the same again and again.
async fn measure(client: &reqwest::Client, url: &str, asks: u32, times: &mut Times) -> Result<(), Broken> {
    for _ in 0..WARM_UP {
        once(client, url).await?;
    }
    for _ in 0..asks {
        times.push(once(client, url).await?);
    }
    Ok(())
}

/// How long an answer takes, to its last byte.
async fn once(client: &reqwest::Client, url: &str) -> Result<Duration, Broken> {
    let begun = Instant::now();
    let body = client.get(url).send().await?.error_for_status()?.bytes().await?;
    let took = begun.elapsed();
    if body.is_empty() { Err("an empty answer".into()) } else { Ok(took) }
}

fn told(args: &Args, asked: &Asked) -> Report {
    let p50 = |times: &Times| times.percentile(50);
    let measured = Measured { n: asked.sum.count(), seconds: asked.sum.seconds() };
    let filter_times = p50(&asked.indexed) / p50(&asked.first);
    let page_times = p50(&asked.fees_deep) / p50(&asked.fees);
    let report = Report::new("query", args.store.name(), measured)
        .with("rows", args.n)
        .with("sum_by_group_p50_ms", format_args!("{:.1}", p50(&asked.sum)))
        .with("first_p50_ms", format_args!("{:.2}", p50(&asked.first)))
        .with("filter_p50_ms", format_args!("{:.2}", p50(&asked.unindexed)))
        .with("filter_indexed_p50_ms", format_args!("{:.2}", p50(&asked.indexed)))
        .with("filter_times", format_args!("{filter_times:.2}"))
        .with("page", args.page)
        .with("fees_p50_ms", format_args!("{:.2}", p50(&asked.fees)))
        .with("fees_page_once_ms", format_args!("{:.2}", asked.fees_deep_once_ms))
        .with("fees_page_p50_ms", format_args!("{:.2}", p50(&asked.fees_deep)))
        .with("page_times", format_args!("{page_times:.2}"))
        .at_most("an indexed filter in times of the first page", filter_times, BAR_FILTER_TIMES)
        .at_most("a high page in times of the first", page_times, BAR_PAGE_TIMES);
    match args.store.store {
        StoreKind::Postgres => report.at_most("totals by group in ms", p50(&asked.sum), BAR_SUM_MS),
        StoreKind::Sqlite => report,
    }
}
