//! The bare pipe's near end: ranges of an RPC, one after another or side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;

use crate::report::Measured;
use crate::serve;

/// About so many logs in one answer.
const LOGS_PER_RANGE: u64 = 10_000;

/// How often the limit is measured; the median counts, part by part.
pub(super) const ROUNDS: usize = 5;

/// What a bare pipe reached, whole and in parts.
pub(super) struct Limit {
    /// Download, parse, insert.
    pub(super) whole: Measured,
    /// Download alone.
    pub(super) download: Measured,
    /// Parse alone, of answers that are there already.
    pub(super) parse: Measured,
    /// Insert alone, of rows that are there already.
    pub(super) insert: Measured,
}

impl Limit {
    /// Part by part the middle one: a busy neighbour for a second decides nothing.
    pub(super) fn median(rounds: &[Self]) -> Self {
        let middle = |part: fn(&Self) -> Measured| {
            let mut all: Vec<Measured> = rounds.iter().map(part).collect();
            all.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
            all[all.len() / 2]
        };
        Self {
            whole: middle(|round| round.whole),
            download: middle(|round| round.download),
            parse: middle(|round| round.parse),
            insert: middle(|round| round.insert),
        }
    }

    /// How near the pipe comes to the slower of its parts. Each part by itself has every
    /// core; in the pipe they share them, so on few cores what the others cost keeps it down.
    pub(super) fn share_of_slowest(&self) -> f64 {
        let slowest = self.download.rate().min(self.parse.rate()).min(self.insert.rate());
        self.whole.rate() / slowest
    }

    /// How near it comes to its parts done one after another, each with every core.
    pub(super) fn share_of_sum(&self) -> f64 {
        let sum = 1.0 / self.download.rate() + 1.0 / self.parse.rate() + 1.0 / self.insert.rate();
        self.whole.rate() * sum
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
        let mut response = request.send().await?.error_for_status()?;
        // Piece by piece into one buffer: each is copied while the caches have it.
        let mut body = Vec::with_capacity(response.content_length().unwrap_or_default() as usize);
        while let Some(piece) = response.chunk().await? {
            body.extend_from_slice(&piece);
        }
        Ok(Some(body.into()))
    }
}

/// All answers, in order.
pub(super) async fn answers(url: &str, chain: &serve::Args) -> Result<Vec<Bytes>, Broken> {
    let ranges = Ranges::new(url, chain);
    let mut answers = Vec::new();
    while let Some(body) = ranges.next().await? {
        answers.push(body);
    }
    Ok(answers)
}

/// Reads an answer: how many rows it has, and what became of them.
pub(super) type Read<T> = fn(&[u8]) -> Result<(u64, T), Broken>;

/// How fast `answers` are read by `threads` threads. What became of them, in order.
pub(super) async fn parse<T: Send + 'static>(
    answers: Vec<Bytes>,
    threads: usize,
    read: Read<T>,
) -> Result<(Measured, Vec<T>), Broken> {
    let (begun, share) = (Instant::now(), answers.len().div_ceil(threads).max(1));
    let readers: Vec<_> = answers
        .chunks(share)
        .map(<[Bytes]>::to_vec)
        .map(|part| {
            tokio::task::spawn_blocking(move || {
                part.into_iter().map(|body| read(&body)).collect::<Result<Vec<_>, Broken>>()
            })
        })
        .collect();
    let (mut n, mut all) = (0, Vec::new());
    for reader in readers {
        for (rows, batch) in reader.await?? {
            n += rows;
            all.push(batch);
        }
    }
    Ok((Measured { n, seconds: begun.elapsed().as_secs_f64() }, all))
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
