//! The bare pipe's near end: ranges of an RPC, one after another or side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;

use crate::report::Measured;
use crate::serve;

/// About so many logs in one answer.
const LOGS_PER_RANGE: u64 = 10_000;

/// What a bare pipe reached, whole and in parts.
pub(super) struct Limit {
    /// Download, parse, insert.
    pub(super) whole: Measured,
    /// Download alone.
    pub(super) download: Measured,
    /// Insert alone, of rows that are there already.
    pub(super) insert: Measured,
}

impl Limit {
    /// How near the pipe comes to the slower of its parts.
    pub(super) fn share(&self) -> f64 {
        self.whole.rate() / self.download.rate().min(self.insert.rate())
    }
}

/// Hands out the ranges of a chain.
#[derive(Clone)]
pub(super) struct Ranges {
    url: Arc<str>,
    client: reqwest::Client,
    next: Arc<AtomicU64>,
    blocks: u64,
    size: u64,
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

impl Ranges {
    pub(super) fn new(url: &str, chain: &serve::Args) -> Self {
        let size = match chain.every_blocks {
            Some(every) => LOGS_PER_RANGE * every,
            None => LOGS_PER_RANGE / u64::from(chain.logs_per_block),
        };
        Self {
            url: url.into(),
            client: reqwest::Client::new(),
            next: Arc::new(AtomicU64::new(1)),
            blocks: chain.blocks,
            size,
        }
    }

    /// The next answer; `None` when all were handed out.
    pub(super) async fn next(&self) -> Result<Option<Bytes>, Broken> {
        let from = self.next.fetch_add(self.size, Ordering::Relaxed);
        if from > self.blocks {
            return Ok(None);
        }
        let to = self.blocks.min(from + self.size - 1);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{{"fromBlock":"{from:#x}","toBlock":"{to:#x}"}}]}}"#
        );
        let request = self.client.post(&*self.url).header("content-type", "application/json").body(body);
        Ok(Some(request.send().await?.error_for_status()?.bytes().await?))
    }
}

/// How fast the answers come when nothing is done with them.
pub(super) async fn download(url: &str, chain: &serve::Args, n: u64) -> Result<Measured, Broken> {
    let ranges = Ranges::new(url, chain);
    let begun = Instant::now();
    let readers = (0..2).map(|_| {
        let ranges = ranges.clone();
        tokio::spawn(async move {
            while ranges.next().await?.is_some() {}
            Ok::<(), Broken>(())
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await??;
    }
    Ok(Measured { n, seconds: begun.elapsed().as_secs_f64() })
}
