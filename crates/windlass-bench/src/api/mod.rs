//! Pages of a table of ten million rows over HTTP: the first one and one a million
//! rows further, each asked for many times over one connection.

pub(crate) mod fill;
mod pages;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;
use windlass_api::{Api, ApiOptions, ApiParts};

use self::pages::Pages;
use crate::place::StoreKind;
use crate::report::{Measured, Report};
use crate::times::Times;
use crate::{Outcome, StoreArgs, memory};

/// How much further apart the two pages' p99 may be.
const BAR_TIMES: f64 = 2.0;
const BAR_SQLITE_P50_MS: f64 = 5.0;
/// How often each page is asked for before anything is measured.
const WARM_UP: u32 = 50;

/// How many rows, how deep, how often.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many rows the table has
    #[arg(short, long, default_value_t = 10_000_000)]
    n: u64,
    /// How many rows lie before the deep page
    #[arg(long, default_value_t = 1_000_000)]
    deep: u64,
    /// How often each page is asked for
    #[arg(long, default_value_t = 1_000)]
    asks: u32,
    /// How many rows a page has
    #[arg(long, default_value_t = 100)]
    limit: u32,
    /// A SQLite file that is filled once and kept for the next run
    #[arg(long, value_name = "PATH")]
    keep: Option<PathBuf>,
}

/// How long each page took.
struct Asked {
    first: Times,
    deep: Times,
}

/// Fills the table, then asks.
pub(crate) async fn run(args: Args) -> Outcome {
    let place = match &args.keep {
        Some(path) => args.store.open_kept(path).await?,
        None => args.store.open().await?,
    };
    fill::fill(&*place.store, args.n).await?;
    let options = ApiOptions { listen: (Ipv4Addr::LOCALHOST, 0).into(), ..ApiOptions::default() };
    let api = Api::bind(options, ApiParts::new(place.store.clone())).await?;
    let (url, shutdown) = (api.url(), CancellationToken::new());
    let serving = tokio::spawn(api.run(shutdown.clone()));
    let asked = ask(&url, &args).await?;
    let rss_mib = memory::peak_rss_mib();
    shutdown.cancel();
    serving.await?;
    place.store.close().await;
    Ok(told(&args, &asked).with("api_rss_mib", rss_mib))
}

async fn ask(url: &str, args: &Args) -> Result<Asked, Box<dyn std::error::Error>> {
    let pages = Pages::new(url, fill::truth(args.n))?;
    let deep_cursor = pages.walk(args.deep).await?;
    let first_url = pages.url(args.limit, None);
    let deep_url = pages.url(args.limit, Some(&deep_cursor));
    pages.assert_begins(&first_url, 0).await?;
    pages.assert_begins(&deep_url, args.deep).await?;
    for _ in 0..WARM_UP {
        pages.ask(&first_url).await?;
        pages.ask(&deep_url).await?;
    }
    let mut asked = Asked { first: Times::default(), deep: Times::default() };
    // In turns, so that whatever else the machine does hits both alike.
    for _ in 0..args.asks {
        asked.first.push(pages.ask(&first_url).await?);
        asked.deep.push(pages.ask(&deep_url).await?);
    }
    Ok(asked)
}

fn told(args: &Args, Asked { first, deep }: &Asked) -> Report {
    let measured = Measured { n: first.count() + deep.count(), seconds: first.seconds() + deep.seconds() };
    let (near, far) = (first.percentile(99), deep.percentile(99));
    let times = near.max(far) / near.min(far);
    let report = Report::new("api", args.store.name(), measured)
        .with("rows", args.n)
        .with("deep", args.deep)
        .with("limit", args.limit)
        .with("first_p50_ms", format_args!("{:.2}", first.percentile(50)))
        .with("first_p99_ms", format_args!("{near:.2}"))
        .with("deep_p50_ms", format_args!("{:.2}", deep.percentile(50)))
        .with("deep_p99_ms", format_args!("{far:.2}"))
        .with("times", format_args!("{times:.2}"))
        .at_most("one page's p99 in times of the other's", times, BAR_TIMES);
    match args.store.store {
        StoreKind::Postgres => report,
        StoreKind::Sqlite => report
            .at_most("the first page's p50 in ms", first.percentile(50), BAR_SQLITE_P50_MS)
            .at_most("the deep page's p50 in ms", deep.percentile(50), BAR_SQLITE_P50_MS),
    }
}
