//! Event rows through the store's door, with a cursor moving in each commit,
//! against the barest way to get the same rows into the same table.

mod copy;
mod prepared;

use std::time::Instant;

use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::{Cursor, CursorRule};
use windlass_core::name::CursorName;
use windlass_core::store::Store;

use crate::memory::peak_rss_mib;
use crate::place::StoreKind;
use crate::report::{Measured, Report};
use crate::{Outcome, StoreArgs, rows};

/// The share of the limit that the door must reach.
const BAR_RATIO: f64 = 0.6;

/// How many rows, and where.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many rows
    #[arg(short, long, default_value_t = 1_000_000)]
    n: u64,
    /// How many rows in one commit
    #[arg(long, default_value_t = 10_000)]
    batch: u64,
}

/// Measures the door first, so that its memory is not hidden by the limit's.
pub(crate) async fn run(args: Args) -> Outcome {
    let place = args.store.open().await?;
    let (measured, rss_at_tenth) = through_the_door(&*place.store, args.n, args.batch).await?;
    place.store.close().await;
    let peak = peak_rss_mib();
    let limit = match args.store.store {
        StoreKind::Sqlite => prepared::measure(place.folder.path(), args.n, args.batch)?,
        StoreKind::Postgres => copy::measure(args.store.url()?, args.n, args.batch).await?,
    };
    let ratio = measured.rate() / limit.rate();
    Ok(Report::new("insert", args.store.name(), measured)
        .with("limit", format_args!("{:.0}", limit.rate()))
        .with("ratio", format_args!("{ratio:.2}"))
        .with("rss_mib_at_tenth", rss_at_tenth)
        .with("rss_mib_at_end", peak)
        .bar("ratio", ratio, BAR_RATIO))
}

async fn through_the_door(
    store: &dyn Store,
    n: u64,
    batch: u64,
) -> Result<(Measured, u64), Box<dyn std::error::Error>> {
    let name = CursorName::new("bench")?;
    store.seed_cursor(&name, Cursor::new(-1, "start")?).await?;
    let (mut seconds, mut done, mut rss_at_tenth) = (0.0, 0, 0);
    while done < n {
        let count = batch.min(n - done);
        let events = rows::rows(done, count);
        done += count;
        let to = Cursor::new(i64::try_from(done)?, "bench")?;
        let advance = Write::AdvanceCursor { name: name.clone(), to, rule: CursorRule::Identified };
        let begun = Instant::now();
        store.commit(Commit::of(vec![Write::Events(events), advance]).relaxed()).await?;
        seconds += begun.elapsed().as_secs_f64();
        if done >= n / 10 && rss_at_tenth == 0 {
            rss_at_tenth = peak_rss_mib();
        }
    }
    Ok((Measured { n, seconds }, rss_at_tenth))
}
